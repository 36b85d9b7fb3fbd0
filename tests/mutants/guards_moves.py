"""Guards of the task's own moves: submit, split, advance, commands."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

TASKS, RESETTING = "fanfold/store/rows/tasks.py", "fanfold/store/items/reset.py"
TURN = "fanfold/engine/worker/turn.py"
SPLITTING = "fanfold/engine/tasks/moving/split.py"
TOGETHER = "fanfold/engine/tasks/moving/advance_together.py"
TOGETHER_TESTS = "engine/test_advance_together.py"
ADVANCE = "fanfold/engine/tasks/moving/advance.py"
SWEEP = "fanfold/engine/tasks/recovery/sweep.py"
COMMANDS = "fanfold/engine/tasks/steering/commands.py"
SUBMIT = "fanfold/engine/tasks/submitting/submit.py"
VERDICT = "fanfold/model/verdict.py"
SCHEMA = "fanfold/store/upgrade/migrations/versions/0001_first_schema.py"
COUNTING = "fanfold/engine/tasks/moving/counts.py"
NEVER_LOOK_FOR_OPEN = Edit(ADVANCE, "(waits and tx.items.is_open(row.number, stage.name))", "False")
LOCK_TIME = "engine/test_lock_time.py::test_no_transaction_that_holds_the_write_lock_does_more_for_a_larger_task"
MOVES, MIRROR = "fanfold/engine/tasks/moving/transitions.py", "engine/test_mirror.py"
ADVANCE_MUTANTS = (
    mutant(
        "a move that on_move refuses leaves a reason that a person sees",
        Edit(MOVES, "        tx.tasks.move(row.number, reason=say(", "        str(say("),
        test=f"{MIRROR}::test_a_mirror_that_fails_does_not_take_the_worker_down",
    ),
    mutant(
        "a move that on_move refused is not tried again within the pause",
        Edit(ADVANCE, " or not may_try(tx, row)", ""),
        test=f"{MIRROR}::test_a_mirror_that_fails_does_not_take_the_worker_down",
    ),
    mutant(
        "the pause after on_move failed grows",
        Edit(MOVES, "2.0 ** min(times - 1, PAUSES_DOUBLED)", "1.0"),
        test=f"{MIRROR}::test_the_pauses_of_a_mirror_that_fails_grow_and_each_try_is_an_event",
    ),
    mutant(
        "the reason why a task could not be moved is over with its next move",
        Edit(MOVES, '{} if target is TaskState.PAUSED else {"reason": None}', "{}"),
        test="engine/test_compensation.py::test_why_a_task_was_paused_is_not_said_of_its_compensation",
    ),
    mutant(
        "whatever on_move raises leaves the worker alive",
        Edit(MOVES, "    except DatabaseProblem:\n        raise\n", "    except FanfoldError:\n        raise\n"),
        test=f"{MIRROR}::test_whatever_a_mirror_raises_the_worker_goes_on",
    ),
    mutant(
        "a split whose move on_move refuses waits before it is repeated",
        Edit(
            "fanfold/engine/worker/turn.py",
            "            store.transact(lambda tx: settle(tx, [later],",
            "            str(lambda tx: settle(tx, [later],",
        ),
        test=f"{MIRROR}::test_a_split_whose_move_the_mirror_refuses_waits_and_is_made_again",
    ),
    mutant(
        "an item whose pause on_move refuses waits before it asks again",
        Edit("fanfold/engine/worker/turn.py", "if one.claimed.task in refused else one", "if False else one"),
        test=f"{MIRROR}::test_a_pause_that_the_mirror_refuses_is_asked_for_again_after_a_while",
    ),
    mutant(
        "the task's row lock in every move (PostgreSQL)",
        Edit(
            TASKS,
            "BY_NUMBER_LOCKED = BY_NUMBER.with_for_update(key_share=True, of=tasks)",
            "BY_NUMBER_LOCKED = BY_NUMBER",
        ),
        by="postgresql",
        test="engine/test_advance.py::test_many_who_advance_the_same_task_move_it_once[postgresql]",
    ),
    mutant(
        "the task's row lock in advance (PostgreSQL)",
        Edit(ADVANCE, "row = tx.tasks.lock(ahead.row.number)", "row = tx.tasks.get(ahead.row.number)"),
        by="postgresql",
        test="engine/test_advance.py::test_many_who_advance_the_same_task_move_it_once[postgresql]",
    ),
    mutant(
        "the task's row lock in commands (PostgreSQL)",
        Edit(COMMANDS, "row = tx.tasks.lock(number)", "row = tx.tasks.get(number)"),
        by="postgresql",
        test="mutants/test_guards.py::test_a_command_waits_for_the_move_before_it_and_then_looks_where_the_task_is",
    ),
    mutant(
        "the task's row lock at the end of a split (PostgreSQL)",
        Edit(SPLITTING, "row = tx.tasks.lock(one.claimed.task)", "row = tx.tasks.get(one.claimed.task)"),
        by="postgresql",
        test="mutants/test_guards.py::test_a_split_that_ends_while_its_task_is_being_paused_moves_nothing",
    ),
    mutant(
        "“is active” looked at again under the lock",
        Edit(
            ADVANCE,
            "row = tx.tasks.lock(ahead.row.number)\n    if row is None or row.state is not TaskState.ACTIVE:",
            "row = tx.tasks.lock(ahead.row.number)\n    if row is None:",
        ),
        by="sqlite",
        test="engine/test_advance.py::test_a_command_between_the_probe_and_the_lock_is_obeyed[sqlite-pause]",
    ),
    mutant(
        "“nothing is open” decided again under the lock",
        Edit(VERDICT, "if counts.settled < counts.total:", "if False:"),
        NEVER_LOOK_FOR_OPEN,
        by="sqlite",
        test="engine/test_advance.py::test_failing_fast_does_not_wait_for_the_others",
    ),
    mutant(
        "“nothing is open” in the probe and under the lock",
        Edit(ADVANCE, "tx.items.is_open(number, row.stage) and not", "not tx.items.exist(number, row.stage) and not"),
        Edit(VERDICT, "if counts.settled < counts.total:", "if False:"),
        NEVER_LOOK_FOR_OPEN,
        by="sqlite",
        test="engine/test_advance.py::test_the_last_item_moves_the_task_at_once",
    ),
    mutant(
        "“nothing is open” in the probe",
        Edit(ADVANCE, "tx.items.is_open(number, row.stage) and not", "not tx.items.exist(number, row.stage) and not"),
        test="mutants/test_guards.py::test_an_item_that_is_not_the_last_one_locks_no_task",
        note="for speed: the same is decided again under the lock",
    ),
    mutant(
        "the probe after the commit",
        Edit(TURN, "        for number in sorted(numbers):", "        for number in sorted(numbers - numbers):"),
        test="engine/test_advance.py::test_the_last_item_moves_the_task_at_once",
        note="the sweep closes what nobody has probed, later",
    ),
    mutant(
        "if tasks cannot move together, each moves alone",
        Edit(TOGETHER, "        together.alone.update(ahead.row.number for ahead in group)\n", ""),
        test=f"{TOGETHER_TESTS}::test_one_whose_counts_no_longer_hold_does_not_hold_up_the_others",
    ),
    mutant(
        "a task that may fail fast is advanced alone, whatever is open",
        Edit(TURN, "numbers - hasty, self._worker", "numbers, self._worker"),
        Edit(TURN, "return hasty | together.alone", "return together.alone"),
        test=f"{TOGETHER_TESTS}::test_tasks_that_fail_fast_do_not_wait_for_their_items",
    ),
    mutant(
        "the sweep advances tasks that no worker has probed",
        Edit(SWEEP, "return close(store, pipelines, actor) + recovered +", "return recovered +"),
        by="sqlite",
        test="engine/test_sweep.py::test_a_task_that_nobody_closed_is_closed",
    ),
    mutant(
        "the items of a stage in the same transaction as the move",
        Edit(
            SPLITTING,
            "        return advance_locked(tx, pipelines, row, worker, new_items=one.new_items, ahead=ahead)",
            "    with store.write() as tx:\n"
            "        return advance_locked(tx, pipelines, row, worker, new_items=one.new_items, ahead=ahead)",
        ),
        by="sqlite",
        test="mutants/test_guards.py::test_a_split_that_is_cut_off_leaves_nothing",
    ),
    mutant(
        "the lease at the end of a split",
        Edit(SPLITTING, "if row is None or not held:", "if row is None:"),
        by="sqlite",
        test="mutants/test_guards.py::test_a_split_that_comes_too_late_moves_nothing",
    ),
    mutant(
        "the table of moves asked under the lock, in commands",
        Edit(COMMANDS, "            self._check(tx, row, verb, named)\n", ""),
        by="sqlite",
        test="engine/test_commands.py::test_a_command_works_in_the_states_of_the_table_and_is_refused_in_the_others",
    ),
    mutant(
        "a running item cannot be retried",
        Edit(
            RESETTING,
            "in_states((ItemState.DONE, ItemState.FAILED, *TIMED_ITEMS))",
            "items.c.state != ItemState.PENDING",
        ),
        by="sqlite",
        test="engine/test_commands.py::test_an_item_that_is_being_worked_on_cannot_be_retried",
    ),
    mutant(
        "results of the turn in which a task is paused count",
        Edit(
            TURN,
            "if pausing := [one for one in settled if one.pause]:",
            "if pausing := [one for one in settled if one.pause][:0]:",
        ),
        by="sqlite",
        test="providers/test_asking.py::test_results_of_the_turn_in_which_a_task_is_paused_count",
    ),
)
SUBMIT_MUTANTS = (
    mutant(
        "a key is unique, in the database",
        Edit(
            SCHEMA,
            'op.create_index("tasks_key", "tasks", ["owner", "key"], unique=True)',
            'op.create_index("tasks_key", "tasks", ["owner", "key"])',
        ),
        test="engine/test_submit.py::test_the_same_key_at_the_same_instant_gives_one_task[sqlite]",
    ),
    mutant(
        "the second submit with a key gets the task of the first",
        Edit(SUBMIT, "        if existing is None:\n            raise\n", "        raise\n"),
        test="engine/test_submit.py::test_the_same_key_at_the_same_instant_gives_one_task[sqlite]",
    ),
    mutant(
        "a task and its items in one transaction",
        Edit(
            SUBMIT,
            "            return self.add(tx, row)\n",
            "            number = tx.tasks.add(row, self.wanted.tags)\n"
            "        with self.store.write() as tx:\n"
            "            return self._begin(tx, number, self.new_items if self.new_items.count else None)\n",
        ),
        by="sqlite",
        test="engine/test_submit.py::test_a_crash_in_the_middle_leaves_nothing[sqlite-make_items]",
    ),
)
MUTANTS = (*ADVANCE_MUTANTS, *SUBMIT_MUTANTS)
