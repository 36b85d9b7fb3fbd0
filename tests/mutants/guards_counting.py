"""Guards of counts that are made before the lock is taken, and of what is read while it is held."""

from __future__ import annotations

from tests.mutants.guards_moves import NEVER_LOOK_FOR_OPEN
from tests.mutants.mutant import Edit, mutant

ADVANCE, COUNTING = "fanfold/engine/tasks/moving/advance.py", "fanfold/engine/tasks/moving/counts.py"
REDOING, SWEEP = "fanfold/engine/tasks/steering/redo.py", "fanfold/engine/tasks/recovery/sweep.py"
DRAFTS, EVENTS, REMOVAL = (
    "fanfold/store/items/large/drafts.py",
    "fanfold/store/rows/events.py",
    "fanfold/store/rows/removal.py",
)
RESETTING = "fanfold/store/items/reset.py"
COUNTS = "engine/test_counting.py"
LOCK_TIME = "engine/test_lock_time.py::test_no_transaction_that_holds_the_write_lock_does_more_for_a_larger_task"

MUTANTS = (
    mutant(
        "counts from before a move decide nothing",
        Edit(COUNTING, "if ahead is not None and not ahead.still_holds(tx, row):", "if False:"),
        test=f"{COUNTS}::test_an_advance_counts_again_when_items_were_put_back_since",
    ),
    mutant(
        "a move since a count is noticed by its event",
        Edit(COUNTING, " and not tx.events.moved_since(row.number, self.event)", ""),
        test=f"{COUNTS}::test_an_advance_counts_again_when_items_were_put_back_since",
    ),
    mutant(
        "a move since a count is noticed in the task's row",
        Edit(COUNTING, "return is_same(self.row, row) and not tx", "return not tx"),
        test=f"{COUNTS}::test_counts_do_not_hold_after_a_move_whose_event_has_a_lower_number",
    ),
    mutant(
        "events of items do not make counts stale",
        Edit(EVENTS, 'sa.bindparam("since"), events.c.item.is_(None))', 'sa.bindparam("since"))'),
        test=f"{COUNTS}::test_counts_hold_while_items_of_a_task_fail",
    ),
    mutant(
        "a stage with an open item is not left, even if the counts say otherwise",
        NEVER_LOOK_FOR_OPEN,
        test=f"{COUNTS}::test_a_stage_with_an_open_item_is_not_left_whatever_was_counted_before",
    ),
    mutant(
        "a cancel looks again at a task that was moved since it looked",
        Edit(
            COUNTING,
            "if not is_same(self.row, row):\n            raise OutOfDate(row.number)\n",
            "if False:\n            pass\n",
        ),
        test=f"{COUNTS}::test_a_cancel_makes_up_for_nothing_that_was_made_up_for_after_it_looked",
    ),
    mutant(
        "a cancel looks again for what was begun since it looked",
        Edit(COUNTING, "self.item is None and self.row.state is not TaskState.ACTIVE", "self.item is None"),
        test=f"{COUNTS}::test_a_cancel_makes_up_for_what_was_begun_after_it_looked",
    ),
    mutant(
        "a gate before many copied items is asked once",
        Edit(COUNTING, "return stage in self.ahead.begun", "return False"),
        test=f"{COUNTS}::test_a_gate_that_was_passed_is_not_asked_again_after_a_redo_before_it",
    ),
    mutant(
        "a rerun of many items that were never begun stops at their gate",
        Edit(REDOING, "noted.count > 0, noted.begun", "noted.count > 0, True"),
        test=f"{COUNTS}::test_a_rerun_of_items_that_were_never_begun_stops_at_the_gate_again",
    ),
    mutant(
        "items are counted before the lock is taken",
        Edit(ADVANCE, "row, actor, ahead=ahead)", "row, actor)"),
        test=f"{LOCK_TIME}[advance_to_the_merge]",
    ),
    mutant(
        "why most items failed is asked before the lock is taken",
        Edit(COUNTING, "known = None if self.ahead is None else self.ahead.why.get(stage.name)", "known = None"),
        test=f"{LOCK_TIME}[end_as_failed]",
    ),
    mutant(
        "the items of a stage are removed in the order of an index (SQLite)",
        Edit(DRAFTS, ".order_by(items.c.seq)\n    .limit", ".order_by(items.c.id)\n    .limit"),
        test=f"{LOCK_TIME}[remove_a_stage]",
    ),
    mutant(
        "the items of a task are removed in the order of an index (SQLite)",
        Edit(REMOVAL, ".order_by(items.c.stage, items.c.seq)", ".order_by(items.c.id)"),
        test=f"{LOCK_TIME}[prune_it]",
    ),
    mutant(
        "a removal ends only when nothing is left from the beginning",
        Edit(REMOVAL, 'if whole and began != ("", 0):', "if False:"),
        test="engine/test_removal.py::test_a_step_that_is_rolled_back_leaves_nothing_behind",
    ),
    mutant(
        "a removal counts external jobs as well",
        Edit(
            REMOVAL,
            "jobs = remove_rows(self.connection, externals, ids, most)",
            "jobs = remove_all(self.connection, externals.c.item, ids)",
        ),
        test="engine/test_removal.py::test_a_transaction_of_a_removal_is_bounded_over_all_tables_together",
    ),
    mutant(
        "no garbage is collected under the lock (SQLite)",
        Edit("fanfold/store/database.py", "over.enter_context(self.access.holding_lock())", "pass"),
        test="store/test_garbage.py::test_no_garbage_is_collected_while_the_lock_is_held",
    ),
    mutant(
        "a retry walks only what failed (SQLite)",
        Edit(RESETTING, 'if which != "failed" or not self.clock.dialect.indexes_end_with_id:', "if True:"),
        test=f"{LOCK_TIME}[retry_a_few_at_the_end]",
    ),
    mutant(
        "superseded files are searched for before the lock is taken",
        Edit(SWEEP, "with store.read() as tx:\n        superseded", "with store.write() as tx:\n        superseded"),
        test=f"{LOCK_TIME}[clean]",
    ),
)
