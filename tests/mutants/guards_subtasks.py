"""Guards of subtasks."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

STORE, HANDLER = "fanfold/store/items/awaited/subtasks.py", "fanfold/engine/handlers/subtask.py"
FOLLOW, MODEL = "fanfold/engine/tasks/steering/follow_parent.py", "fanfold/model/awaited/subtask.py"
MOVES = "fanfold/engine/tasks/moving/transitions.py"
HERE = "engine/test_subtasks.py"
CHANGED = "fanfold/engine/queries/changed_subtasks.py"
MUTANTS = (
    mutant(
        "a subtask that is redone is told in its parent, but not one that just ends later",
        Edit(CHANGED, "return redone_at is not None and redone_at >= used_at and ", "return "),
        test="engine/test_changed_subtasks.py::test_a_subtask_that_nobody_waits_for_and_that_ends_later_is_no_change[sqlite]",
    ),
    mutant(
        "a subtask is submitted under the lease of its item",
        Edit(HANDLER, "        return tx.subtasks.may_submit(item, lease)\n", "        return True\n"),
        test=f"{HERE}::test_an_attempt_without_its_lease_submits_nothing[sqlite]",
    ),
    mutant(
        "a later attempt finds the subtask of an earlier one",
        Edit(HANDLER, "    if found is not None and found.key == key:\n", "    if False:\n"),
        test=f"{HERE}::test_a_crash_around_the_submit_leaves_one_subtask[sqlite-after]",
    ),
    mutant(
        "a redo does not get the subtask of the earlier generation",
        Edit(HANDLER, "    if found is not None and found.key == key:\n", "    if found is not None:\n"),
        test=f"{HERE}::test_a_redo_submits_a_new_subtask_and_the_old_one_is_cancelled[sqlite]",
    ),
    mutant(
        "the end of a subtask makes the item due that waits for it",
        Edit(
            MOVES,
            "    if is_over and row.parent_item is not None and tx.subtasks.ended(row.number, row.parent_item):\n",
            "    if False:\n",
        ),
        test=f"{HERE}::test_a_parent_waits_for_its_subtasks_without_a_worker_and_gets_their_results[sqlite]",
    ),
    mutant(
        "an item that begins to wait for an ended subtask is due at once",
        Edit(STORE, "        self._wake_if_over(item)\n", ""),
        test=f"{HERE}::test_the_item_is_due_at_once_if_the_subtask_ended_before_it_began_to_wait[sqlite]",
    ),
    mutant(
        "a failed subtask is retried only when a person has retried its item",
        Edit(HANDLER, "    if not found.told and not row.by_parent:\n        return\n", ""),
        test=f"{HERE}::test_the_failure_of_a_subtask_reaches_the_parent_and_a_retry_goes_down[sqlite]",
    ),
    mutant(
        "a failure of a subtask is recorded with the failure of its item",
        Edit(
            "fanfold/engine/worker/attempt/settle_batch.py",
            "            tx.subtasks.tell(one.claimed.id, one.told)\n",
            "            pass\n",
        ),
        test=f"{HERE}::test_the_failure_of_a_subtask_reaches_the_parent_and_a_retry_goes_down[sqlite]",
    ),
    mutant(
        "a subtask is cancelled with its parent",
        Edit(MODEL, "    if gone or not is_wanted:\n", "    if not is_wanted:\n"),
        test=f"{HERE}::test_cancel_goes_down_and_a_retry_of_the_parent_revives_the_subtask[sqlite]",
    ),
    mutant(
        "the sweep brings subtasks in step",
        Edit(
            "fanfold/engine/tasks/recovery/sweep.py",
            "    followed = follow_parents(store, pipelines, actor, is_late=late_after(SLICE_SECONDS))\n",
            "    followed = 0\n",
        ),
        test=f"{HERE}::test_the_sweep_does_what_a_command_did_not_come_to_do[sqlite]",
    ),
    mutant(
        "a command on a parent is checked again under the lock of the subtask",
        Edit(
            FOLLOW,
            "        elif following(row, parent, is_wanted=tx.subtasks.is_wanted(row.number)) != verb:\n"
            "            raise InStep(row.id)\n",
            "",
        ),
        test=f"{HERE}::test_a_subtask_whose_parent_moved_on_meanwhile_is_left_alone[sqlite]",
    ),
    mutant(
        "the depth of subtasks is bounded",
        Edit(
            HANDLER,
            "        if tx.subtasks.depth(parent.task) >= MOST_DEPTH:\n",
            "        if tx.subtasks.depth(parent.task) >= 2 * MOST_DEPTH:\n",
        ),
        test=f"{HERE}::test_depth_and_place_are_bounded[sqlite]",
    ),
)
