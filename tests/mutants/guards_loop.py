"""Guards of a worker whose event loop is blocked by a handler."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

WATCHDOG, SETTLING = "fanfold/engine/worker/beside/watchdog.py", "fanfold/store/items/settle.py"
HERE, PROCESSES = "engine/test_blocked_loop.py", "cli/test_blocked.py"
MUTANTS = (
    mutant(
        "a blocked loop is reported",
        Edit(WATCHDOG, "            self._say(block, blocked)\n", ""),
        test=f"{HERE}::test_a_blocked_loop_is_told_of_with_task_stage_item_and_line[sqlite]",
    ),
    mutant(
        "ended attempts are settled while the loop is blocked",
        Edit(WATCHDOG, "        self._settle_ended(block)\n", ""),
        test=f"{HERE}::test_what_ends_in_a_thread_is_settled_while_the_loop_is_blocked[sqlite]",
    ),
    mutant(
        "time in which another blocked the loop does not count",
        Edit(WATCHDOG, "        if blocked >= BLOCKED_SECONDS:\n", "        if False:\n"),
        test=f"{HERE}::test_time_in_which_another_blocked_the_loop_does_not_count[sqlite]",
    ),
    mutant(
        "a blocked worker puts off only its own deadlines",
        Edit(SETTLING, "mine = (RUNNING, items.c.worker == worker, deadline", "mine = (RUNNING, deadline"),
        test=f"{HERE}::test_the_sweep_waits_for_what_a_blocked_loop_keeps_from_running[sqlite]",
    ),
    mutant(
        "the deadline of what blocks the loop is not put off",
        Edit(SETTLING, "chosen = items.c.id != (but or 0) if", "chosen = sa.true() if"),
        test=f"{HERE}::test_the_sweep_waits_for_what_a_blocked_loop_keeps_from_running[sqlite]",
    ),
    mutant(
        "an interruption strikes only the task that blocks the loop",
        Edit(WATCHDOG, "        if asyncio.current_task(self._loop) is block.task:\n", "        if True:\n"),
        test=f"{HERE}::test_an_interruption_strikes_only_the_task_that_blocks_the_loop",
    ),
    mutant(
        "a blocked handler is interrupted when the worker must be gone",
        Edit(WATCHDOG, "        if must_end or late > GIVE_UP_SECONDS:\n", "        if late > GIVE_UP_SECONDS:\n"),
        test=f"{PROCESSES}::test_a_tick_ends_within_its_budget_though_a_handler_blocks[sqlite]",
    ),
    mutant(
        "a process whose handler cannot be interrupted is ended",
        Edit(WATCHDOG, "            os._exit(self._exit_code)\n", "            return\n"),
        test=f"{PROCESSES}::test_a_process_whose_handler_cannot_be_interrupted_is_ended[sqlite]",
    ),
    mutant(
        "a blocked handler is interrupted at its time limit",
        Edit(
            WATCHDOG,
            "        elif late > LATE_SECONDS and block.stays and not block.interrupted:\n",
            "        elif False:\n",
        ),
        test=f"{PROCESSES}::test_a_blocking_handler_fails_at_its_time_limit_and_the_worker_goes_on",
    ),
)
