"""Guards around child processes: their start, their memory, their end, and the time of what runs in them."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

CALLER = "fanfold/engine/worker/attempt/caller.py"
CHILD, CHILDREN = "fanfold/engine/worker/processes/child.py", "fanfold/engine/worker/processes/children.py"
CALLING = "fanfold/engine/worker/attempt/call.py"
TIMING = "fanfold/engine/worker/attempt/time_limit.py"
MEMORY = "fanfold/engine/worker/processes/memory_use.py"
WINDOWS, PROCESS_STATE = "fanfold/apps/pdf/pages/windows.py", "fanfold/engine/worker/processes/process_state.py"
START, TAKEN = "engine/test_child_start.py", "engine/test_child_memory.py"
FORKS, UNGUARDED, UNRULY = "engine/test_forks.py", "engine/test_unguarded.py", "engine/test_unruly.py"
LEFT = f"{FORKS}::test_what_an_isolated_handler_leaves_running_ends_with_its_item"
MUTANTS = (
    mutant(
        "the time of an isolated handler begins with its call",
        Edit(
            CALLER,
            "            return _noted(call, child.call(call, call.time.begin, partial(",
            "            call.time.begin()\n            return _noted(call, child.call(call, lambda: None, partial(",
        ),
        test=f"{START}::test_imports_of_a_child_do_not_count_against_the_time_limit[sqlite]",
    ),
    mutant(
        "the time of a handler stands still while a child starts for it",
        Edit(
            TIMING,
            "        if not self._holds:\n            return due\n",
            "        if True:\n            return due\n",
        ),
        test=f"{START}::test_time_stands_still_while_a_child_starts_for_a_part_of_a_handler[sqlite]",
    ),
    mutant(
        "time counts again when the function in the child has begun",
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
        "a slow start moves the deadline only for the holder of the lease",
        Edit(
            "fanfold/store/items/settle.py",
            "mine = (items.c.id == item, items.c.lease == lease, RUNNING, items.c.deadline_at.is_not(None))",
            "mine = (items.c.id == item, RUNNING, items.c.deadline_at.is_not(None))",
        ),
        test=f"{START}::test_a_slow_start_keeps_the_sweep_away[sqlite]",
    ),
    mutant(
        "a child without a database hands its item back",
        Edit(CHILD, "        return all_failed(problem)\n", "        raise problem\n"),
        test=f"{START}::test_a_child_without_a_database_hands_its_item_back[sqlite]",
    ),
    mutant(
        "a child that takes too much memory is ended",
        Edit(CHILDREN, "            self._excess = excess\n            self._end_processes()\n", "            pass\n"),
        test=f"{TAKEN}::test_an_item_that_takes_too_much_memory_fails_alone_and_at_once[sqlite]",
    ),
    mutant(
        "running out of memory is not a crash that is retried",
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
        test=f"{TAKEN}::test_a_child_ends_at_once_with_what_it_has_started[sqlite-cancel]",
    ),
    mutant(
        "the thread that reads a child's pipe also closes it",
        Edit(
            CHILDREN,
            "            if self._is_busy:\n                return  # The waiting",
            "            if False:\n                return  # The waiting",
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
        "a window of pages that is no longer wanted is given up",
        Edit(WINDOWS, "                    window.cancel()\n", ""),
        test="apps/pdf/test_windows.py::test_a_window_that_nobody_wants_any_more_is_given_up_at_once",
    ),
    mutant(
        "nobody waits for a window that is being given up",
        Edit(
            WINDOWS,
            "                    del self._windows[key]  # New callers",
            "                    # New callers",
        ),
        test="apps/pdf/test_windows.py::test_a_page_that_comes_while_its_window_is_given_up_reads_anew",
    ),
    mutant(
        "a page that is a bomb does not cost the whole document",
        Edit("fanfold/apps/pdf/pipeline.py", "options.pages, surveyed=False, **known)", "options.pages, **known)"),
        test="apps/pdf/test_bombs.py::test_a_page_that_is_a_bomb_costs_only_itself",
    ),
    mutant(
        "a forked copy ends with its handler",
        Edit(
            CALLING,
            "            value = self.stage.handler(*arguments, **named)\n            end_copy(home)\n",
            "            value = self.stage.handler(*arguments, **named)\n",
        ),
        test=f"{FORKS}::test_a_forked_copy_keeps_nothing[each]",
    ),
    mutant(
        "a copy forked in a split ends there",
        Edit(CALLING, "            in_one_process(value), self.work._fold,", "            value, self.work._fold,"),
        test=f"{FORKS}::test_a_forked_copy_keeps_nothing[split]",
    ),
    mutant(
        "a forked copy has no pipe to the parent",
        Edit(CHILD, "        self._pipe.close()\n", ""),
        test=f"{FORKS}::test_only_the_child_itself_holds_its_pipe",
    ),
    mutant(
        "a program that a handler starts does not inherit the pipe",
        Edit(CHILD, "        os.set_inheritable(pipe.fileno(), False)\n", ""),
        test=f"{FORKS}::test_only_the_child_itself_holds_its_pipe",
    ),
    mutant(
        "a forked copy keeps off its parent's connections",
        Edit(CHILD, "            self._store.leave_connections()\n", "            pass\n"),
        test=f"{FORKS}::test_a_copy_has_connections_of_its_own[sqlite]",
    ),
    mutant(
        "what a handler leaves running ends with its item",
        Edit(
            PROCESS_STATE,
            "        return not (any_left() or self._has_less())\n",
            "        return not self._has_less()\n",
        ),
        test=f"{LEFT}[stay]",
    ),
    mutant(
        "what left the group of a child ends with it",
        Edit(CHILDREN, "            end_descendants(pid)\n", ""),
        test=f"{LEFT}[session]",
    ),
    mutant(
        "a child stays the ancestor of what it has started",
        Edit(CHILD, "    adopt_orphans()\n", ""),
        test=f"{LEFT}[orphan]",
    ),
    mutant(
        "a child that imports does not work",
        Edit("fanfold/store/store.py", 'on an error."""\n        importing.refuse_work()\n', 'on an error."""\n'),
        test=f"{UNGUARDED}::test_a_script_without_a_guard_is_refused_in_words_and_costs_no_item_anything[run]",
    ),
    mutant(
        "a script without a guard costs its items nothing",
        Edit(CALLING, "        if isinstance(error, Unguarded):\n", "        if False:\n"),
        test=f"{UNGUARDED}::test_a_part_in_a_child_of_a_script_without_a_guard_is_refused_as_well",
    ),
    mutant(
        "a handler that no child can import is refused before anything is begun",
        Edit("fanfold/running/one.py", "    check_reachable(as_pipeline(pipeline).stages.values())\n", ""),
        test=f"{UNGUARDED}::test_an_isolated_handler_that_was_typed_in_is_refused_before_anything_is_begun[-c]",
    ),
    mutant(
        "a child does not look for a main script that is not a file",
        Edit("fanfold/engine/worker/processes/main_script.py", "        del main.__file__\n", ""),
        test=f"{UNGUARDED}::test_a_typed_in_script_may_use_isolated_handlers_of_a_module[-]",
    ),
    mutant(
        "the working folder of a child is put back",
        Edit(PROCESS_STATE, "                os.chdir(self._folder)\n", "                pass\n"),
        test=f"{UNRULY}::test_the_next_handler_finds_its_child_as_the_first_one_did[folder]",
    ),
    mutant(
        "signal handlers of a child are put back",
        Edit(PROCESS_STATE, "                signal.signal(number, handler)\n", "                pass\n"),
        test=f"{UNRULY}::test_the_next_handler_finds_its_child_as_the_first_one_did[signals]",
    ),
    mutant(
        "a child with other streams or lower limits is replaced",
        Edit(PROCESS_STATE, "        return not (any_left() or self._has_less())\n", "        return not any_left()\n"),
        test=f"{UNRULY}::test_the_next_handler_finds_its_child_as_the_first_one_did[limits]",
    ),
    mutant(
        "an error that ends a loop or a process stays in the child",
        Edit(
            CHILD,
            "    if isinstance(error, Exception) and not isinstance(error, StopIter",
            "    if not isinstance(0, StopIter",
        ),
        test=f"{UNRULY}::test_an_error_that_ends_processes_does_not_leave_the_child[interrupt]",
    ),
    mutant(
        "what a child cannot read does not end it",
        Edit(
            CHILD,
            "            return pickle.dumps(FunctionResult(error=_not_readable(error)))\n",
            "            raise\n",
        ),
        test=f"{UNRULY}::test_a_child_survives_what_cannot_travel",
    ),
    mutant(
        "what left the group of a child ends when the worker was killed",
        Edit(CHILD, "    end_descendants(os.getpid())\n", ""),
        test=f"{UNRULY}::test_children_end_by_themselves_when_their_parent_is_killed",
    ),
    mutant(
        "an error around a handler is an error of its item",
        Edit(
            CHILD,
            "    except BaseException as error:\n        # Outside the",
            "    except ZeroDivisionError as error:\n        # Outside the",
        ),
        test=f"{UNRULY}::test_a_task_of_the_loop_that_ends_it_fails_its_item_alone[sqlite]",
    ),
)
