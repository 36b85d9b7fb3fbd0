"""Guards of what is redone, made up for, merged without failures, and removed."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

ADVANCE, COMMANDS = "fanfold/engine/advance.py", "fanfold/engine/commands.py"
RESETTING = "fanfold/store/resetting.py"
COMPENSATION, GENERATIONS = "engine/test_compensation.py", "engine/test_generations.py"

MUTANTS = (
    mutant(
        "a compensation runs once per generation",
        Edit(ADVANCE, "    if compensated(counts):\n        return False\n", ""),
        test=f"{COMPENSATION}::test_a_task_that_an_older_version_has_retried_is_not_paid_back_twice",
    ),
    mutant(
        "a retry after a compensation begins a new generation",
        Edit(COMMANDS, "if compensated(counts):", "if False:"),
        test=f"{COMPENSATION}::test_a_failure_after_a_retry_is_paid_back_once_more_under_a_key_of_its_own",
    ),
    mutant(
        "a cancel makes up for nothing that was not begun since the last compensation",
        Edit(COMMANDS, "return not row.generation or", "return True or"),
        test=f"{COMPENSATION}::test_a_cancel_after_a_refund_and_a_retry_is_no_second_refund",
    ),
    mutant(
        "a redo with a result or with other options has a new idempotency key",
        Edit(RESETTING, "        self.count_generation(items.c.id.in_(other))\n", ""),
        test=f"{GENERATIONS}::test_a_redo_of_a_result_has_a_new_key_and_so_has_what_follows_from_it",
    ),
)
