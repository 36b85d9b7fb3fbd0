"""Which guards are there? Each as a mutant: the code without it, and who must notice."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SEEN = Path(__file__).with_name("seen.json")
"""Which seed has seen which mutant; written anew with the table, as a seed is another story whenever the simulation changes."""
RANGES = {"sqlite": "1-30", "postgresql": "1-25"}
"""The seeds that are played when the known one sees nothing."""
SETTLING, ITEMS, RECOVERY = "fanfold/store/settling.py", "fanfold/store/items.py", "fanfold/store/recovery.py"
WORKERS, TASKS, ANSWERS = "fanfold/store/workers.py", "fanfold/store/tasks.py", "fanfold/store/answers.py"
TURN, ADVANCE, SWEEP = "fanfold/engine/turn.py", "fanfold/engine/advance.py", "fanfold/engine/sweep.py"
COMMANDS, SUBMIT, PULSE = "fanfold/engine/commands.py", "fanfold/engine/submit.py", "fanfold/engine/pulse.py"
ATTEMPTS, WORKER, THREADS = "fanfold/engine/attempts.py", "fanfold/engine/worker.py", "fanfold/engine/threads.py"
SETTLEMENT, DESK = "fanfold/engine/settlement.py", "fanfold/providers/desk.py"
VERDICT, SCHEMA = "fanfold/model/verdict.py", "fanfold/store/migrations/versions/0001_first_schema.py"
CHEAPER = "fanfold/store/migrations/versions/0005_cheaper_items.py"


@dataclass(frozen=True)
class Edit:
    """One place in the code, and what stands there when the guard is gone."""

    file: str
    text: str
    instead: str
    count: int = 1

    def applied(self, root: Path) -> str:
        """The file's text without the guard."""
        source = (root / self.file).read_text()
        found = source.count(self.text)
        if found != self.count:
            raise ValueError(f"{self.file} has it {found} times, not {self.count}: {self.text}")
        return source.replace(self.text, self.instead)


@dataclass(frozen=True)
class Mutant:
    """A guard that is taken out, and who is asked whether it is missed: seeds on a database, and a test."""

    guard: str
    edits: tuple[Edit, ...]
    database: str
    """Where the simulation can see it; empty when it can not."""
    test: str
    note: str

    def apply(self, root: Path) -> None:
        """Take the guard out of a copy of the code."""
        for edit in self.edits:
            (root / edit.file).write_text(edit.applied(root))

    def killers(self, *, seek: bool = False) -> tuple[str, ...]:
        """Who is asked, in this order: the seed that is known to see it, more seeds, a test.

        Where no seed is known, and none is to be sought, the test is asked at once.
        """
        known = json.loads(SEEN.read_text()).get(self.guard) if SEEN.exists() else None
        more = (
            f"{self.database} {RANGES[self.database]}" if self.database and (known or seek or not self.test) else None
        )
        return tuple(filter(None, (known, more, self.test and f"tests/{self.test}")))


def mutant(guard: str, *edits: Edit, by: str = "", test: str = "", note: str = "") -> Mutant:
    """One entry of the catalogue."""
    return Mutant(guard, edits, by, test, note)


VERBS = ("finish", "fail", "back_off", "postpone", "release", "crash")
HELD = "held = [items.c.id == batch.c.id, items.c.lease == batch.c.lease, running]"


def without_lease(verb: str) -> Mutant:
    """The verb settles whatever lease the item has by now."""
    instead = (
        f'held = [items.c.id == batch.c.id, items.c.lease == batch.c.lease, running][:: 2 if verb == "{verb}" else 1]'
    )
    test = f"store/test_settling.py::test_a_stale_worker_changes_nothing_at_all[sqlite-{verb}]"
    return mutant(f"the lease in {verb}", Edit(SETTLING, HELD, instead), by="sqlite", test=test)


def without_running(verb: str) -> Mutant:
    """The verb settles an item whatever state it is in."""
    instead = f'{HELD}[: 2 if verb == "{verb}" else 3]'
    test = f"store/test_settling.py::test_an_item_is_settled_once[sqlite-{verb}]"
    return mutant(f"“is running” in {verb}", Edit(SETTLING, HELD, instead), by="sqlite", test=test)


SETTLING_MUTANTS = (
    *(without_lease(verb) for verb in VERBS),
    *(without_running(verb) for verb in VERBS),
    mutant(
        "“the task is active and in this stage” in settling",
        Edit(SETTLING, 'if verb not in ("release", "crash"):', "if False:"),
        by="sqlite",
        test="store/test_settling.py::test_no_result_is_taken_for_a_task_that_is_not_active[sqlite-finish-pause]",
    ),
    mutant(
        "the lease in remember, progress and emit",
        Edit(SETTLING, "items.c.id == item, items.c.lease == lease, RUNNING", "items.c.id == item, RUNNING"),
        test="store/test_settling.py::test_progress_and_memory_need_the_lease_too[sqlite-remember]",
    ),
    mutant(
        "“is running” in remember, progress and emit",
        Edit(SETTLING, "items.c.lease == lease, RUNNING", "items.c.lease == lease"),
        test="mutants/test_guards.py::test_what_was_handed_back_can_not_be_written_to_by_its_old_holder",
    ),
    mutant(
        "the row lock in remember, progress and emit (PostgreSQL)",
        Edit(SETTLING, "items.c.lease == lease, RUNNING).with_for_update()", "items.c.lease == lease, RUNNING)"),
        test="mutants/test_guards.py::test_nobody_takes_an_item_away_while_it_is_written_to",
    ),
)
CLAIM_MUTANTS = (
    mutant(
        "a new lease with every claim",
        Edit(ITEMS, '"lease": items.c.lease + 1,', '"lease": sa.case((items.c.lease == 0, 1), else_=items.c.lease),'),
        by="sqlite",
        test="store/test_claim.py::TestClaim::test_a_lease_only_grows",
    ),
    mutant(
        "“the task is active” in claiming and settling",
        Edit(
            ITEMS,
            "tasks.c.number == number, ACTIVE, tasks.c.stage",
            "tasks.c.number == number, tasks.c.stage",
        ),
        by="sqlite",
        test="store/test_claim.py::TestClaim::test_a_task_that_is_not_active_gives_no_items",
    ),
    mutant(
        "“the task is in this stage” in claiming and settling",
        Edit(
            ITEMS,
            "tasks.c.number == number, ACTIVE, tasks.c.stage == stage",
            "tasks.c.number == number, ACTIVE",
        ),
        by="sqlite",
        test="store/test_claim.py::TestClaim::test_a_stage_that_the_task_has_left_gives_no_items",
    ),
    mutant(
        "“the task is active and in this stage” in claiming",
        Edit(
            ITEMS,
            "sa.update(items).where(chosen, active)",
            "sa.update(items).where(chosen)",
        ),
        by="sqlite",
        test="store/test_claim.py::TestClaim::test_a_task_that_is_not_active_gives_no_items",
    ),
    mutant(
        "“is pending” in the claim",
        Edit(
            ITEMS,
            'where(translate(PENDING), candidate.c.id > sa.bindparam("cursor"))',
            'where(candidate.c.id > sa.bindparam("cursor"))',
        ),
        by="sqlite",
        test="store/test_claim.py::TestClaim::test_items_are_claimed_in_order_and_never_more_than_asked",
    ),
    mutant(
        "the due time in the claim",
        Edit(ITEMS, "translate(TIMED), candidate.c.available_at <= clock.now)", "translate(TIMED))"),
        test="store/test_claim.py::TestClaim::test_an_item_is_due_when_its_time_has_come_and_not_before",
    ),
    mutant(
        "the due time in the search for work",
        Edit(ITEMS, "sa.and_(TIMED, items.c.available_at <= clock.now)", "TIMED"),
        test="store/test_claim.py::TestClaim::test_an_item_is_due_when_its_time_has_come_and_not_before",
    ),
    mutant(
        "no more than asked for in a claim",
        Edit(ITEMS, 'picked.limit(sa.bindparam("count", type_=sa.Integer)).with', "picked.with"),
        by="sqlite",
        test="store/test_claim.py::TestClaim::test_items_are_claimed_in_order_and_never_more_than_asked",
    ),
    mutant(
        "`= ANY(ARRAY(…))` around the limited choice (PostgreSQL)",
        Edit(
            ITEMS,
            'if clock.dialect == "postgresql"\n        else items.c.id.in_(picked)',
            "if False\n        else items.c.id.in_(picked)",
        ),
        test="mutants/test_guards.py::test_a_claim_never_takes_more_than_asked_whatever_the_plan",
    ),
    mutant(
        "FOR UPDATE in the claim (PostgreSQL)",
        Edit(ITEMS, "type_=sa.Integer)).with_for_update(skip_locked=True)", "type_=sa.Integer))"),
        by="postgresql",
        test="store/test_claim.py::TestClaim::test_two_workers_never_get_the_same_item[postgresql]",
    ),
    mutant(
        "SKIP LOCKED in the claim (PostgreSQL)",
        Edit(ITEMS, "with_for_update(skip_locked=True)", "with_for_update()"),
        test="mutants/test_guards.py::test_a_claim_does_not_wait_for_another_one",
        note="for speed: without it claims queue up behind each other",
    ),
)
ADVANCE_MUTANTS = (
    mutant(
        "the task's row lock in every move (PostgreSQL)",
        Edit(TASKS, "BY_NUMBER_LOCKED = BY_NUMBER.with_for_update(key_share=True)", "BY_NUMBER_LOCKED = BY_NUMBER"),
        by="postgresql",
        test="engine/test_advance.py::test_many_who_advance_the_same_task_move_it_once[postgresql]",
    ),
    mutant(
        "the task's row lock in advance (PostgreSQL)",
        Edit(ADVANCE, "row = tx.tasks.lock(number)", "row = tx.tasks.get(number)"),
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
        Edit(TURN, "row = tx.tasks.lock(one.claimed.task)", "row = tx.tasks.get(one.claimed.task)"),
        by="postgresql",
        test="mutants/test_guards.py::test_a_split_that_ends_while_its_task_is_being_paused_moves_nothing",
    ),
    mutant(
        "“is active” looked at again under the lock",
        Edit(
            ADVANCE,
            "row = tx.tasks.lock(number)\n        if row is None or row.state is not TaskState.ACTIVE:",
            "row = tx.tasks.lock(number)\n        if row is None:",
        ),
        by="sqlite",
        test="engine/test_advance.py::test_a_command_between_the_probe_and_the_lock_is_obeyed[sqlite-pause]",
    ),
    mutant(
        "“nothing is open” decided again under the lock",
        Edit(VERDICT, "if counts.settled < counts.total:", "if False:"),
        by="sqlite",
        test="engine/test_advance.py::test_failing_fast_does_not_wait_for_the_others",
    ),
    mutant(
        "“nothing is open” in the probe and under the lock",
        Edit(ADVANCE, "tx.items.is_open(number, row.stage) and not", "not tx.items.exist(number, row.stage) and not"),
        Edit(VERDICT, "if counts.settled < counts.total:", "if False:"),
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
        Edit(TURN, "    for number in sorted(numbers):", "    for number in sorted(numbers - numbers):"),
        test="engine/test_advance.py::test_the_last_item_moves_the_task_at_once",
        note="the sweep closes what nobody has probed, later",
    ),
    mutant(
        "the sweep closes what nobody has probed",
        Edit(SWEEP, "return close(store, pipelines, actor) + recovered > 0", "return recovered > 0"),
        by="sqlite",
        test="engine/test_sweep.py::test_a_task_that_nobody_closed_is_closed",
    ),
    mutant(
        "the items of a stage in the same transaction as the move",
        Edit(
            TURN,
            "            moved = advance_locked(tx, pipelines, row, worker, new_items=spool)",
            "        with store.write() as tx:\n"
            "            moved = advance_locked(tx, pipelines, row, worker, new_items=spool)",
        ),
        by="sqlite",
        test="mutants/test_guards.py::test_a_split_that_is_cut_off_leaves_nothing",
    ),
    mutant(
        "the lease at the end of a split",
        Edit(TURN, "if row is not None and held else None", "if row is not None else None"),
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
        "a running item can not be retried",
        Edit(
            TASKS, "items.c.state.in_((ItemState.DONE, ItemState.FAILED)) | TIMED", "items.c.state != ItemState.PENDING"
        ),
        by="sqlite",
        test="engine/test_commands.py::test_an_item_that_is_being_worked_on_can_not_be_retried",
    ),
    mutant(
        "a compensation runs once per task",
        Edit(ADVANCE, "if stage_counts(tx, row)[stage][ItemState.DONE]:", "if False:"),
        by="sqlite",
        test="engine/test_compensation.py::test_a_second_failure_after_a_retry_is_not_paid_back_twice",
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
DEAD = "workers.c.id == items.c.worker, workers.c.seen_at > self.clock.before(lease_seconds)"
RECOVERY_MUTANTS = (
    mutant(
        "a worker that is not heard of is dead",
        Edit(RECOVERY, DEAD, "workers.c.id == items.c.worker"),
        by="sqlite",
        test="engine/test_sweep.py::test_items_of_a_worker_that_is_not_heard_of_run_again",
    ),
    mutant(
        "a worker that is heard of keeps its items",
        Edit(RECOVERY, "self._reclaim(~sa.exists(alive.correlate(items)), limit)", "self._reclaim(sa.true(), limit)"),
        test="engine/test_sweep.py::test_a_worker_that_is_heard_of_in_time_keeps_its_items",
    ),
    mutant(
        "only a worker whose process is gone is buried before its time",
        Edit(SWEEP, "if worker.alive and is_dead(worker.host, worker.pid)", "if worker.alive"),
        test="engine/test_sweep.py::test_a_worker_of_this_machine_whose_process_is_gone_need_not_be_waited_for",
    ),
    mutant(
        "“is finished” looked at again under the lock, before a task is pruned",
        Edit(SWEEP, "if row is None or row.state not in FINISHED_TASKS or not", "if row is None or not"),
        test="mutants/test_guards.py::test_a_task_that_is_begun_again_while_it_is_to_be_pruned_stays",
    ),
    mutant(
        "“is running” in reclaiming",
        Edit(RECOVERY, "where(RUNNING, gone)", "where(gone)"),
        by="sqlite",
        test="mutants/test_guards.py::test_what_is_done_stays_done_whatever_its_task_wants",
    ),
    mutant(
        "the deadline of an item whose worker hangs",
        Edit(RECOVERY, "items.c.deadline_at < self.clock.before(grace_seconds), limit", "sa.false(), limit"),
        test="engine/test_sweep.py::test_an_item_far_past_its_deadline_is_taken_from_a_worker_that_hangs",
    ),
    mutant(
        "the grace after the deadline",
        Edit(
            RECOVERY,
            "items.c.deadline_at < self.clock.before(grace_seconds), limit",
            "items.c.deadline_at < self.clock.now, limit",
        ),
        test="engine/test_sweep.py::test_an_item_far_past_its_deadline_is_taken_from_a_worker_that_hangs",
    ),
    mutant(
        "only what nobody wants is taken back from the living",
        Edit(
            RECOVERY,
            "self.clock.before(grace_seconds), ~sa.exists(standing.correlate(items)))",
            "self.clock.before(grace_seconds))",
        ),
        test="engine/test_sweep.py::test_a_worker_that_is_heard_of_in_time_keeps_its_items",
    ),
    mutant(
        "“is running” in taking back what nobody wants",
        Edit(RECOVERY, "where(RUNNING, stale)", "where(stale)"),
        by="sqlite",
        test="mutants/test_guards.py::test_what_is_done_stays_done_whatever_its_task_wants",
    ),
    mutant(
        "the time a worker has to hand back what nobody wants",
        Edit(RECOVERY, "sa.and_(items.c.started_at < self.clock.before(grace_seconds), ~", "sa.and_(~"),
        test="engine/test_sweep.py::test_items_that_nobody_wants_are_handed_back_if_their_worker_does_not[sqlite-pause]",
    ),
    mutant(
        "what nobody wants is taken back at all",
        Edit(RECOVERY, "where(RUNNING, stale)", "where(RUNNING, stale, sa.false())"),
        test="engine/test_sweep.py::test_items_that_nobody_wants_are_handed_back_if_their_worker_does_not[sqlite-pause]",
    ),
    mutant(
        "one sweep in each interval",
        Edit(
            RECOVERY, "duties.c.name == name, duties.c.ran_at <= self.clock.before(interval)", "duties.c.name == name"
        ),
        test="engine/test_sweep.py::test_one_of_many_takes_a_duty_in_each_interval[sqlite]",
    ),
    mutant(
        "a clock that was set back makes nobody wait",
        Edit(RECOVERY, "        self._move_back(ahead)\n", ""),
        by="sqlite",
        test="chaos/test_clock.py::test_what_waits_for_a_time_is_moved_back_with_the_clock[sqlite]",
    ),
    mutant(
        "a lease that begins in the future begins now",
        Edit(SWEEP, "        tx.recovery.see_no_future()\n", ""),
        by="sqlite",
        test="mutants/test_guards.py::test_a_worker_seen_in_the_future_is_not_waited_for",
    ),
    mutant(
        "a heartbeat that comes too late revives nothing",
        Edit(WORKERS, "where(workers.c.id == worker, living)", "where(workers.c.id == worker)"),
        test="engine/test_sweep.py::test_a_worker_that_beats_too_late_is_told_so",
    ),
    mutant(
        "“is active” in the search for what nobody closed",
        Edit(RECOVERY, "where(ACTIVE, first.scalar_subquery().is_(None))", "where(first.scalar_subquery().is_(None))"),
        test="mutants/test_guards.py::test_only_an_active_task_whose_stage_is_over_is_left_to_be_closed",
        note="also held by the look under the lock; without it what is over fills the batch of the sweep",
    ),
    mutant(
        "“nothing is open” in the search for what nobody closed",
        Edit(RECOVERY, "where(ACTIVE, first.scalar_subquery().is_(None))", "where(ACTIVE)"),
        test="mutants/test_guards.py::test_only_an_active_task_whose_stage_is_over_is_left_to_be_closed",
        note="also held by the look under the lock",
    ),
    mutant(
        "an item that takes its worker down too often fails",
        Edit(SETTLING, "poison = items.c.crashes + 1 >= limit", "poison = items.c.crashes + 1 < 0"),
        test="engine/test_sweep.py::test_an_item_that_takes_its_worker_down_again_and_again_fails_as_poison",
    ),
    mutant(
        "a crash uses up no retry",
        Edit(
            SETTLING,
            '"crashes": items.c.crashes + 1,',
            '"crashes": items.c.crashes + 1,\n        "failures": items.c.failures + 1,',
        ),
        by="sqlite",
        test="store/test_settling.py::test_only_an_error_uses_up_a_retry",
    ),
    mutant(
        "a refusal that does not count uses up no retry",
        Edit(SETTLING, "items.c.failures + batch.c.counted", "items.c.failures + 1"),
        by="sqlite",
        test="store/test_settling.py::test_only_an_error_uses_up_a_retry",
    ),
)
FREE_AT_SETTLE = Edit(SETTLEMENT, "        tx.settling.free_permits(permits)\n", "")
FREE_AT_RECLAIM = Edit(SWEEP, "        tx.settling.free_permits([item.id for item in lost])\n", "")
FREE_WHEN_IDLE = Edit(SWEEP, "        tx.settling.free_permits([item.id for item in idle])\n", "")
DROP_STALE = Edit(SWEEP, "        tx.workers.drop_stale_permits()\n", "")
PERMIT_MUTANTS = (
    mutant(
        "the lock of a limit's row (PostgreSQL)",
        Edit(WORKERS, "where(limits.c.name == name).with_for_update()", "where(limits.c.name == name)"),
        by="postgresql",
        test="engine/test_claiming.py::test_a_limit_holds_against_many_who_claim_at_once[postgresql]",
    ),
    mutant(
        "a claim counts the permits that are out",
        Edit(WORKERS, "return max(0, size - int(taken))", "return size if taken is not None else 0"),
        by="sqlite",
        test="engine/test_claiming.py::test_a_limit_across_all_workers_is_never_exceeded",
    ),
    mutant(
        "a permit for each claim",
        Edit("fanfold/engine/claiming.py", "            tx.workers.grant(name, [one.id for one in claimed])\n", ""),
        by="sqlite",
        test="store/test_settling.py::test_a_permit_is_held_while_an_item_runs",
    ),
    mutant(
        "a permit is given back with the result",
        FREE_AT_SETTLE,
        by="sqlite",
        test="store/test_settling.py::test_a_permit_is_held_while_an_item_runs",
    ),
    mutant(
        "only who moved the item gives its permit back",
        Edit(SETTLEMENT, "if one.claimed.has_permit and one.claimed.id in moved]", "if one.claimed.has_permit]"),
        by="sqlite",
        test="store/test_settling.py::test_a_stale_worker_does_not_free_the_permit_of_the_new_one",
    ),
    mutant(
        "permits of the dead are given back, in both ways",
        FREE_AT_RECLAIM,
        DROP_STALE,
        by="sqlite",
        test="engine/test_claiming.py::test_a_crash_frees_the_permits_of_its_worker",
        note="with the reclaim, and by the sweep's search for stale ones",
    ),
    mutant(
        "permits of what nobody wants are given back, in both ways",
        FREE_WHEN_IDLE,
        DROP_STALE,
        test="engine/test_sweep.py::test_items_that_nobody_wants_are_handed_back_if_their_worker_does_not[sqlite-pause]",
    ),
    mutant(
        "the sweep's search for stale permits",
        DROP_STALE,
        test="mutants/test_guards.py::test_a_permit_that_nobody_holds_is_dropped",
        note="the second line behind every way to give one back",
    ),
    mutant(
        "a permit belongs to an item and a lease",
        Edit(
            WORKERS,
            "items.c.id == permits.c.item, items.c.lease == permits.c.lease, RUNNING)",
            "items.c.id == permits.c.item, RUNNING)",
        ),
        test="mutants/test_guards.py::test_a_permit_that_nobody_holds_is_dropped",
    ),
    mutant(
        "a limit is written only when it is new",
        Edit(WORKERS, "if known != size:", "if True:"),
        by="sqlite",
        test="mutants/test_guards.py::test_a_limit_is_written_only_when_it_is_new",
    ),
)
WORKER_MUTANTS = (
    mutant(
        "a stray must be seen twice",
        Edit(
            ATTEMPTS,
            "for item, lease in strays.items() if self._strays.get(item) == lease]",
            "for item, lease in strays.items()]",
        ),
        test="engine/test_attempts.py::test_strays_must_be_seen_twice_and_never_during_a_turn",
    ),
    mutant(
        "no strays while a turn is under way",
        Edit(ATTEMPTS, "strays = {} if turning else {", "strays = {"),
        test="engine/test_attempts.py::test_strays_must_be_seen_twice_and_never_during_a_turn",
    ),
    mutant(
        "what began after the look is left alone",
        Edit(ATTEMPTS, "if attempt.started_at >= asked_at:", "if False:"),
        test="engine/test_attempts.py::test_an_attempt_ends_when_the_database_says_so_and_not_before",
    ),
    mutant(
        "a stray is handed back",
        Edit(WORKER, "        if strays:\n", "        if False:\n"),
        by="sqlite",
        test="engine/test_attempts.py::test_an_item_whose_claim_was_never_answered_is_handed_back_also_by_an_idle_worker[sqlite]",
    ),
    mutant(
        "what another has now is ended here",
        Edit(ATTEMPTS, "if lease != attempt.call.claimed.lease:", "if False:"),
        test="engine/test_attempts.py::test_an_attempt_ends_when_the_database_says_so_and_not_before",
        note="its result would be refused by the lease all the same",
    ),
    mutant(
        "what nobody wants is ended here",
        Edit(ATTEMPTS, "            elif not wanted:\n", "            elif False:\n"),
        test="engine/test_attempts.py::test_an_attempt_ends_when_the_database_says_so_and_not_before",
    ),
    mutant(
        "everything is dropped when a heartbeat came too late",
        Edit(PULSE, "        self._on_lost()\n        with self", "        with self"),
        test="mutants/test_guards.py::test_a_worker_whose_heartbeat_came_too_late_drops_what_runs_and_starts_anew",
        note="also held by the next look, and by the lease",
    ),
    mutant(
        "everything is dropped when no heartbeat gets through",
        Edit(PULSE, "                self._on_lost()\n", ""),
        test="mutants/test_guards.py::test_a_worker_that_can_not_beat_within_its_lease_drops_what_runs",
        note="its results would be refused by the lease all the same",
    ),
    mutant(
        "a worker whose lease was not renewed claims nothing",
        Edit(WORKER, "or self._out_of_time() or not self._pulse.fresh:", "or self._out_of_time():"),
        test="mutants/test_guards.py::test_a_worker_whose_lease_was_not_renewed_in_time_claims_nothing",
    ),
    mutant(
        "a turn is tried again after a lost connection",
        Edit(WORKER, 'if problem.code != "unreachable" or self._stops > 1', 'if problem.code != "" or self._stops > 1'),
        by="sqlite",
    ),
    mutant(
        "one bad result does not hold up the others",
        Edit(TURN, 'if problem.code != "refused" or not settled:', "if problem:"),
        test="engine/test_settlement.py::test_a_result_that_the_database_refuses_fails_its_item_and_no_other",
    ),
    mutant(
        "a job cancelled before its thread took it is passed over",
        Edit(THREADS, "if future.set_running_or_notify_cancel():", "if True:"),
        by="sqlite",
        test="mutants/test_guards.py::test_a_job_cancelled_before_its_thread_took_it_does_not_end_the_thread",
    ),
    mutant(
        "an attempt cancelled before its first step is over too",
        Edit(
            ATTEMPTS,
            "        task = asyncio.get_running_loop().create_task(call.run_async() if in_loop else self._caller.run(call))\n",
            "        async def around() -> Settlement:\n"
            "            try:\n"
            "                return await (call.run_async() if in_loop else self._caller.run(call))\n"
            "            finally:\n"
            "                asyncio.get_running_loop().call_soon(self._ended, attempt, task)\n\n"
            "        task = asyncio.get_running_loop().create_task(around())\n",
        ),
        Edit(ATTEMPTS, "        task.add_done_callback(partial(self._ended, attempt))\n", ""),
        by="sqlite",
        test="mutants/test_guards.py::test_an_attempt_cancelled_before_its_first_step_is_over",
    ),
    mutant(
        "a worker may register twice",
        Edit(WORKERS, 'made.on_conflict_do_update(index_elements=["id"], set_={"seen_at": self.clock.now})', "made"),
        by="sqlite",
        test="mutants/test_guards.py::test_a_worker_may_register_twice",
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
        "who comes second with a key gets the first one's task",
        Edit(SUBMIT, "        if existing is None:\n            raise\n", "        raise\n"),
        test="engine/test_submit.py::test_the_same_key_at_the_same_instant_gives_one_task[sqlite]",
    ),
    mutant(
        "a task and its items in one transaction",
        Edit(
            SUBMIT,
            "number = tx.tasks.add(row, wanted.tags)\n",
            "number = tx.tasks.add(row, wanted.tags)\n    with store.write() as tx:\n",
        ),
        by="sqlite",
        test="engine/test_submit.py::test_a_crash_in_the_middle_leaves_nothing[sqlite-make_items]",
    ),
)
CHECKS = {
    "the state of an item is a known one": "\"state IN ('pending', 'running', 'retrying', 'waiting', 'done', 'failed')\"",
    "what runs, and only that, has a worker": "\"(state = 'running') = (worker IS NOT NULL)\"",
    "what waits for a time, and only that, has one": "\"(state IN ('retrying', 'waiting')) = (available_at IS NOT NULL)\"",
    "what is settled, and only that, has an end": "\"(state IN ('done', 'failed')) = (finished_at IS NOT NULL)\"",
    "what runs or is done had a lease": "\"state NOT IN ('running', 'done') OR lease > 0\"",
}
TASK_CHECKS = {
    "the state of a task is a known one": (
        "\"state IN ('active', 'waiting', 'paused', 'completed', 'partial', 'failed', 'cancelled')\""
    ),
    "what is finished, and only that, has an end": (
        "\"(state IN ('completed', 'partial', 'failed', 'cancelled')) = (finished_at IS NOT NULL)\""
    ),
    "what a compensation leads to is a known state": "\"ending IS NULL OR ending IN ('failed', 'cancelled')\"",
}
ILLEGAL = "OLD.state <> NEW.state AND NOT ("
TRIGGERS = {
    "sqlite": "CREATE TRIGGER {0}_legal_move BEFORE UPDATE OF state ON {0} WHEN ",
    "postgresql": "CREATE TRIGGER {0}_legal_move BEFORE UPDATE OF state ON {0} FOR EACH ROW WHEN (",
}


def without_check(guard: str, condition: str, test: str) -> Mutant:
    """The database takes what contradicts itself."""
    return mutant(f"CHECK: {guard}", Edit(SCHEMA, condition, '"1 = 1"'), test=f"store/test_guards.py::{test}")


def without_trigger(dialect: str, table: str, test: str) -> Mutant:
    """The database takes any change of state."""
    begin = TRIGGERS[dialect].format(table)
    return mutant(
        f"trigger: {table} change their state along the table of moves ({dialect})",
        Edit(CHEAPER, begin + ILLEGAL, f"{begin}1 = 0 AND {ILLEGAL}"),
        test=f"store/test_guards.py::{test}",
    )


DATABASE_MUTANTS = (
    *(
        without_check(guard, condition, "test_an_item_that_contradicts_itself_can_not_be_kept")
        for guard, condition in CHECKS.items()
    ),
    *(
        without_check(guard, condition, "test_a_task_that_contradicts_itself_can_not_be_kept")
        for guard, condition in TASK_CHECKS.items()
    ),
    *(
        without_trigger(
            dialect, table, f"{test}[{dialect}-done]" if table == "items" else f"{test}[{dialect}-completed]"
        )
        for dialect in TRIGGERS
        for table, test in (
            ("items", "test_an_item_changes_its_state_only_along_the_table"),
            ("tasks", "test_a_task_changes_its_state_only_along_the_table"),
        )
    ),
    mutant(
        "unique: the position of an item",
        Edit(
            SCHEMA,
            '"items_order", "items", ["task", "stage", "seq"], unique=True',
            '"items_order", "items", ["task", "stage", "seq"]',
        ),
        test="store/test_guards.py::test_a_position_and_a_key_are_unique_within_a_stage[sqlite]",
    ),
    mutant(
        "unique: the key of an item",
        Edit(
            CHEAPER,
            '"items_key", "items", ["task", "stage", "key"], unique=True',
            '"items_key", "items", ["task", "stage", "key"]',
        ),
        test="store/test_guards.py::test_a_position_and_a_key_are_unique_within_a_stage[sqlite]",
    ),
)
MONEY_MUTANTS = (
    mutant(
        "one asks the same question at a time, among all workers",
        Edit(ANSWERS, "where=sa.and_(answers.c.body.is_(None), abandoned)", "where=answers.c.body.is_(None)"),
        test="store/test_answers.py::test_a_question_is_asked_by_one_at_a_time",
    ),
    mutant(
        "what is answered is not asked again",
        Edit(ANSWERS, "where=sa.and_(answers.c.body.is_(None), abandoned)", "where=abandoned"),
        test="mutants/test_guards.py::test_what_is_answered_is_not_asked_again_however_long_ago_it_was_asked",
    ),
    mutant(
        "what a dead worker began to ask may be asked at once",
        Edit(ANSWERS, "sa.and_(answers.c.worker.is_not(None), answers.c.worker.not_in(alive))", "sa.false()"),
        test="store/test_answers.py::test_what_a_dead_worker_began_to_ask_is_asked_at_once",
    ),
    mutant(
        "only who asks may give up",
        Edit(ANSWERS, "answers.c.key == key, answers.c.asked_by == asker, answers", "answers.c.key == key, answers"),
        test="store/test_answers.py::test_a_question_is_asked_by_one_at_a_time",
    ),
    mutant(
        "one asks the same question at a time, in one worker",
        Edit(DESK, "mine = key not in self._under_way", "mine = True"),
        test="providers/test_asking.py::test_a_question_that_is_under_way_is_not_asked_again",
    ),
    mutant(
        "an answer that is under way is waited for, also when its item was given up",
        Edit(DESK, "await asyncio.shield(self._under_way[key])", "await self._under_way[key]"),
        test="providers/test_asking.py::test_an_answer_that_comes_too_late_is_kept_and_not_paid_again",
    ),
    mutant(
        "an answer is kept, whatever became of the lease",
        Edit(
            DESK,
            "                tx.answers.keep(key, _packed(answer))",
            "                if tx.settling.holds(inquiry.asking.item, inquiry.asking.lease):\n"
            "                    tx.answers.keep(key, _packed(answer))",
        ),
        test="providers/test_asking.py::test_an_answer_that_comes_too_late_is_kept_and_not_paid_again",
    ),
)
MUTANTS = (
    *SETTLING_MUTANTS,
    *CLAIM_MUTANTS,
    *ADVANCE_MUTANTS,
    *RECOVERY_MUTANTS,
    *PERMIT_MUTANTS,
    *WORKER_MUTANTS,
    *SUBMIT_MUTANTS,
    *DATABASE_MUTANTS,
    *MONEY_MUTANTS,
)
