"""Guards of the sweep: what is taken back from whom, and when."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

SETTLING = "fanfold/store/items/settle.py"
RECOVERY = "fanfold/store/items/recover.py"
WORKERS = "fanfold/store/rows/workers.py"
SWEEP = "fanfold/engine/tasks/recovery/sweep.py"
DEAD = "workers.c.id == items.c.worker, workers.c.seen_at > self.clock.before(lease_seconds)"
MUTANTS = (
    mutant(
        "a worker without heartbeats is dead",
        Edit(RECOVERY, DEAD, "workers.c.id == items.c.worker"),
        by="sqlite",
        test="engine/test_sweep.py::test_items_of_a_worker_that_is_not_heard_of_run_again",
    ),
    mutant(
        "a worker with heartbeats keeps its items",
        Edit(RECOVERY, "self._reclaim(~sa.exists(alive.correlate(items)), limit)", "self._reclaim(sa.true(), limit)"),
        test="engine/test_sweep.py::test_a_worker_that_is_heard_of_in_time_keeps_its_items",
    ),
    mutant(
        "only a worker whose process is gone is removed before its lease expires",
        Edit(SWEEP, "if worker.alive and is_dead(worker.host, worker.pid)", "if worker.alive"),
        test="engine/test_sweep.py::test_a_worker_of_this_machine_whose_process_is_gone_need_not_be_waited_for",
    ),
    mutant(
        "“is finished” looked at again under the lock, before a task is pruned",
        Edit(
            "fanfold/engine/tasks/steering/delete.py",
            "if row is None or row.state not in FINISHED_TASKS or not",
            "if row is None or not",
        ),
        test="mutants/test_guards.py::test_a_task_that_is_begun_again_while_it_is_to_be_pruned_stays",
    ),
    mutant(
        "“is running” in reclaiming",
        Edit(RECOVERY, "where(RUNNING, self._some(gone))", "where(self._some(gone))"),
        Edit(RECOVERY, "sa.select(items.c.id).where(RUNNING, condition)", "sa.select(items.c.id).where(condition)"),
        by="sqlite",
        test="mutants/test_guards.py::test_what_is_done_stays_done_whatever_its_task_wants",
    ),
    mutant(
        "the deadline of an item whose worker hangs",
        Edit(RECOVERY, "items.c.deadline_at < self.clock.before(grace_seconds), limit", "sa.false(), limit"),
        test="engine/test_sweep.py::test_an_item_far_past_its_deadline_is_taken_from_a_worker_that_hangs",
    ),
    mutant(
        "the grace time after the deadline",
        Edit(
            RECOVERY,
            "items.c.deadline_at < self.clock.before(grace_seconds), limit",
            "items.c.deadline_at < self.clock.now, limit",
        ),
        test="engine/test_sweep.py::test_an_item_far_past_its_deadline_is_taken_from_a_worker_that_hangs",
    ),
    mutant(
        "only items that are no longer wanted are taken back from live workers",
        Edit(
            RECOVERY,
            "sa.and_(sa.or_(items.c.started_at < then, waited), ~sa.exists(standing.correlate(items)))",
            "sa.or_(items.c.started_at < then, waited)",
        ),
        test="engine/test_sweep.py::test_a_worker_that_is_heard_of_in_time_keeps_its_items",
    ),
    mutant(
        "“is running” in taking back items that are no longer wanted",
        Edit(RECOVERY, "where(RUNNING, self._some(stale))", "where(self._some(stale))"),
        Edit(RECOVERY, "sa.select(items.c.id).where(RUNNING, condition)", "sa.select(items.c.id).where(condition)"),
        by="sqlite",
        test="mutants/test_guards.py::test_what_is_done_stays_done_whatever_its_task_wants",
    ),
    mutant(
        "the time a worker has to hand back items that are no longer wanted",
        Edit(RECOVERY, "sa.and_(sa.or_(items.c.started_at < then, waited), ~", "sa.and_(~"),
        test="engine/test_sweep.py::test_items_that_nobody_wants_are_handed_back_if_their_worker_does_not[sqlite-pause]",
    ),
    mutant(
        "items that are no longer wanted are taken back at all",
        Edit(RECOVERY, "where(RUNNING, self._some(stale))", "where(RUNNING, stale, sa.false())"),
        test="engine/test_sweep.py::test_items_that_nobody_wants_are_handed_back_if_their_worker_does_not[sqlite-pause]",
    ),
    mutant(
        "one sweep in each interval",
        Edit(RECOVERY, "        if -ahead >= interval:\n", "        if True:\n"),
        test="engine/test_sweep.py::test_one_of_many_takes_a_duty_in_each_interval[sqlite]",
    ),
    mutant(
        "a clock that was set back delays nothing",
        Edit(
            SWEEP,
            "        move_back(store, problem.seconds)\n",
            "        store.transact(lambda tx: tx.recovery.forget_the_future())\n",
        ),
        by="sqlite",
        test="chaos/test_clock.py::test_what_waits_for_a_time_is_moved_back_with_the_clock[sqlite]",
    ),
    mutant(
        "a lease that begins in the future begins now",
        Edit(SWEEP, "    tx.recovery.see_no_future()\n", ""),
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
        Edit(RECOVERY, "sa.and_(ACTIVE, is_over)", "is_over"),
        test="mutants/test_guards.py::test_only_an_active_task_whose_stage_is_over_is_left_to_be_closed",
        note="also held by the look under the lock; without it what is over fills the batch of the sweep",
    ),
    mutant(
        "“nothing is open” in the search for what nobody closed",
        Edit(RECOVERY, "sa.and_(ACTIVE, is_over)", "ACTIVE"),
        test="mutants/test_guards.py::test_only_an_active_task_whose_stage_is_over_is_left_to_be_closed",
        note="also held by the look under the lock",
    ),
    mutant(
        "an item that crashes its worker too often fails",
        Edit("fanfold/store/items/crashes.py", "counts, in_a_row >= sa.func", "counts, -in_a_row >= sa.func"),
        test="engine/test_sweep.py::test_an_item_that_takes_its_worker_down_again_and_again_fails_as_poison",
    ),
    mutant(
        "a crash uses up no retry",
        Edit(
            "fanfold/store/items/crashes.py",
            '"crashes": counted(items.c.crashes, sa.case((counts, 1), else_=0)),',
            '"crashes": counted(items.c.crashes, 1),\n        "failures": items.c.failures + 1,',
        ),
        by="sqlite",
        test="store/test_settling.py::test_only_an_error_uses_up_a_retry",
    ),
    mutant(
        "a refusal that does not count uses up no retry",
        Edit(SETTLING, "counted(items.c.failures, batch.c.counted)", "counted(items.c.failures, 1)"),
        by="sqlite",
        test="store/test_settling.py::test_only_an_error_uses_up_a_retry",
    ),
)
