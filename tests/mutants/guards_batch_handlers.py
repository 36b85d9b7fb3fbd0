"""Guards of handlers that get a batch of items."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

CALL, BATCHES, CLAIMING = (
    "fanfold/engine/worker/attempt/batch_call.py",
    "fanfold/engine/worker/claiming/handler_batches.py",
    "fanfold/engine/worker/claiming/claim.py",
)
ATTEMPTS, SETTLE, ASKING = (
    "fanfold/engine/worker/attempt/attempts.py",
    "fanfold/engine/worker/attempt/settle_batch.py",
    "fanfold/engine/handlers/ask_many.py",
)
HANDLERS = "engine/test_batch_handlers.py::"

MUTANTS = (
    mutant(
        "no item of a batch is given up before it failed alone",
        Edit(
            CALL,
            "        return one._replace(ending=Ending.BACK_OFF) if one.ending is Ending.FAIL else one\n",
            "        return one\n",
        ),
        test=f"{HANDLERS}test_a_call_that_fails_as_a_whole_is_narrowed_down_and_fails_no_innocent_item",
    ),
    mutant(
        "items that failed run in smaller batches",
        Edit(BATCHES, "    return max(1, shrunk)\n", "    return batch\n"),
        test=f"{HANDLERS}test_items_that_have_failed_share_a_call_only_with_their_like",
    ),
    mutant(
        "a suspect runs alone",
        Edit(BATCHES, "    if claimed.crashes >= SUSPECT_CRASHES:\n        return 1\n", ""),
        test=f"{HANDLERS}test_a_suspect_is_never_part_of_a_batch",
    ),
    mutant(
        "every item has a result in the list",
        Edit(CALL, "        if len(found) != len(self._given):\n", "        if len(found) > len(self._given):\n"),
        Edit(CALL, "zip(self._given, found, strict=True)", "zip(self._given, found)"),
        test=f"{HANDLERS}test_too_few_results_are_an_error_that_smaller_batches_may_avoid",
    ),
    mutant(
        "an exception in the list is no result",
        Edit(CALL, "    if isinstance(value, BaseException):\n        return call.end(value)\n", ""),
        test=f"{HANDLERS}test_everything_that_one_item_may_do_belongs_to_that_item",
    ),
    mutant(
        "calls beyond the slots are handed back",
        Edit(CLAIMING, "            tx.claiming.hand_back(surplus)\n", ""),
        test=f"{HANDLERS}test_a_worker_claims_no_more_calls_than_it_has_slots",
    ),
    mutant(
        "the limit of a batch stage counts items",
        Edit(CLAIMING, "self._permits.get((ready.pipeline, ready.stage), room.items)", "room.items"),
        test=f"{HANDLERS}test_the_limit_of_all_workers_counts_items",
    ),
    mutant(
        "a batch that lost one item continues",
        Edit(ATTEMPTS, "len(attempt.call.parts) == 1 or attempt.call.stop(item)", "attempt.call.stop(item) or True"),
        test="engine/test_attempts.py::test_a_batch_continues_while_one_of_its_items_is_wanted",
    ),
    mutant(
        "a crash of a batch poisons no item",
        Edit(SETTLE, 'row["limit"] = MOST_CRASHES if one.shared else crash_limit', 'row["limit"] = crash_limit'),
        test=f"{HANDLERS}test_an_item_lost_with_its_batch_is_not_poison_yet",
    ),
    mutant(
        "other questions are not cancelled when one fails",
        Edit(ASKING, "for one in asked), return_exceptions=True)", "for one in asked))"),
        test="engine/test_ask_many.py::test_questions_without_an_answer_can_be_left_out",
    ),
)
