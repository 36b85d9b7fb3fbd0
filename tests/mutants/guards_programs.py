"""Guards of Fanfold in other programs: the asynchronous client, lines as JSON, and OpenTelemetry."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

CALLS = "fanfold/engine/async_calls.py"
LOGS = "fanfold/engine/logs.py"
SPANS, TELLING = "fanfold/engine/telemetry/spans.py", "fanfold/engine/telemetry/telling.py"
CLIENT, LINES, TRACES = "engine/test_async_client.py", "cli/test_json_logs.py", "engine/test_telemetry.py"
MUTANTS = (
    mutant(
        "an asynchronous iterator reads ahead no more than a batch",
        Edit(CALLS, " or len(batch) == BATCH or time.monotonic() > end:", " or len(batch) == 100 * BATCH:"),
        test=f"{CLIENT}::test_an_iterator_reads_ahead_no_more_than_a_batch[sqlite]",
    ),
    mutant(
        "what a cancelled call opened is closed",
        Edit(CALLS, "            running.add_done_callback(_close_result)\n", ""),
        test=f"{CLIENT}::test_what_a_cancelled_call_opened_is_closed",
    ),
    mutant(
        "an asynchronous client that closes lets its calls end",
        Edit(CALLS, "        self._threads.shutdown()\n", "        self._threads.shutdown(wait=False)\n"),
        test=f"{CLIENT}::test_closing_waits_for_what_runs_and_then_refuses",
    ),
    mutant(
        "keys are blanked before JSON escapes them",
        Edit(
            LOGS,
            '            "message": without_keys(record.getMessage()),\n',
            '            "message": record.getMessage(),\n',
        ),
        Edit(
            LOGS,
            '        return json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace").decode("utf-8")\n',
            "        text = without_keys(json.dumps(line, ensure_ascii=False))\n"
            '        return text.encode("utf-8", "backslashreplace").decode("utf-8")\n',
        ),
        test=f"{LINES}::test_a_key_is_blanked_wherever_it_stands",
    ),
    mutant(
        "a handler's log lines name its item, even from a thread",
        Edit(
            "fanfold/engine/worker/attempt/threads.py",
            "        function = partial(contextvars.copy_context().run, function)\n",
            "",
        ),
        test=f"{LINES}::test_every_line_of_a_worker_is_json_and_says_what_it_is_about[sqlite]",
    ),
    mutant(
        "an SDK that fails costs no work",
        Edit(
            TELLING,
            "    except Exception as error:\n        _warn_once",
            "    except ZeroDivisionError as error:\n        _warn_once",
        ),
        test=f"{TRACES}::test_an_sdk_that_fails_costs_no_work[sqlite-on_start]",
    ),
    mutant(
        "attempts are in the trace of the submission",
        Edit(
            SPANS,
            "            yield replace(wanted, metadata={**wanted.metadata, **self.carrier()})\n",
            "            yield wanted\n",
        ),
        test=f"{TRACES}::test_everything_done_for_a_task_is_in_the_trace_of_its_submitter[sqlite]",
    ),
    mutant(
        "nothing of OpenTelemetry is imported while it is off",
        Edit(
            TELLING,
            "log = logging.getLogger",
            "from opentelemetry import trace  # noqa: F401\n\nlog = logging.getLogger",
        ),
        test=f"{TRACES}::test_nothing_is_told_and_nothing_imported_unless_it_is_asked_for[sqlite]",
    ),
)
