"""Guards of items that are claimed ahead of a slot."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

CLAIM, CRASHES, SETTLE, RECOVER = (
    f"fanfold/store/items/{name}.py" for name in ("claim", "crashes", "settle", "recover")
)
AHEAD = "fanfold/engine/worker/claiming/ahead.py"
WAITING = "fanfold/engine/worker/attempt/waiting_items.py"
LOOP = "fanfold/engine/worker/loop.py"
TESTS = "engine/test_claiming_ahead.py"

MUTANTS = (
    mutant(
        "a crash of the worker is not counted for an item that may not have begun",
        Edit(CRASHES, "sa.true() if began else items.c.started_at.is_not(None)", "sa.true()"),
        test=f"{TESTS}::test_what_never_began_is_no_crash_and_what_is_lost_again_is_one",
    ),
    mutant(
        "an item claimed ahead has no start time",
        Edit(CLAIM, '"started_at": None if ahead else clock.now,', '"started_at": clock.now,'),
        test=f"{TESTS}::test_what_never_began_is_no_crash_and_what_is_lost_again_is_one",
    ),
    mutant(
        "an item that was lost is not claimed ahead again",
        Edit(CLAIM, "picked.where(candidate.c.attempts == 0)", "picked"),
        test=f"{TESTS}::test_an_item_that_kills_its_worker_is_poison_although_it_was_claimed_ahead",
    ),
    mutant(
        "a hand-back before the start is no attempt",
        Edit(SETTLE, 'return HANDED_BACK | {"attempts": untried}', "return HANDED_BACK"),
        test=f"{TESTS}::test_an_item_handed_back_before_it_began_shows_no_trace",
    ),
    mutant(
        "a hand-back after the start is an attempt",
        Edit(
            SETTLE,
            "sa.and_(items.c.started_at.is_(None), batch.c.began.is_(None), items.c.attempts > 0)",
            "items.c.attempts > 0",
        ),
        test=f"{TESTS}::test_an_item_handed_back_before_it_began_shows_no_trace",
    ),
    mutant(
        "the start is noted only under the lease",
        Edit(
            SETTLE,
            "items.c.id == batch.c.id, items.c.lease == batch.c.lease, running, items.c.started_at.is_(None))",
            "items.c.id == batch.c.id, running, items.c.started_at.is_(None))",
        ),
        test=f"{TESTS}::test_the_start_of_an_item_is_when_its_handler_began",
    ),
    mutant(
        "the sweep hands back what waits for a task that no longer wants it",
        Edit(RECOVER, "sa.or_(items.c.started_at < then, waited)", "items.c.started_at < then"),
        test=f"{TESTS}::test_the_sweep_hands_back_what_waits_for_a_paused_task",
    ),
    mutant(
        "nothing with a limit across workers is claimed ahead",
        Edit(AHEAD, "stage.kind is Kind.EACH and stage.limit is None and", "stage.kind is Kind.EACH and"),
        test=f"{TESTS}::test_nothing_is_claimed_ahead_that_holds_a_permit_or_a_process",
    ),
    mutant(
        "items claimed ahead respect the slots and the stage's concurrency",
        Edit(
            LOOP,
            "len(self._attempts) < self.concurrency and (at_once is None or self._attempts.running_in(pair) < at_once)",
            "len(self._attempts) < self.concurrency",
        ),
        test=f"{TESTS}::test_slots_and_concurrency_hold_for_what_was_claimed_ahead",
    ),
    mutant(
        "items that wait too long for a slot are handed back",
        Edit(
            WAITING,
            "        self._hand_back(late)\n",
            "        self._queues[late[0].pair].extend(late) if late else None\n",
        ),
        test=f"{TESTS}::test_items_that_wait_too_long_go_to_another_worker",
    ),
    mutant(
        "waiting items of a paused task are handed back",
        Edit(LOOP, "        self._waiting.compare(held, asked_at)\n", ""),
        test=f"{TESTS}::test_waiting_items_are_handed_back_untouched",
    ),
)
