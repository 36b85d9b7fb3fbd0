"""Guards of paid work: calls in flight, keys by which services recognise work, and results that people have edited."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

ANSWERS, ASKER, RATE_LIMIT = (
    "fanfold/store/rows/money/answers.py",
    "fanfold/providers/question_asker.py",
    "fanfold/providers/rate_limit.py",
)
KEYS, USAGE = "fanfold/model/values/idempotency.py", "fanfold/engine/worker/attempt/call.py"
SAVING, SOURCES = "fanfold/running/many_files/saving.py", "fanfold/running/many_files/sources.py"
LEDGER, ASKING = "store/test_answers.py", "providers/test_asking.py"
CONVERT, GENERATIONS = "cli/test_convert.py", "engine/test_generations.py"
IN_THE_AIR = f"{LEDGER}::test_a_call_in_the_air_is_possibly_paid_when_its_attempt_is_gone"
LATE = "engine/test_late_usage.py"
TRIED = f"{ASKING}::test_a_fault_of_the_service_is_tried_again"

MUTANTS = (
    mutant(
        "a call is noted before it is sent",
        Edit(
            ASKER,
            "call = tx.calls.begin(_row(inquiry, key, ASKED, NOT_TOLD, 0.0, None) | plan.noted)",
            "call = None",
        ),
        test=f"{ASKING}::test_a_call_is_in_the_ledger_while_it_is_in_the_air",
    ),
    mutant(
        "a call whose attempt is gone without an answer is possibly paid",
        Edit(
            ANSWERS,
            "sa.or_(calls.c.outcome == NO_ANSWER, sa.and_(calls.c.outcome == ASKED, ~sender.exists()))",
            "calls.c.outcome == NO_ANSWER",
        ),
        by="sqlite",
        test=IN_THE_AIR,
    ),
    mutant(
        "a call in flight is not possibly paid yet",
        Edit(ANSWERS, "sa.and_(calls.c.outcome == ASKED, ~sender.exists())", "calls.c.outcome == ASKED"),
        test=IN_THE_AIR,
    ),
    mutant(
        "a call in flight belongs to the attempt that sent it",
        Edit(ANSWERS, "items.c.lease == calls.c.lease, ", ""),
        test=f"{LEDGER}::test_a_call_of_an_earlier_attempt_is_possibly_paid_while_the_next_one_runs",
    ),
    mutant(
        "a call without an answer is possibly paid",
        Edit(ASKER, "            if trouble.unknown:\n", "            if False:\n"),
        test=f"{TRIED}[drop]",
    ),
    mutant(
        "a refused call was not paid for",
        Edit(ASKER, "            if trouble.unknown:\n", "            if True:\n"),
        test=f"{TRIED}[500]",
    ),
    mutant(
        "a possibly paid call is not a call with an unknown price",
        Edit(ANSWERS, "not_in((CACHED, ASKED, NO_ANSWER))", "not_in((CACHED,))"),
        test=IN_THE_AIR,
    ),
    mutant(
        "what a handler has used is kept with its settlement",
        Edit(USAGE, "{**self._cost(), ", "{"),
        test=f"{LEDGER}::test_what_a_handler_used_by_itself_counts_as_well",
    ),
    mutant(
        "the pause is never shorter than what the service asks",
        Edit(
            RATE_LIMIT,
            "pause = max(pause, min(longest, growing) * random.uniform(0.75, 1))",
            "pause = min(longest, growing)",
        ),
        test="providers/test_rate_limit.py::test_the_pause_is_never_shorter_than_what_the_service_asks",
    ),
    mutant(
        "an answer ends the row of refusals",
        Edit(RATE_LIMIT, "        self.answered += 1\n        self._in_a_row = 0\n", "        self.answered += 1\n"),
        test="providers/test_rate_limit.py::test_an_answer_ends_the_row",
    ),
    mutant(
        "an unreachable service is tried every minute",
        Edit(
            RATE_LIMIT, "self._close(FIRST_PAUSE, begun_at, LONGEST_ABSENCE)", "self._close(FIRST_PAUSE, begun_at, 1e6)"
        ),
        test="providers/test_rate_limit.py::test_nobody_there_is_asked_again_after_a_minute_at_most",
    ),
    mutant(
        "a rate limit that stays closed frees its slot for other work",
        Edit(RATE_LIMIT, "if (closed > 0 and (self._is_absent or closed > left)) or left <= 0:", "if self._is_absent:"),
        test="providers/test_rate_limit.py::test_a_rate_limit_that_stays_closed_gives_the_place_to_other_work",
    ),
    mutant(
        "the key has the generation of the task and of the item",
        Edit(
            KEYS,
            'return f"{plain}/g{generations[0]}.{generations[1]}" if any(generations) else plain',
            "return plain",
        ),
        test=f"{GENERATIONS}::test_a_rerun_has_new_keys_for_everything",
    ),
    mutant(
        "the key has the generation of the item",
        Edit(KEYS, "/g{generations[0]}.{generations[1]}", "/g{generations[0]}"),
        test=f"{GENERATIONS}::test_a_redo_of_a_result_has_a_new_key_and_so_has_what_follows_from_it",
    ),
    mutant(
        "the key has the generation of every split before",
        Edit(KEYS, "    if any(splits):\n", "    if False:\n"),
        test=f"{GENERATIONS}::test_what_a_split_makes_anew_never_has_a_key_that_was_used_before",
    ),
    mutant(
        "no split replaces another one in a key",
        Edit(
            KEYS,
            "return [int(known.get(stage, 0)) for stage in splits]",
            "return [max([0, *map(int, known.values())])]",
        ),
        test=f"{GENERATIONS}::test_what_a_split_makes_anew_never_has_a_key_that_was_used_before",
    ),
    mutant(
        "a job that was lost has another key than the next one",
        Edit(KEYS, 'return named if number == 1 else f"{named}~{number}"', "return named"),
        test=f"{GENERATIONS}::test_items_whose_names_look_like_parts_of_a_key_have_keys_of_their_own",
    ),
    mutant(
        "a name that looks like a generation is escaped",
        Edit(
            KEYS,
            'return f"%67{escaped(name[1:])}" if re.match(r"g\\d", name) else escaped(name)',
            "return escaped(name)",
        ),
        test=f"{GENERATIONS}::test_items_whose_names_look_like_parts_of_a_key_have_keys_of_their_own",
    ),
    mutant(
        "a result that a person has edited is left alone",
        Edit(SAVING, "                if again and is_ours:\n", "                if False:\n"),
        test=f"{CONVERT}::test_an_edited_result_is_left_alone_and_said_when_it_was_done_before",
    ),
    mutant(
        "a file that a person has edited is kept even when it is made again",
        Edit(SAVING, "                saved.moved.append(str(_make_way(target)))\n", "                pass\n"),
        test=f"{CONVERT}::test_an_edited_result_is_left_alone_and_said_when_it_was_done_before",
    ),
    mutant(
        "the result of another document gets a name of its own",
        Edit(SOURCES, "while place in taken or owner(place) not in (None, source):", "while place in taken:"),
        test=f"{CONVERT}::test_another_document_does_not_overwrite_the_first",
    ),
    mutant(
        "two documents of one command go to different places",
        Edit(SOURCES, "while place in taken or owner(place)", "while owner(place)"),
        test=f"{CONVERT}::test_two_of_one_name_do_not_overwrite_each_other",
    ),
    mutant(
        "results are written by one command at a time",
        Edit(SAVING, "            fcntl.flock(lock, fcntl.LOCK_EX)\n", ""),
        test=f"{CONVERT}::test_commands_at_the_same_time_lose_none_of_each_others_files",
    ),
    mutant(
        "what a handler spends after it was told to stop is counted",
        Edit(
            "fanfold/engine/worker/attempt/unstopped.py",
            "            self._threads.submit(partial(self._count, late))",
            "            pass",
        ),
        test=f"{LATE}::test_a_thread_that_runs_on_is_paid_for",
    ),
    mutant(
        "what a handler spends after it was told to stop is counted once",
        Edit(
            "fanfold/engine/worker/attempt/settle_batch.py",
            "known = tx.calls.own_late([one.claimed.id for one in late])",
            "known = set[tuple[int, int]]()",
        ),
        by="sqlite",
        test=f"{LATE}::test_it_is_counted_once_although_its_transaction_is_repeated",
    ),
    mutant(
        "a task that a person has paused is not resumed while handlers have used up its budget",
        Edit(
            "fanfold/engine/tasks/moving/used_up.py",
            "row.state not in (TaskState.ACTIVE, TaskState.PAUSED)",
            "row.state is not TaskState.ACTIVE",
        ),
        by="sqlite",
        test=f"{LATE}::test_a_task_whose_budget_is_used_up_by_it_claims_no_more",
    ),
    mutant(
        "files recorded together by a transaction that failed after its commit are recorded once",
        Edit(
            "fanfold/engine/handlers/files/file_records.py",
            "not (self.doubtful and tx.blobs.find(self.task, self.file.key))",
            "True",
        ),
        by="sqlite",
        test="engine/test_file_records.py::test_an_error_is_told_to_one_and_the_others_write_again",
    ),
    mutant(
        "a discarded result of a handler is no rejected answer",
        Edit("fanfold/store/rows/money/costs.py", "sa.and_(calls.c.provider != OWN, ", "sa.and_("),
        by="sqlite",
        test="store/test_costs.py::test_what_a_handler_has_used_is_no_rejected_answer_when_its_result_is_discarded",
    ),
    mutant(
        "an estimate from a sample counts what failed items have cost",
        Edit(
            "fanfold/store/rows/money/costs.py",
            "over = sa.and_(calls.c.task == task, OVER)",
            "over = sa.and_(calls.c.task == task, items.c.state == ItemState.DONE.value)",
        ),
        by="sqlite",
        test="engine/test_samples_with_failures.py::test_a_sample_counts_what_failures_cost",
    ),
    mutant(
        "an estimate from a sample counts what items that are not over have cost",
        Edit("fanfold/providers/costs/estimating.py", "left = max(sample.begun, ", "left = max(0.0, "),
        by="sqlite",
        test="engine/test_samples_with_failures.py::test_a_sample_counts_what_items_that_are_not_over_have_cost",
    ),
)
