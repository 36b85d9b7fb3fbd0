"""Guards inside a worker: its attempts, its heartbeat, its threads."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

SETTLE_BATCH = "fanfold/engine/worker/attempt/settle_batch.py"
WORKERS = "fanfold/store/rows/workers.py"
TURN = "fanfold/engine/worker/turn.py"
PULSE = "fanfold/engine/worker/beside/heartbeat.py"
ATTEMPTS = "fanfold/engine/worker/attempt/attempts.py"
WORKER = "fanfold/engine/worker/loop.py"
THREADS = "fanfold/engine/worker/attempt/threads.py"
MUTANTS = (
    mutant(
        "an item that this worker holds without running it must be seen twice before it is handed back",
        Edit(
            ATTEMPTS,
            "for item, lease in lost_claims.items() if self._lost_claims.get(item) == lease]",
            "for item, lease in lost_claims.items()]",
        ),
        test="engine/test_attempts.py::test_lost_claims_must_be_seen_twice_and_never_during_a_turn",
    ),
    mutant(
        "no items are handed back as not running during a turn",
        Edit(ATTEMPTS, "lost_claims = {} if turning else {", "lost_claims = {"),
        test="engine/test_attempts.py::test_lost_claims_must_be_seen_twice_and_never_during_a_turn",
    ),
    mutant(
        "attempts that began after the check are left alone",
        Edit(ATTEMPTS, "if attempt.started_at >= asked_at:", "if False:"),
        test="engine/test_attempts.py::test_an_attempt_ends_when_the_database_says_so_and_not_before",
    ),
    mutant(
        "an item that this worker holds without running it is handed back",
        Edit(WORKER, "        if lost_claims:\n", "        if False:\n"),
        by="sqlite",
        test="engine/test_attempts.py::test_an_item_whose_claim_was_never_answered_is_handed_back_also_by_an_idle_worker[sqlite]",
    ),
    mutant(
        "an attempt whose item another worker has is ended",
        Edit(ATTEMPTS, "if lease != attempt.call.lease_of(item):", "if False:"),
        test="engine/test_attempts.py::test_an_attempt_ends_when_the_database_says_so_and_not_before",
        note="its result would be refused by the lease anyway",
    ),
    mutant(
        "an attempt whose result is no longer wanted is ended",
        Edit(ATTEMPTS, "            elif not wanted:\n", "            elif False:\n"),
        test="engine/test_attempts.py::test_an_attempt_ends_when_the_database_says_so_and_not_before",
    ),
    mutant(
        "an attempt whose item was claimed again here is set aside",
        Edit(
            ATTEMPTS,
            '                self._end(earlier, "lost", part.claimed.id)\n',
            "                pass\n",
        ),
        test="engine/test_attempts.py::test_an_attempt_that_was_superseded_settles_nothing_and_frees_its_place",
    ),
    mutant(
        "if an item ends twice, the ending with the newest lease counts",
        Edit(SETTLE_BATCH, "everything, batch = batch, _newest(batch)", "everything = batch"),
        test="engine/test_settlement.py::test_of_two_endings_of_one_item_only_the_one_with_the_newest_lease_counts[sqlite]",
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
        test="mutants/test_guards.py::test_a_worker_that_cannot_beat_within_its_lease_drops_what_runs",
        note="its results would be refused by the lease anyway",
    ),
    mutant(
        "a worker whose lease was not renewed claims nothing",
        Edit(WORKER, "and not self._shortages.lasts and self._heartbeat.fresh", "and not self._shortages.lasts"),
        test="mutants/test_guards.py::test_a_worker_whose_lease_was_not_renewed_in_time_claims_nothing",
    ),
    mutant(
        "a turn is tried again after a lost connection",
        Edit(
            "fanfold/engine/worker/database_thread.py",
            "if problem.code != UNREACHABLE or self._gives_up():",
            'if problem.code != "" or self._gives_up():',
        ),
        by="sqlite",
    ),
    mutant(
        "one bad result does not hold up the others",
        Edit(TURN, "if problem.code != REFUSED or not settled:", "if problem:"),
        test="engine/test_settlement.py::test_a_result_that_the_database_refuses_fails_its_item_and_no_other",
    ),
    mutant(
        "a job cancelled before its thread took it is skipped",
        Edit(
            THREADS,
            "if future.set_running_or_notify_cancel():\n                _answer(function, future)\n            del function",
            "if True:\n                _answer(function, future)\n            del function",
        ),
        by="sqlite",
        test="mutants/test_guards.py::test_a_job_cancelled_before_its_thread_took_it_does_not_end_the_thread",
    ),
    mutant(
        "an attempt cancelled before its first step is over too",
        Edit(
            ATTEMPTS,
            "        task = asyncio.get_running_loop().create_task(run, context=context)\n",
            "        async def around() -> Settlement:\n"
            "            try:\n"
            "                return await run\n"
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
    mutant(
        "the files of another database are left alone",
        Edit(
            "fanfold/store/store.py", "        if not keys or not self.other_databases(place):\n", "        if True:\n"
        ),
        by="sqlite",
        test="engine/test_sweep.py::test_a_database_leaves_the_files_of_another_one_in_the_same_folder[sqlite]",
    ),
    mutant(
        "what was spent counts when an item is handed back",
        Edit(
            "fanfold/engine/worker/attempt/call.py",
            "pause=pause, out_of_time=out_of_time, **self._cost())",
            "pause=pause, out_of_time=out_of_time)",
        ),
        by="sqlite",
        test="engine/test_usage.py::test_what_an_attempt_has_spent_counts_also_when_its_item_is_handed_back[sqlite-pause]",
    ),
    mutant(
        "a stage of another kind is not called",
        Edit("fanfold/engine/worker/attempt/call.py", "and planned.kind is not self.stage.kind:", "and False:"),
        test="engine/test_hold.py::test_a_stage_that_changed_its_kind_in_new_code_is_not_called_with_items_of_the_old_one[sqlite]",
    ),
)
