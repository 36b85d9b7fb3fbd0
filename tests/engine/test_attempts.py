"""A worker keeps its running attempts in step with what the database says."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest

from fanfold.engine.handlers.stop import Stop
from fanfold.engine.handlers.work import Work
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.attempt.attempts import Attempts, Held
from fanfold.engine.worker.attempt.batch_call import BatchCall
from fanfold.engine.worker.attempt.time_limit import TimeLimit
from fanfold.model.endings import Ending
from fanfold.store.items.find_work import Ready
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.installation import number_of


class Endless:
    """Runs calls that never end by themselves."""

    unstopped = SimpleNamespace(note=lambda _call: None, clear=lambda _call: None)

    def runs_in_loop(self, _call: Any) -> bool:
        return False

    async def run(self, _call: Any) -> Any:
        await asyncio.sleep(3_600)


def endless(claimed: Any) -> Any:
    """A call that never ends by itself."""
    work: Any = Work.__new__(Work)
    work._stop, work._clock = Stop(), None
    call: Any = SimpleNamespace(
        claimed=claimed,
        row=SimpleNamespace(id="t", pipeline="p"),
        stage=batch().stages["convert"],
        store=None,
        time=TimeLimit(None),
        work=work,
        name="1",
        lease_of=lambda _item: claimed.lease,
        release=lambda _pause=None, out_of_time=None: Settlement(claimed, Ending.RELEASE, out_of_time=out_of_time),
        fail=lambda error: Settlement(claimed, Ending.FAIL, error_message=str(error)),
    )
    call.parts, call.beside = [call], endless
    return call


def outcome(held: Held, look: str) -> tuple[int, list[str]]:
    """How many attempts still run, and how the others ended, if the query came before or after the start."""

    async def scene() -> tuple[int, list[str]]:
        caller: Any = Endless()
        attempts = Attempts(caller, lambda: "worker", lambda: None)
        claimed: Any = SimpleNamespace(id=1, lease=5, task=1, key="1", crashes=0, attempts=1, ahead=False)
        before = time.monotonic()
        attempts.start(endless(claimed))
        await asyncio.sleep(0)
        attempts.compare(held, before if look == "before" else time.monotonic() + 1, turning=False)
        for _ in range(3):
            await asyncio.sleep(0)
        found = len(attempts), [str(one.ending) for one in attempts.take_settled()]
        await attempts.hand_back()
        return found

    return asyncio.run(scene())


@pytest.mark.parametrize(
    ("held", "look", "expected"),
    [
        ({1: (5, True)}, "after", (1, [])),
        ({1: (5, False)}, "after", (0, ["release"])),
        ({1: (6, True)}, "after", (0, [])),
        ({}, "after", (0, [])),
        ({}, "before", (1, [])),
    ],
    ids=["wanted", "no longer wanted", "taken by another", "taken away", "claimed since the look"],
)
def test_an_attempt_ends_when_the_database_says_so_and_not_before(
    held: Held, look: str, expected: tuple[int, list[str]]
) -> None:
    assert outcome(held, look) == expected


def test_lost_claims_must_be_seen_twice_and_never_during_a_turn() -> None:
    caller: Any = Endless()
    attempts = Attempts(caller, lambda: "worker", lambda: None)
    lost = {7: (1, True)}
    assert attempts.compare(lost, 0.0, turning=False) == []
    assert attempts.compare(lost, 0.0, turning=True) == []
    assert attempts.compare(lost, 0.0, turning=False) == []
    assert attempts.compare({7: (2, True)}, 0.0, turning=False) == [], "another lease is another claim"
    assert attempts.compare({7: (2, True)}, 0.0, turning=False) == [{"id": 7, "lease": 2}]


def test_an_item_whose_claim_was_never_answered_is_handed_back_also_by_an_idle_worker(live: Live) -> None:
    pipeline = live.know(batch(gate=True))
    with live.working() as worker:
        live.until(live.client.submit(pipeline, items=["first"], straight_through=True), "completed")
        task = live.client.submit(pipeline, items=["a"])
        ready = Ready(number_of(live, task), "batch", "convert", 0)
        with live.store.write() as tx:
            tx.tasks.move(ready.task, state="active")
            claimed = tx.claiming.claim(ready, worker.id, 1)
        assert len(claimed) == 1
        live.until(task, "completed")
    [item] = live.client.items(task.id)
    assert (item.attempts, item.failures, item.crashes) == (2, 0, 0)


def test_an_attempt_that_was_superseded_settles_nothing_and_frees_its_place() -> None:
    async def scene() -> tuple[int, int, list[int]]:
        caller: Any = Endless()
        attempts = Attempts(caller, lambda: "worker", lambda: None)
        for lease in (5, 6):
            claimed: Any = SimpleNamespace(id=1, lease=lease, task=1, key="1", crashes=0, attempts=1, ahead=False)
            attempts.start(endless(claimed))
        both = len(attempts)
        for _ in range(3):
            await asyncio.sleep(0)
        one = len(attempts)
        await attempts.hand_back()
        assert len(attempts) == 0
        assert not attempts.per_stage()
        return both, one, [settled.claimed.lease for settled in attempts.take_settled()]

    assert asyncio.run(scene()) == (2, 1, [6])


@pytest.mark.parametrize(
    ("held", "running", "unwanted", "ended"),
    [
        ({1: (5, True), 2: (7, True)}, 1, [2], []),
        ({1: (5, True), 2: (5, True), 3: (5, True)}, 1, [], []),
        ({1: (5, False), 2: (5, False), 3: (5, False)}, 0, [1, 2, 3], ["release"] * 3),
        ({}, 0, [1, 2, 3], []),
    ],
    ids=["one taken by another", "all wanted", "none wanted", "all taken away"],
)
def test_a_batch_continues_while_one_of_its_items_is_wanted(
    held: Held, running: int, unwanted: list[int], ended: list[str]
) -> None:
    async def scene() -> tuple[int, list[int], list[str]]:
        caller: Any = Endless()
        attempts = Attempts(caller, lambda: "worker", lambda: None)
        first, *others = (
            SimpleNamespace(id=number, lease=5, task=1, key=str(number), crashes=0, attempts=1, ahead=False)
            for number in (1, 2, 3)
        )
        call = BatchCall(endless(first), others)  # type: ignore[arg-type]
        attempts.start(call)
        attempts.compare({3: (5, True), **held} if running else held, time.monotonic() + 1, turning=False)
        for _ in range(3):
            await asyncio.sleep(0)
        found = [part.claimed.id for part in call.parts if part.work.cancelled]
        settled = [str(one.ending) for one in attempts.take_settled()]
        count = len(attempts)
        await attempts.hand_back()
        return count, found, settled

    assert asyncio.run(scene()) == (running, unwanted, ended)
