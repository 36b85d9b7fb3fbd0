"""Guards of what people see: degraded results, waiting, usage."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

ASK = "fanfold/engine/handlers/ask.py"
WORK = "fanfold/engine/handlers/work.py"
SETTLE_BATCH = "fanfold/engine/worker/attempt/settle_batch.py"
SETTLING, PENDING = "fanfold/store/items/settle.py", "fanfold/store/items/pending.py"
ASKING = "fanfold/providers/asking.py"
CALLING = "fanfold/engine/worker/attempt/call.py"
TABLES, ACCEPT = "fanfold/store/schema/tables.py", "fanfold/engine/tasks/steering/accept_degraded.py"
WORKER = "fanfold/engine/worker/loop.py"
PIPELINE, SERIAL = "fanfold/model/pipelines/pipeline.py", "fanfold/model/values/serial.py"
RATE_LIMIT = "fanfold/providers/rate_limit.py"
IN_RATE_LIMIT, WAITING = "providers/test_rate_limit.py", "providers/test_waiting.py"
DEGRADED, PDF = "engine/test_degraded.py", "apps/pdf/test_pipeline.py"
WRITE_LOCK = "fanfold/store/dialects/write_lock.py"

SAID = "engine/test_sentences.py"

MUTANTS = (
    mutant(
        "a sentence is used only for the text it belongs to",
        Edit("fanfold/model/text/sentences.py", ' if found["sum"] == _sum(text) else text', ""),
        test=f"{SAID}::test_a_text_that_an_older_version_wrote_over_a_sentence_is_shown_as_it_is[sqlite]",
    ),
    mutant(
        "keys are taken out of the parameters of a sentence",
        Edit(
            "fanfold/engine/worker/attempt/attempt_result.py",
            "        return text.changed(lambda part: _cleaned(part, length))\n",
            "        return Sentence(_cleaned(text, length), text.code, text.parameters)\n",
        ),
        test=f"{SAID}::test_what_is_odd_in_a_parameter_is_kept_as_it_is_in_the_text[sqlite-key]",
    ),
    mutant(
        "a degraded result is marked with the settle that finishes it",
        Edit(
            SETTLING,
            "        if rows:\n            noted = ",
            "        if not rows:\n            noted = ",
        ),
        test=f"{DEGRADED}::test_a_degraded_item_is_done_and_marked_with_its_reason",
    ),
    mutant(
        "a finish without a mark clears the one of an earlier result",
        Edit(SETTLING, '"finished_at": clock.now, "degraded": None}', '"finished_at": clock.now}'),
        test=f"{DEGRADED}::test_a_mark_that_an_older_version_left_behind_goes_with_the_next_result",
    ),
    mutant(
        "an item that is redone loses its mark at once",
        Edit(PENDING, '("finished_at", "degraded")', '("finished_at",)'),
        test=f"{DEGRADED}::test_only_the_degraded_items_are_redone_with_the_options_given",
    ),
    mutant(
        "a redo of an accepted result needs a person again",
        Edit(TABLES, "items.c.accepted.is_(None), items.c.accepted != items.c.lease", "items.c.accepted.is_(None)"),
        Edit(TABLES, "sa.and_(DEGRADED, items.c.accepted == items.c.lease)", "items.c.accepted.is_not(None)"),
        test="engine/test_accept.py::test_a_redo_that_is_degraded_again_needs_a_person_again",
    ),
    mutant(
        "only the result that was looked up is accepted",
        Edit(ACCEPT, "if one in known]", "]"),
        test="engine/test_accept.py::test_a_result_that_was_redone_since_it_was_looked_up_is_not_accepted",
    ),
    mutant(
        "items that are being put back are not accepted",
        Edit("fanfold/store/items/accept.py", "where(UNACCEPTED, ~is_reset())", "where(UNACCEPTED)"),
        test="engine/test_accept.py::test_items_that_are_being_put_back_are_not_accepted",
    ),
    mutant(
        "a stream reports that the database is back before it sends new data",
        Edit("fanfold/server/watching/live.py", "            if told is not None:\n", "            if False:\n"),
        test="server/test_streams.py::test_a_stream_tells_that_the_database_is_lost_and_goes_on_without_a_gap",
    ),
    mutant(
        "a silent database is tried again soon",
        Edit("fanfold/server/watching/live.py", " if seconds <= SILENT_SECONDS else SILENT_SECONDS", ""),
        test="server/test_live.py::test_a_database_that_was_silent_for_long_is_looked_at_again_soon",
    ),
    mutant(
        "an answer of a later model of the chain is marked",
        Edit(ASK, "if answer.fallback:", "if False:"),
        test=f"{PDF}::test_a_page_of_a_later_model_of_the_chain_is_degraded",
    ),
    mutant(
        "what a handler says about its usage cannot fail its result",
        Edit("fanfold/engine/handlers/used.py", "fitting, left_out = kept(usage)", "fitting, left_out = usage, []"),
        Edit(CALLING, "serial.dump(kept(self.work.usage)[0], ", "serial.dump(self.work.usage, "),
        test="engine/test_usage.py::test_odd_usage_never_fails_a_paid_item[sqlite-not a number]",
    ),
    mutant(
        "the ledger takes only numbers that it can hold",
        Edit(
            SETTLE_BATCH,
            'known = ledger(json.loads(one.usage or "{}"))',
            'known = {name: json.loads(one.usage or "{}").get(name) for name in ("input_tokens", "output_tokens", "cost")}',
        ),
        test="engine/test_usage.py::test_the_ledger_takes_only_what_it_can_hold[postgresql]",
    ),
    mutant(
        "two pipelines of one name are refused",
        Edit(PIPELINE, "if other is not pipeline:", "if False:"),
        test="model/test_pipeline.py::test_two_pipelines_of_one_name_are_refused_with_where_they_come_from",
    ),
    mutant(
        "keys that are the same in JSON are refused",
        Edit(SERIAL, "if (key := _lost_key(part)) is not None:", "if (key := None) is not None:"),
        test="model/test_serial.py::test_a_key_that_would_be_there_twice_is_refused_and_named",
    ),
    mutant(
        "nothing that blocks runs in an event loop",
        Edit(
            WORKER,
            "    try:\n        asyncio.get_running_loop()\n",
            "    return\n    try:\n        asyncio.get_running_loop()\n",
        ),
        test="cli/test_arun.py::test_run_in_a_running_loop_names_the_way_out",
    ),
    mutant(
        "the rate limit closes for as long as Retry-After says",
        Edit(RATE_LIMIT, "pause = min(LONGEST_WAIT, asked)", "pause = SHORTEST_PAUSE"),
        Edit(RATE_LIMIT, "growing = asked * 2.0", "growing = SHORTEST_PAUSE * 2.0"),
        test=f"{IN_RATE_LIMIT}::test_a_refusal_closes_the_rate_limit_for_as_long_as_the_service_asks",
    ),
    mutant(
        "refusals in a row close the rate limit for longer",
        Edit(RATE_LIMIT, "            self._in_a_row += 1\n", ""),
        test=f"{IN_RATE_LIMIT}::test_refusals_in_a_row_grow_the_pause_though_the_service_says_two_seconds",
    ),
    mutant(
        "calls in flight when the rate limit closed do not extend it",
        Edit(RATE_LIMIT, "if begun_at >= self._closed_at:", "if True:"),
        test=f"{IN_RATE_LIMIT}::test_calls_that_were_under_way_when_it_closed_do_not_make_it_worse",
    ),
    mutant(
        "one call tries when the rate limit opens",
        Edit(RATE_LIMIT, "            self._allowed = 1\n", ""),
        test=f"{IN_RATE_LIMIT}::test_after_a_refusal_one_call_tries_then_more_with_each_answer",
    ),
    mutant(
        "an item keeps since when it has been waiting",
        Edit(SETTLING, "since = sa.func.coalesce(item_data.c.troubled_since, clock.now)", "since = clock.now"),
        test=f"{WAITING}::test_after_ten_minutes_a_person_is_called_and_it_still_goes_on_by_itself[sqlite]",
    ),
    mutant(
        "a retry by a person begins a new time of waiting",
        Edit(PENDING, '"handed_back", "troubled_since", "troubled_by"', '"handed_back"'),
        test=f"{WAITING}::test_a_counted_failure_or_a_retry_by_a_person_begins_a_new_time[sqlite]",
    ),
    mutant(
        "a lock that changes hands is not mistaken for one that is held",
        Edit(WRITE_LOCK, " or version != self._version:", ":"),
        test="store/test_write_lock.py::test_many_short_transactions_are_not_taken_for_a_long_one",
    ),
    mutant(
        "a probe of the lock does not make the file",
        Edit(WRITE_LOCK, "?mode=rw", "?mode=rwc"),
        test="store/test_write_lock.py::test_a_file_that_is_not_there_is_not_made",
    ),
)
