"""Guards of items that handlers add while their stage runs."""

from tests.mutants.mutant import Edit, mutant

SETTLE = "fanfold/engine/worker/attempt/settle_batch.py"
CREATE = "fanfold/store/items/create.py"
ADDED = "fanfold/engine/handlers/added_items.py"
TESTS = "engine/test_adding.py::"

MUTANTS = (
    mutant(
        "only a result under its lease adds items",
        Edit(
            SETTLE,
            "kept = group if len(done) == len(group) else [one for one in group if one.claimed.id in done]",
            "kept = group",
        ),
        test=f"{TESTS}test_a_lost_lease_adds_nothing[sqlite]",
    ),
    mutant(
        "items are added under the task's lock",
        Edit(SETTLE, "tx.tasks.lock(task)\n    groups", "pass\n    groups"),
        test=f"{TESTS}test_two_workers_that_add_at_the_same_time_wait_for_each_other[postgresql]",
    ),
    mutant(
        "a key that the stage has is not added again",
        Edit(CREATE, "for key, text in rows if key not in known]", "for key, text in rows]"),
        test=f"{TESTS}test_a_key_that_the_stage_has_is_not_added_again[sqlite]",
    ),
    mutant(
        "no added key is the position of an item without one",
        Edit(CREATE, "known |= {str(position) for", "known & {str(position) for"),
        test=f"{TESTS}test_a_key_that_the_stage_has_is_not_added_again[sqlite]",
    ),
    mutant(
        "files of added items belong to the task",
        Edit("fanfold/store/files/folder.py", ".values(item=None, lease=None))", ".values(item=blobs.c.item))"),
        test=f"{TESTS}test_the_files_of_an_added_item_outlive_the_attempt_that_wrote_them[sqlite]",
    ),
    mutant(
        "added items are bounded per transaction",
        Edit("fanfold/engine/worker/turn.py", "size += 1 + len(one.added)", "size += 1"),
        test=f"{TESTS}test_one_transaction_writes_a_bounded_number_of_added_items[sqlite]",
    ),
    mutant(
        "added items are bounded per attempt",
        Edit(ADDED, "if len(found) > MOST_ADDED or", "if False and"),
        test=f"{TESTS}test_too_many_added_items_are_refused[sqlite]",
    ),
    mutant(
        "no items are added where they would have no source",
        Edit(ADDED, "if before is not None and before.kind is Kind.EACH:", "if False:"),
        test=f"{TESTS}test_a_second_each_stage_cannot_add[sqlite]",
    ),
)
