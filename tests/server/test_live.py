"""Every watcher gets all updates of their own tasks, and no others, from one reader."""

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest

from fanfold.errors import DatabaseProblem
from fanfold.model.task import Cells, Event, Task
from fanfold.server.watching import listed_tasks, live
from fanfold.server.watching.live import Live
from fanfold.server.watching.memo import Once
from fanfold.server.watching.snapshots import DatabaseLost, ListMoment, Moment, SettledRate, Watcher, estimate
from fanfold.store.store import Store
from tests.cli.samples import words
from tests.installation import Installation
from tests.waiting import eventually


def moment(task: Task, *events: int, changed: dict[int, str] | None = None, letters: str = "pp") -> Moment:
    """What is new, with these events."""
    told = tuple(Event(id_, task.id, task.created_at, "x", "y", None, None, None, None, None) for id_ in events)
    return Moment(task, told, Cells("shout", 2, 1, letters), changed)


@pytest.fixture
def task(sqlite_installation: Installation) -> Task:
    return sqlite_installation.client.submit(words, items=["a", "b"])


def test_a_slow_watcher_gets_both_moments_in_one(task: Task) -> None:
    one, two = moment(task, 1, 2, changed={0: "r"}), moment(replace(task, done=1), 3, changed={0: "d", 1: "r"})
    both = one.followed_by(two)
    assert [event.id for event in both.events] == [1, 2, 3]
    assert (both.changed, both.task) == ({0: "d", 1: "r"}, two.task)
    assert moment(task).followed_by(two).changed is None
    assert one.followed_by(moment(task)).changed is None
    assert one.followed_by(Moment(None)).task is None


def test_a_slow_watcher_of_the_list_gets_both_moments_in_one(task: Task) -> None:
    other = replace(task, id="t-other")
    one = ListMoment({task.id: task, "t-other": other}, frozenset({"t-old"}), {task.id: 1.0, "t-other": 2.0}, 5)
    two = ListMoment({task.id: replace(task, done=1)}, frozenset({"t-other"}), {task.id: 3.0}, 7)
    both = one.followed_by(two)
    assert {id_: found.done for id_, found in both.tasks.items()} == {task.id: 1}
    assert both.gone == {"t-old", "t-other"}
    assert (both.seconds_left[task.id], both.newest) == (3.0, 7)


def test_a_watcher_takes_all_that_is_new_at_once_and_then_the_end(task: Task) -> None:
    async def watch() -> list[Any]:
        watcher: Watcher[Moment] = Watcher()
        for number in range(3):
            watcher.offer(moment(task, number, changed={}))
        await asyncio.sleep(0)
        first = await watcher.next()
        watcher.offer(moment(task, 3, changed={}))
        watcher.close()
        return [first, await watcher.next(), await watcher.next(), await watcher.next()]

    first, last, *ends = asyncio.run(watch())
    assert [event.id for event in first.events] == [0, 1, 2]
    assert [event.id for event in last.events] == [3]
    assert ends == [None, None]


def test_a_watcher_whose_loop_is_gone_does_no_harm(task: Task) -> None:
    async def make() -> Watcher[Moment]:
        return Watcher()

    watcher = asyncio.run(make())
    watcher.offer(moment(task))
    watcher.close()


def test_the_time_that_is_left_follows_the_pace_of_the_last_minute(task: Task) -> None:
    pace = SettledRate()
    busy = replace(task, total=100, done=0, open=100, started_at=None)
    assert pace.seconds_left(busy, 0.0) is None
    assert pace.seconds_left(replace(busy, done=10, open=90), 10.0) == pytest.approx(90)
    assert pace.seconds_left(replace(busy, done=40, open=60), 70.0) == pytest.approx(60 * 60 / 30)
    assert pace.seconds_left(replace(busy, done=5, open=95), 80.0) is None
    assert pace.seconds_left(replace(busy, done=6, open=94, stage="join"), 90.0) is None
    assert estimate(0, 5, 10) is None


def test_a_value_is_made_once_for_the_same_object() -> None:
    made: list[Any] = []
    once: Once[int] = Once(most=3)

    def get(about: object, *seen: object) -> int:
        def make() -> int:
            made.append(about)
            return len(made)

        return once.get(about, seen, make)

    one, same = [1], [1]
    assert (get(one), get(one), get(same), get(one, "zh"), get(one)) == (1, 1, 2, 3, 1)
    others = [get([number]) for number in range(3)]
    assert (others, get(one)) == ([4, 5, 6], 7)


async def moments_of(reader: Live, watcher: Watcher[Any], count: int) -> list[Any]:
    """The next updates, each after a poll."""
    found = []
    for _ in range(count):
        reader._look(0.0)
        found.append(await asyncio.wait_for(watcher.next(), 60))
    return found


def test_a_burst_of_events_does_not_stop_the_reader(installation: Installation) -> None:
    """More events of one task than the reader looks back for late ones."""
    task = installation.client.submit(words, items=["a"])

    def burst(count: int) -> None:
        with installation.store.write() as tx:
            number = tx.tasks.resolve(task.id).number
            tx.events.add([{"task": number, "actor": "x", "verb": "y"}] * count)

    async def watch() -> list[int]:
        reader = Live(installation.store)
        watcher = reader.watch(task.id)
        await moments_of(reader, watcher, 1)
        counts = []
        for count in (listed_tasks.LATE_EVENTS + 200, 1, 2):
            burst(count)
            seen = 0
            while seen < count:
                (found,) = await moments_of(reader, watcher, 1)
                seen += len(found.events)
            counts.append(seen)
        return counts

    assert asyncio.run(watch()) == [listed_tasks.LATE_EVENTS + 200, 1, 2]


def test_an_event_that_is_committed_late_is_told_once(installation: Installation) -> None:
    task = installation.client.submit(words, items=["a"])
    late = "INSERT INTO events (id, task, at, actor, verb) SELECT :id, number, created_at, 'x', :verb FROM tasks"

    async def watch() -> list[str]:
        reader = Live(installation.store)
        watcher, lists = reader.watch(task.id), reader.watch_list(None)
        await moments_of(reader, watcher, 1)
        await lists.next()
        found = []
        for id_ in (500, 499, 501):
            installation.sql(late, id=id_, verb=f"e{id_}")
            (new,) = await moments_of(reader, watcher, 1)
            found += [event.verb for event in new.events]
        return found

    assert asyncio.run(watch()) == ["e500", "e499", "e501"]


def test_the_cells_that_changed_are_told_by_their_position(installation: Installation) -> None:
    task = installation.client.submit(words, items=["a", "bad", "c"])

    async def watch() -> list[Moment]:
        reader = Live(installation.store)
        watcher = reader.watch(task.id)
        first = await moments_of(reader, watcher, 1)
        worker = installation.worker()
        held = await asyncio.to_thread(lambda: worker.turn(free=2).claimed)
        running = await moments_of(reader, watcher, 1)
        await asyncio.to_thread(lambda: worker.settle(*(worker.call(row, one) for row, one in held)))
        return first + running + await moments_of(reader, watcher, 1)

    first, running, settled = asyncio.run(watch())
    assert (first.cells.letters, first.changed) == ("ppp", None)  # type: ignore[union-attr]
    assert running.changed == {0: "r", 1: "r"}
    assert settled.changed == {0: "d", 1: "f"}


def test_nothing_is_told_when_nothing_is_new(installation: Installation) -> None:
    task = installation.client.submit(words, items=["a"])
    installation.client.pause(task.id)

    async def watch() -> bool:
        reader = Live(installation.store)
        watcher, lists = reader.watch(task.id), reader.watch_list(None)
        await moments_of(reader, watcher, 1)
        await lists.next()
        reader._look(0.0)
        await asyncio.sleep(0)
        return watcher._news.is_set() or lists._news.is_set()

    assert not asyncio.run(watch())


def test_an_owner_is_told_only_of_what_is_theirs(installation: Installation) -> None:
    mine = installation.client.submit(words, items=["a"], owner="ann")
    other = installation.client.submit(words, items=["a"], owner="bob")

    async def watch() -> list[ListMoment]:
        reader = Live(installation.store)
        ann, everyone = reader.watch_list("ann"), reader.watch_list(None)
        first = [await moments_of(reader, ann, 1), [await everyone.next()]]
        for task in (mine, other):
            installation.client.cancel(task.id)
            installation.client.delete(task.id)
        return [found for some in [*first, await moments_of(reader, ann, 1), [await everyone.next()]] for found in some]

    ann, everyone, ann_after, everyone_after = asyncio.run(watch())
    assert (set(ann.tasks), set(everyone.tasks)) == ({mine.id}, {mine.id, other.id})
    assert ann_after.gone == {mine.id}
    assert everyone_after.gone == {mine.id, other.id}


def test_a_list_is_told_first_how_things_are_whoever_came_before(installation: Installation) -> None:
    tasks = [installation.client.submit(words, items=["a"]) for _ in range(2)]
    installation.client.pause(tasks[0].id)

    async def watch() -> list[set[str]]:
        reader = Live(installation.store)
        early = reader.watch_list(None)
        found = await moments_of(reader, early, 1)
        late = reader.watch_list(None)
        return [set(one.tasks) for one in [*found, *await moments_of(reader, late, 1)]]

    assert asyncio.run(watch()) == [{task.id for task in tasks}] * 2


def test_only_so_many_tasks_are_remembered_for_lists(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listed_tasks, "REMEMBERED", 3)
    tasks = [installation.client.submit(words, items=["a"]) for _ in range(6)]
    for task in tasks[:5]:
        installation.client.pause(task.id)

    async def watch() -> tuple[set[str], set[str]]:
        reader = Live(installation.store)
        watcher = reader.watch_list(None, [tasks[0].id])
        unshown = reader.watch_list(None)
        await moments_of(reader, unshown, 1)
        remembered = set(reader._listed._known)
        installation.client.cancel(tasks[1].id)
        (found,) = await moments_of(reader, unshown, 1)
        reader.unwatch_list(watcher)
        return remembered, set(found.tasks)

    remembered, changed = asyncio.run(watch())
    assert {tasks[0].id, tasks[5].id} <= remembered
    assert len(remembered) == 3
    assert changed == {tasks[1].id}


def test_a_reader_that_nobody_watches_forgets(sqlite_installation: Installation, task: Task) -> None:
    async def watch() -> Live:
        reader = Live(sqlite_installation.store)
        watcher, lists = reader.watch(task.id), reader.watch_list(None)
        await moments_of(reader, watcher, 1)
        reader.unwatch(task.id, watcher)
        reader.unwatch_list(lists)
        reader._look(0.0)
        return reader

    reader = asyncio.run(watch())
    assert (reader.watchers, reader._listed._known, reader._tasks, reader.looks) == (0, {}, {}, 1)


def test_who_comes_after_the_end_is_told_that_it_is_over(sqlite_installation: Installation, task: Task) -> None:
    async def watch() -> list[Any]:
        reader = Live(sqlite_installation.store)
        before = reader.watch(task.id)
        reader.close()
        after, lists = reader.watch(task.id), reader.watch_list(None)
        return [await watcher.next() for watcher in (before, after, lists)]

    assert asyncio.run(watch()) == [None, None, None]


def test_a_database_that_is_away_is_looked_at_again(
    sqlite_installation: Installation, task: Task, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from fanfold.errors import DatabaseProblem

    reader = Live(sqlite_installation.store)
    real, failures = reader._look, [1]

    def look(now: float) -> None:
        if failures:
            failures.pop()
            raise DatabaseProblem("The database is away.")
        real(now)

    monkeypatch.setattr(reader, "_look", look)

    async def watch() -> Any:
        watcher = reader.watch(task.id)
        return await asyncio.wait_for(watcher.next(), 60)

    reader.start()
    found = asyncio.run(watch())
    reader.close()
    reader.join()
    assert found.task.id == task.id
    assert "Trying again in" in caplog.text
    eventually(lambda: not reader._thread.is_alive())


def followed(reader: Live, task_id: str, end: threading.Event) -> list[Any]:
    """What a follower is told about the database, until ``end`` and one more message; nothing if an update comes first."""

    async def follow() -> list[Any]:
        watcher = reader.watch(task_id)
        said: list[Any] = []
        async with asyncio.timeout(60):
            async for new in reader.follow(watcher):
                if isinstance(new, DatabaseLost):
                    said.append(new.since)
                    end.set()
                if not said or said[-1] is None:
                    reader.close()
        return said

    reader.start()
    try:
        return asyncio.run(follow())
    finally:
        reader.close()
        reader.join()


def test_watchers_are_told_that_the_database_is_lost_and_back(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = installation.client.submit(words, items=["a"])
    monkeypatch.setattr(live, "CHECK_SECONDS", 0.05)
    reader, told, real = Live(installation.store), threading.Event(), Store.read

    def away(store: Store) -> Any:
        if told.is_set():
            return real(store)
        raise DatabaseProblem("It is away.", code="unreachable")

    monkeypatch.setattr(Store, "read", away)
    since, back = followed(reader, task.id, told)
    assert since is not None
    assert back is None
    assert reader.lost_since is None


def test_a_look_that_does_not_end_is_a_lost_database(
    sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = sqlite_installation.client.submit(words, items=["a"])
    monkeypatch.setattr(live, "SILENT_SECONDS", 0.1)
    reader, told, real = Live(sqlite_installation.store), threading.Event(), Store.read

    def silent(store: Store) -> Any:
        told.wait(45)
        return real(store)

    monkeypatch.setattr(Store, "read", silent)
    said = followed(reader, task.id, told)
    assert [since is None for since in said] == [False, True]


def test_a_database_that_was_silent_for_long_is_looked_at_again_soon() -> None:
    """Updates resumed only after five times the outage: ten minutes after two minutes without an answer."""
    assert live.pause_after(0.001) == live.INTERVAL_SECONDS
    assert live.pause_after(1.0) == live.LOAD
    assert live.pause_after(120.0) == live.SILENT_SECONDS
