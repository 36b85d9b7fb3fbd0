"""Slots are shared fairly: given out under a manual clock, with simulated service times."""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

import fanfold as ff
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.claiming.room import Room
from fanfold.engine.worker.turn import take_turn
from fanfold.model.endings import Ending
from fanfold.model.item import Claimed
from fanfold.model.task import Task
from tests.engine.pipelines import batch
from tests.installation import HandClock, HandWorker, Installation

SLOTS = 8
SECONDS = 0.5


class Slots:
    """A worker's slots. A claimed item ends after its service time, on a clock that only this moves."""

    def __init__(
        self,
        installation: Installation,
        monkeypatch: pytest.MonkeyPatch,
        seconds: Callable[[Claimed], float] = lambda one: SECONDS,
        workers: int = 1,
    ) -> None:
        self.now = 1_000.0
        self.given: list[tuple[float, int, int]] = []
        """(when, to which task, by which worker)"""
        self._seconds = seconds
        self._order = count()
        self._workers = [installation.worker() for _ in range(workers)]
        self._running: list[tuple[float, int, int, Claimed]] = []
        clock = SimpleNamespace(monotonic=lambda: self.now)
        for module in ("claim", "candidates"):
            monkeypatch.setattr(f"fanfold.engine.worker.claiming.{module}.time", clock)

    def run(self, seconds: float, happens: Iterable[tuple[float, Callable[[], object]]] = ()) -> None:
        """Let time pass; ``happens`` says what is done meanwhile, and after how many seconds."""
        end, events = (
            self.now + seconds,
            sorted((self.now + at, number, act) for number, (at, act) in enumerate(happens)),
        )
        for place in range(len(self._workers)):
            self._turn(place, [])
        while True:
            moment = min([end, *(one[0] for one in self._running[:1]), *(one[0] for one in events[:1])])
            self.now = moment
            if moment >= end:
                return
            while events and events[0][0] <= moment:
                events.pop(0)[2]()
            over: dict[int, list[Claimed]] = {place: [] for place in range(len(self._workers))}
            while self._running and self._running[0][0] <= moment:
                _, _, place, one = heappop(self._running)
                over[place].append(one)
            for place, ended in over.items():
                self._turn(place, ended)

    def _turn(self, place: int, ended: list[Claimed]) -> None:
        worker = self._workers[place]
        mine = [one for _, _, whose, one in self._running if whose == place]
        running = Counter((row_pipeline(worker), one.stage) for one in mine)
        turn = take_turn(
            worker.store,
            worker.claimer,
            worker.pipelines,
            worker.name,
            [Settlement(one, Ending.FINISH, output="1") for one in ended],
            Room(SLOTS - len(mine), running),
            in_flight={one.task for one in mine},
            hinted=True,
        )
        for _, one in turn.claimed:
            heappush(self._running, (self.now + self._seconds(one), next(self._order), place, one))
            self.given.append((self.now, one.task, place))

    def counts(self, start: float = 0.0, end: float = 1e9, of: Iterable[int] = ()) -> Counter[int]:
        """How many items each task got in some time."""
        found = Counter(task for at, task, _ in self.given if start <= at < end)
        return Counter({task: found[task] for task in of}) if of else found

    def spread(self, tasks: Iterable[int], window: float = 5.0) -> int:
        """The largest difference between any two tasks over any period of ``seconds``."""
        tasks = list(tasks)
        moments = sorted({at for at, _, _ in self.given})
        last = moments[-1] - window
        worst = 0
        for moment in moments:
            if moment <= last:
                got = self.counts(moment, moment + window, tasks).values()
                worst = max(worst, max(got) - min(got))
        return worst


def row_pipeline(worker: HandWorker) -> str:
    [name] = worker.pipelines
    return name


def submit(installation: Installation, items: int, owner: str = "") -> Task:
    return installation.client.submit(installation.pipelines[0], items=range(items), owner=owner)


@pytest.mark.parametrize("service", ["equal", "uneven"])
def test_a_hundred_equal_tasks_get_the_same_within_one_item_over_any_five_seconds(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    installation.know(batch())
    for _ in range(100):
        submit(installation, 20)
    dice = random.Random(1)
    slots = Slots(installation, monkeypatch, lambda one: SECONDS if service == "equal" else dice.uniform(0.1, 0.9))
    slots.run(13)
    assert len(slots.given) >= 13 * SLOTS
    assert slots.spread(range(1, 101)) <= 1
    assert set(slots.counts(of=range(1, 101)).values()) <= {len(slots.given) // 100, len(slots.given) // 100 + 1}


def test_a_newcomer_is_served_within_one_turn_of_the_slots(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation.know(batch())
    for _ in range(100):
        submit(installation, 20)
    slots = Slots(installation, monkeypatch)
    arrivals = [(number * 1.9 + 0.1, lambda: submit(installation, 1)) for number in range(6)]
    slots.run(13, arrivals)
    for number, (at, _) in enumerate(arrivals):
        [got] = [moment for moment, task, _ in slots.given if task == 101 + number]
        assert got - (1_000 + at) <= SECONDS + 0.01, f"newcomer {number}"
    assert slots.spread(range(1, 101)) <= 1


def test_small_tasks_without_end_do_not_starve_a_huge_one(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation.know(batch())
    submit(installation, 200)
    for _ in range(20):
        submit(installation, 1)
    slots = Slots(installation, monkeypatch)
    # As many small tasks arrive as there are slots, so they could use all of them at any time.
    flood = [(number * SECONDS / SLOTS, lambda: submit(installation, 1)) for number in range(SLOTS * 20)]
    slots.run(10, flood)
    per_second = [slots.counts(1_000 + second, 1_001 + second)[1] for second in range(10)]
    assert all(per_second[start : start + 3] != [0, 0, 0] for start in range(7)), per_second
    first = {task: at for at, task, _ in reversed(slots.given)}
    waits = [first[22 + number] - (1_000 + at) for number, (at, _) in enumerate(flood[: SLOTS * 8])]
    assert max(waits) <= 6, "of the small ones, none waits long either"


def test_a_small_task_does_not_wait_behind_huge_ones(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation.know(batch())
    for _ in range(2):
        submit(installation, 200)
    slots = Slots(installation, monkeypatch)
    slots.run(10, [(5.1, lambda: submit(installation, 6))])
    got = [at for at, task, _ in slots.given if task == 3]
    assert len(got) == 6
    assert max(got) - 1_005.1 <= 3 * SECONDS
    assert abs(slots.counts()[1] - slots.counts()[2]) <= 1


def test_an_owner_with_many_tasks_gets_no_more_than_one_with_a_single_task(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation.know(batch())
    for _ in range(30):
        submit(installation, 50, "alice")
    submit(installation, 500, "bob")
    slots = Slots(installation, monkeypatch)
    slots.run(14, [(7.1, lambda: submit(installation, 500, "carol"))])
    for start, owners in ((1_001, 2), (1_009, 3)):
        got = slots.counts(start, start + 5)
        total = sum(got.values())
        assert abs(got[31] - total / owners) <= 1
        assert max(got[number] for number in range(1, 31)) - min(got[number] for number in range(1, 31)) <= 1
    assert min(at for at, task, _ in slots.given if task == 32) <= 1_007.1 + SECONDS


def test_weights_divide_the_slots_between_owners(
    database_url: str, tmp_path: Path, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation = Installation(database_url, tmp_path, clock, owner_weights="alice=3, carol=0.5")
    installation.know(batch())
    for owner in ("alice", "bob", "carol"):
        for _ in range(3):
            submit(installation, 300, owner)
    slots = Slots(installation, monkeypatch)
    slots.run(18)
    got = slots.counts()
    shares = [sum(got[first + number] for number in range(3)) / sum(got.values()) for first in (1, 4, 7)]
    installation.store.close()
    assert shares == pytest.approx([3 / 4.5, 1 / 4.5, 0.5 / 4.5], abs=0.01)
    assert slots.spread((1, 2, 3)) <= 1


def test_two_workers_starve_nobody(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    installation.know(batch())
    for _ in range(40):
        submit(installation, 20)
    dice = random.Random(2)
    slots = Slots(installation, monkeypatch, lambda one: dice.uniform(0.3, 0.7), workers=2)
    slots.run(11)
    assert slots.spread(range(1, 41)) <= 2, "within one item in each of the workers"


def test_what_was_had_before_a_rest_gives_no_credit_and_no_debt(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation.know(batch())
    first, second = submit(installation, 400), submit(installation, 400)
    slots = Slots(installation, monkeypatch)
    installation.client.pause(second.id)
    slots.run(10)
    installation.client.resume(second.id)
    slots.run(5)
    got = slots.counts(1_010.6, 1_015)
    assert abs(got[1] - got[2]) <= 1
    assert installation.client.get(first.id).state == "active"


def test_priorities_stay_strict(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    installation.know(batch())
    for _ in range(20):
        submit(installation, 50)
    slots = Slots(installation, monkeypatch)

    def urgent() -> None:
        installation.client.submit(installation.pipelines[0], items=range(24), priority=1, owner="late")

    slots.run(10, [(3.1, urgent)])
    got = [at for at, task, _ in slots.given if task == 21]
    between = [task for at, task, _ in slots.given if got[0] <= at < got[-1]]
    assert set(between) == {21}
    assert slots.spread(range(1, 21), window=2.5) <= 1


def test_tasks_of_a_full_stage_leave_the_slots_to_others(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ff.Pipeline("two")
    made.each(name="narrow", limit=2)(lambda item: 1)
    made.each(name="wide")(lambda item: 1)
    installation.know(made)
    for _ in range(30):
        submit(installation, 20)
    installation.sql("UPDATE tasks SET stage = 'wide' WHERE number > 20")
    installation.sql("UPDATE items SET stage = 'wide' WHERE task > 20")
    slots = Slots(installation, monkeypatch)
    slots.run(10)
    narrow, wide = slots.counts(of=range(1, 21)), slots.counts(of=range(21, 31))
    assert sum(narrow.values()) == pytest.approx(2 * 10 / SECONDS, abs=3)
    assert sum(wide.values()) == pytest.approx(6 * 10 / SECONDS, abs=7)
    assert max(narrow.values()) - min(narrow.values()) <= 1
    assert max(wide.values()) - min(wide.values()) <= 1
