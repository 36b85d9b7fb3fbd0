"""Guards of many tasks at once, and of large fleets."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

MANY, PACE = "fanfold/engine/tasks/submitting/submit_many.py", "fanfold/engine/worker/fleet_pace.py"
WAKE_UPS, SWEEP = "fanfold/engine/worker/wake_ups.py", "fanfold/engine/tasks/recovery/sweep.py"
HERE, FLEET = "engine/test_submit_many.py", "engine/test_fleet_pace.py"
MUTANTS = (
    mutant(
        "of two submissions with one key in a batch, the second finds the first",
        Edit(MANY, '        known.add((one.owner, one.key or ""))\n', ""),
        test=f"{HERE}::test_a_client_submits_thousands_in_few_transactions_and_finds_those_that_exist[sqlite]",
    ),
    mutant(
        "many submissions share a transaction",
        Edit(MANY, "                if made.new_items.fits_one_chunk:\n", "                if False:\n"),
        test=f"{HERE}::test_many_tasks_take_one_transaction[sqlite]",
    ),
    mutant(
        "a submission that is refused stops no other",
        Edit(MANY, "                found[position] = problem\n", "                raise\n"),
        test=f"{HERE}::test_a_task_that_fails_or_exists_stops_no_other[sqlite]",
    ),
    mutant(
        "a large fleet follows a hint one after the other",
        Edit(
            PACE,
            "        if now - self._followed_at >= span and random.random() < SMALL_FLEET / self.workers:\n",
            "        if True:\n",
        ),
        test=f"{FLEET}::test_a_large_fleet_follows_a_hint_one_after_the_other",
    ),
    mutant(
        "a worker of a large fleet follows few hints at once",
        Edit(PACE, "            self._followed_at = now\n", ""),
        test=f"{FLEET}::test_many_hints_do_not_make_a_worker_poll_more_often",
    ),
    mutant(
        "a hint whose turn comes later is followed",
        Edit(
            WAKE_UPS,
            "            self._follows = self._loop.call_later(delay, self._follow_late)\n",
            "            pass\n",
        ),
        test=f"{FLEET}::test_a_worker_of_a_large_fleet_follows_a_hint_when_it_is_its_turn[sqlite]",
    ),
    mutant(
        "idle polls of all workers stay within a budget",
        Edit(PACE, "        return max(usual, shared) * random.uniform(0.75, 1.25)\n", "        return usual\n"),
        test=f"{FLEET}::test_idle_polls_of_all_workers_stay_within_a_budget",
    ),
    mutant(
        "asking for a duty in vain writes nothing",
        Edit(
            SWEEP,
            "            if not tx.recovery.may_take_duty(name, interval):\n                return False\n",
            "            pass\n",
        ),
        test=f"{FLEET}::test_asking_for_a_duty_in_vain_writes_nothing[sqlite]",
    ),
    mutant(
        "nobody waits for a duty that somebody is taking",
        Edit("fanfold/store/items/recover.py", "ran.with_for_update(skip_locked=True)", "ran.with_for_update()"),
        test=f"{FLEET}::test_nobody_waits_for_a_turn_that_somebody_is_taking[postgresql]",
    ),
    mutant(
        "a schedule's first due time is after it was stored",
        Edit(
            "fanfold/engine/schedules.py",
            "                now = tx.time()\n                times",
            "                now = tx.time().replace(hour=0)\n                times",
        ),
        test="engine/test_schedules.py::test_the_first_due_time_is_after_the_schedule_was_stored[sqlite]",
    ),
)
