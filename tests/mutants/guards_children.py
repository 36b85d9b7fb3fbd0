"""Guards around child processes: their start, their memory, their end, and the time of what runs in them."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

CHILD, CHILDREN = "fanfold/engine/child.py", "fanfold/engine/children.py"
CALLING, TIMING, MEMORY = "fanfold/engine/calling.py", "fanfold/engine/timing.py", "fanfold/engine/memory.py"
WINDOWS = "fanfold/apps/pdf/windows.py"
START, TAKEN = "engine/test_child_start.py", "engine/test_child_memory.py"
MUTANTS = (
    mutant(
        "the time of an isolated handler begins with its call",
        Edit(
            CALLING,
            "            call.outcome = child.call(call, call.time.begin, partial(",
            "            call.time.begin()\n            call.outcome = child.call(call, lambda: None, partial(",
        ),
        test=f"{START}::test_imports_of_a_child_do_not_count_against_the_time_limit[sqlite]",
    ),
    mutant(
        "the time of a handler stands still while a child starts for it",
        Edit(TIMING, "        held = now - self._held_since if self._holds else 0.0\n", "        held = 0.0\n"),
        test=f"{START}::test_time_stands_still_while_a_child_starts_for_a_part_of_a_handler[sqlite]",
    ),
    mutant(
        "time goes on when the function in the child has begun",
        Edit(CHILDREN, "        self._has_begun = True\n        begun()\n", "        self._has_begun = True\n"),
        test=f"{START}::test_time_goes_on_when_a_part_of_a_handler_has_begun[sqlite]",
    ),
    mutant(
        "a child has a limited time to start",
        Edit(CHILDREN, "            if waited > self._start_seconds:\n", "            if False:\n"),
        test=f"{START}::test_a_child_that_never_starts_is_given_up_and_costs_its_item_nothing[sqlite]",
    ),
    mutant(
        "a child that dies while it starts costs its item nothing",
        Edit(CHILDREN, "        if not self._has_begun:\n", "        if False:\n"),
        test=f"{START}::test_a_child_that_dies_while_it_starts_costs_its_item_nothing[sqlite]",
    ),
    mutant(
        "a slow start puts the deadline off only for who holds the lease",
        Edit(
            "fanfold/store/settling.py",
            "mine = (items.c.id == item, items.c.lease == lease, RUNNING, items.c.deadline_at.is_not(None))",
            "mine = (items.c.id == item, RUNNING, items.c.deadline_at.is_not(None))",
        ),
        test=f"{START}::test_a_slow_start_keeps_the_sweep_away[sqlite]",
    ),
    mutant(
        "a child without a database hands its item back",
        Edit(CHILD, "        return failed(request.claimed, request.stage, problem)\n", "        raise problem\n"),
        test=f"{START}::test_a_child_without_a_database_hands_its_item_back[sqlite]",
    ),
    mutant(
        "a child that takes too much memory is ended",
        Edit(CHILDREN, "            self._excess = excess\n            self._end_processes()\n", "            pass\n"),
        test=f"{TAKEN}::test_an_item_that_takes_too_much_memory_fails_alone_and_at_once[sqlite]",
    ),
    mutant(
        "want of memory is no crash to be tried again",
        Edit(CALLING, "        if death.code == OUT_OF_MEMORY:\n", "        if False:\n"),
        test=f"{TAKEN}::test_an_item_that_takes_too_much_memory_fails_alone_and_at_once[sqlite]",
    ),
    mutant(
        "only the largest child ends when all take too much",
        Edit(MEMORY, " and taken == max(everyone):", ":"),
        test=f"{TAKEN}::test_the_largest_child_ends_when_all_together_take_too_much",
    ),
    mutant(
        "the memory of the control group counts",
        Edit(MEMORY, "in dict.fromkeys((folder, *folder.parents, root)):", "in (folder,):"),
        test=f"{TAKEN}::test_the_memory_of_a_machine_is_that_of_its_control_group",
    ),
    mutant(
        "a child ends with what it has started",
        Edit(CHILDREN, "            os.killpg(pid, signal.SIGKILL)\n", "            os.kill(pid, signal.SIGKILL)\n"),
        test=f"{TAKEN}::test_a_child_ends_within_a_second_with_what_it_has_started[sqlite-cancel]",
    ),
    mutant(
        "the pipe of a child is closed by who reads it",
        Edit(
            CHILDREN,
            "            if self._is_busy:\n                return  # Its thread",
            "            if False:\n                return  # Its thread",
        ),
        test=f"{TAKEN}::test_a_killed_child_is_told_of_by_whoever_waits_for_it",
    ),
    mutant(
        "the death of a child is noticed though its pipe is held open",
        Edit(CHILDREN, "        if ready or self._process.exitcode is not None:\n", "        if ready:\n"),
        test=f"{TAKEN}::test_the_death_of_a_child_is_noticed_though_others_hold_its_pipe",
    ),
    mutant(
        "a child that has ended is not used again",
        Edit(CHILDREN, "        if child.is_over or child.calls", "        if child.calls"),
        test=f"{TAKEN}::test_a_killed_child_that_waits_for_work_refuses_it",
    ),
    mutant(
        "a window of pages that nobody wants any more is given up",
        Edit(WINDOWS, "                    window.cancel()\n", ""),
        test="apps/pdf/test_windows.py::test_a_window_that_nobody_wants_any_more_is_given_up_at_once",
    ),
    mutant(
        "nobody waits for a window that is being given up",
        Edit(
            WINDOWS,
            "                    del self._windows[key]  # Whoever comes now",
            "                    # Whoever comes now",
        ),
        test="apps/pdf/test_windows.py::test_a_page_that_comes_while_its_window_is_given_up_reads_anew",
    ),
    mutant(
        "a page that is a bomb does not cost the whole document",
        Edit("fanfold/apps/pdf/pipeline.py", "options.pages, surveyed=False, **known)", "options.pages, **known)"),
        test="apps/pdf/test_bombs.py::test_a_page_that_is_a_bomb_costs_only_itself",
    ),
)
