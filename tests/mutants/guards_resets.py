"""Guards of retries and reruns of many items, which are put back in short transactions and seen as put back at one moment."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

ADVANCE, COMMANDS = "fanfold/engine/tasks/moving/advance.py", "fanfold/engine/tasks/steering/commands.py"
RESETS, REDOING, SWEEP = (
    "fanfold/engine/tasks/many_items/reset_items.py",
    "fanfold/engine/tasks/steering/redo.py",
    "fanfold/engine/tasks/recovery/sweep.py",
)
RESETTING, READING, ITEMS = (
    "fanfold/store/items/reset.py",
    "fanfold/store/items/query.py",
    "fanfold/store/items/create.py",
)
STORED, REMOVAL = "fanfold/store/items/large/reset_queue.py", "fanfold/store/rows/removal.py"
LARGE = "engine/test_large_reset.py"
WHOLE = f"{LARGE}::test_a_reset_that_dies_between_two_transactions_is_seen_whole_or_not_at_all[sqlite-retry]"
BOUNDED = f"{LARGE}::test_no_transaction_of_a_large_retry_or_rerun_writes_more_than_a_bounded_number_of_rows"
STILL = f"{LARGE}::test_nothing_is_claimed_and_the_task_does_not_move_while_its_items_are_put_back[sqlite-retry]"

MUTANTS = (
    mutant(
        "many failed items are not put back in one transaction",
        Edit(REDOING, "    if len(chosen) > most:", "    if False:"),
        test=f"{BOUNDED}[sqlite-failed]",
    ),
    mutant(
        "many named items are not put back in one transaction",
        Edit(REDOING, "    if len(selection.keys) > most:", "    if False:"),
        Edit(REDOING, "    if len(chosen) > most:", "    if False:"),
        test=f"{BOUNDED}[sqlite-named]",
    ),
    mutant(
        "the many items of a rerun are not put back in one transaction",
        Edit(REDOING, "if len(chosen) > resetting.AT_ONCE:", "if False:"),
        test=f"{BOUNDED}[sqlite-rerun]",
    ),
    mutant(
        "counts take what a reset has put back for pending",
        Edit("fanfold/store/items/count.py", "counted_back().where(mine(", "plain.where(sa.false(), mine("),
        test=WHOLE,
    ),
    mutant(
        "lists take what a reset has put back for pending",
        Edit(READING, "    if reset is not None:", "    if False:"),
        test=WHOLE,
    ),
    mutant(
        "notes count only once they are decided on",
        Edit(STORED, "tasks.c.resetting == reset_items.c.token", "sa.true()"),
        test=WHOLE,
    ),
    mutant(
        "nothing of a task is claimed while its items are put back",
        Edit(ITEMS, "= tasks.c.resetting.is_(None), tasks.c.closed_at", "= tasks.c.closed_at"),
        test=STILL,
    ),
    mutant(
        "a task does not advance while its items are put back",
        Edit(ADVANCE, "    if row.resetting is not None:\n        return None\n    stage =", "    stage ="),
        Edit(ADVANCE, "        if row.resetting is not None or not may_try", "        if not may_try"),
        test=f"{LARGE}::test_a_task_does_not_move_on_while_followers_of_its_stage_are_put_back[sqlite]",
    ),
    mutant(
        "a command that looks at items completes an earlier reset first",
        Edit(COMMANDS, "if row.resetting is not None and verb in AFTER_RESET:", "if False:"),
        test=f"{LARGE}::test_the_next_command_completes_what_a_dead_one_has_decided[sqlite-retry]",
    ),
    mutant(
        "a sweep completes or drops resets whose process has died",
        Edit(SWEEP, "    finish_abandoned(store, actor)\n", ""),
        test=WHOLE,
    ),
    mutant(
        "items are noted only while the task is as it was",
        Edit(RESETS, "if row is None or not is_same(self.row, row):", "if row is None:"),
        test=f"{LARGE}::test_a_reset_that_was_noted_before_the_task_was_steered_is_not_decided[sqlite]",
    ),
    mutant(
        "notes are written only by the process that began the latest reset",
        Edit(
            RESETS,
            "        if not tx.resets.refresh(self.row.number, self.token):\n            raise",
            "        if False:\n            raise",
        ),
        test=f"{LARGE}::test_of_two_people_who_reset_at_once_the_first_is_told[sqlite]",
    ),
    mutant(
        "an item that ran since it was noted is not done again",
        Edit(RESETTING, "if leases.get(note.item) == note.lease", ""),
        test=f"{LARGE}::test_an_item_that_ran_since_it_was_noted_is_not_done_twice[sqlite]",
    ),
    mutant(
        "a busy item among many refuses the whole retry",
        Edit(RESETS, "            refuse_busy(self.row, chosen, self.selection.options)\n", ""),
        test=f"{LARGE}::test_an_unknown_or_busy_item_among_many_refuses_the_whole_retry[sqlite]",
    ),
    mutant(
        "a deleted task leaves no notes behind",
        Edit(
            REMOVAL,
            "if table not in (items, blobs, calls, task_tags, batch_members))",
            'if table not in (items, blobs, calls, task_tags, batch_members) and not table.name.startswith("reset"))',
        ),
        test=f"{LARGE}::test_deleting_a_task_removes_what_a_dead_reset_has_noted[sqlite]",
    ),
)
