"""Guards of what is redone, made up for, merged without failures, and removed."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

ADVANCE, COMMANDS = "fanfold/engine/tasks/moving/advance.py", "fanfold/engine/tasks/steering/commands.py"
RESETTING, REDOING = "fanfold/store/items/reset.py", "fanfold/engine/tasks/steering/redo.py"
PLAN, COPYING = "fanfold/model/plan.py", "fanfold/store/items/large/copy.py"
MERGING, HELD = "engine/test_merging.py", "engine/test_without_held.py"
MERGING_HELD, WORDS = "fanfold/engine/tasks/many_items/merge_without_held.py", "fanfold/model/words.py"
SETTLING, REMOVAL, SWEEP = (
    "fanfold/store/items/settle.py",
    "fanfold/engine/tasks/steering/delete.py",
    "fanfold/engine/tasks/recovery/sweep.py",
)
REMOVING = "engine/test_removal.py"
COMPENSATION, GENERATIONS = "engine/test_compensation.py", "engine/test_generations.py"

MUTANTS = (
    mutant(
        "a compensation runs once per generation",
        Edit(ADVANCE, "    if compensated(tx, row):\n        return False\n", ""),
        test=f"{COMPENSATION}::test_a_task_that_an_older_version_has_retried_is_not_paid_back_twice",
    ),
    mutant(
        "a retry after a compensation begins a new generation",
        Edit(REDOING, "if compensated(tx, row) or redo.inputs", "if redo.inputs"),
        test=f"{COMPENSATION}::test_a_failure_after_a_retry_is_paid_back_once_more_under_a_key_of_its_own",
    ),
    mutant(
        "a cancel runs `on_cancelled` only if work was started since the last compensation",
        Edit(COMMANDS, "return not row.generation or", "return True or"),
        test=f"{COMPENSATION}::test_a_cancel_after_a_refund_and_a_retry_is_no_second_refund",
    ),
    mutant(
        "a redo with a result or with other options has a new idempotency key",
        Edit(RESETTING, "(generation or 0) + 1 if lease else generation", "generation"),
        test=f"{GENERATIONS}::test_a_redo_of_a_result_has_a_new_key_and_so_has_what_follows_from_it",
    ),
    mutant(
        "a merge continues to the next stage and skips none",
        Edit(COMMANDS, "following = row.plan.after(row.stage)", "following = target"),
        test=f"{MERGING}::test_merge_goes_on_to_the_next_stage_without_what_failed",
    ),
    mutant(
        "a merge continues without held items",
        Edit(
            COMMANDS,
            "        elif row.state is TaskState.ACTIVE:\n"
            "            counts = StageCounts(tx, row, ahead, tx.events.last(row.number))\n"
            "            self._go_on_without_held(tx, row, counts)\n",
            "",
        ),
        test=f"{HELD}::test_merge_goes_on_without_what_is_held_and_keeps_the_reason",
    ),
    mutant(
        "a merge waits for items that are still running",
        Edit(
            COMMANDS,
            "        if not tx.items.is_open(row.number, row.stage):\n"
            "            counts.given_up(row.stage, given_up)\n",
            "        if True:\n",
        ),
        test=f"{HELD}::test_merge_waits_for_what_is_being_worked_on_and_does_not_excuse_it",
    ),
    mutant(
        "held items that are given up are skipped in the same transaction",
        Edit(
            MERGING_HELD,
            "        tx.tasks.move(row.number, plan=row.plan.passing({row.stage: passed[-1]}).to_json())\n",
            "",
        ),
        test=f"{HELD}::test_a_worker_that_looks_while_many_are_given_up_does_not_fail_the_task",
    ),
    mutant(
        "no more held items are given up in one transaction than it can hold",
        Edit(MERGING_HELD, "AT_ONCE + 1) > AT_ONCE", "AT_ONCE + 1) > 10**9"),
        test=f"{HELD}::test_many_held_items_are_given_up_in_short_transactions",
    ),
    mutant(
        "a task cannot be merged without a step that is held",
        Edit(WORDS, "facts.state is TaskState.ACTIVE and facts.plan.stage(facts.stage).kind is not Kind.EACH", "False"),
        test=f"{HELD}::test_a_step_that_is_held_cannot_be_merged_without",
    ),
    mutant(
        "the lease of an item that is given up grows",
        Edit(SETTLING, '"lease": items.c.lease + 1, "available_at"', '"available_at"'),
        test=f"{HELD}::test_nothing_that_an_earlier_attempt_has_in_hand_counts_once_a_person_went_on_without_it",
    ),
    mutant(
        "a merge on a completed task repeats the last merge, not the first",
        Edit(
            PLAN,
            "for stage in reversed(self.stages) if stage.kind is Kind.MERGE",
            "for stage in self.stages if stage.kind is Kind.MERGE",
        ),
        test=f"{MERGING}::test_merge_on_a_completed_task_repeats_only_the_last_merge",
    ),
    mutant(
        "a stage whose failures a person accepted stays accepted",
        Edit(PLAN, "return max(agreed, self.passed)", "return agreed"),
        test=f"{MERGING}::test_a_stage_that_was_passed_stays_passed_when_its_failure_fails_again",
    ),
    mutant(
        "a failure that was later repaired does not cover for another one",
        Edit(ADVANCE, "if stage.passed > failed:", "if False:"),
        test=f"{MERGING}::test_a_failure_that_was_made_good_is_no_excuse_for_another",
    ),
    mutant(
        "a stage with failures that nobody accepted is not skipped when nothing is due in it",
        Edit(ADVANCE, 'if verb == "advance" and decision is not Verdict.CONTINUE:', "if False:"),
        test=f"{MERGING}::test_a_later_stage_with_failures_is_not_passed_by_a_retry_before_it",
    ),
    mutant(
        "what was made from an item is out of date once the item is redone",
        Edit(RESETTING, "        self._outdate(self.made_from(number, moved, followers))\n", ""),
        test=f"{MERGING}::test_a_stale_result_is_not_delivered_when_its_redo_fails",
    ),
    mutant(
        "what was made from a result that is gone is removed",
        Edit(COPYING, "if not self._remove_orphans():", "if False:"),
        test=f"{MERGING}::test_a_stale_result_is_not_delivered_when_its_redo_fails",
    ),
    mutant(
        "a handler writes nothing for a task that is gone",
        Edit(
            SETTLING,
            'run(self.connection, TASK_OF_ITEM, {"wanted": item})\n            and run(',
            "run(",
        ),
        test=f"{REMOVING}::test_a_handler_writes_nothing_for_a_task_whose_row_is_gone",
    ),
    mutant(
        "a delete waits for handlers that are writing (PostgreSQL)",
        Edit(SETTLING, "    .with_for_update(read=True, key_share=True)\n", ""),
        test=f"{REMOVING}::test_a_delete_waits_for_a_handler_that_is_writing",
    ),
    mutant(
        "a removal that was cut off is finished by a sweep",
        Edit(
            SWEEP, '        ("removing deleted tasks", lambda: remove_deleted(store, pipelines, actor, is_late)),\n', ""
        ),
        test=f"{REMOVING}::test_a_removal_that_is_cut_off_is_gone_at_once_and_finished_by_a_sweep",
    ),
    mutant(
        "a prune continues until nothing old is left",
        Edit(REMOVAL, "if len(old) < BATCH:", "if True:"),
        test=f"{REMOVING}::test_many_old_tasks_are_pruned_without_waiting_for_the_next_hour",
    ),
    mutant(
        "tasks that cannot be pruned here are skipped",
        Edit(REMOVAL, "stuck += not gone", "stuck += 0"),
        test=f"{REMOVING}::test_tasks_that_cannot_be_pruned_here_do_not_hide_the_others",
    ),
)
