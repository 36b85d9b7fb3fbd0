"""A claim takes the right items, once, and never more than asked."""

import threading

import pytest

from fanfold.model.item import Claimed
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import Task
from fanfold.store.items.find_work import TOP, Ready, Served
from tests.installation import HandClock, Installation, number_of

SERVED = Served([("book", "pages"), ("book", "bind")])
EVERYWHERE = dict.fromkeys(SERVED.pairs, TOP)


def work(_work: object, *_more: object) -> None:
    """A handler."""


@pytest.fixture
def book(installation: Installation) -> Pipeline:
    made = Pipeline("book")
    made.each(name="pages")(work)
    made.merge(name="bind")(work)
    return installation.know(made)


def submit(installation: Installation, count: int = 5, priority: int = 0) -> Task:
    return installation.client.submit(installation.pipelines[0], items=range(count), priority=priority)


def claim(
    installation: Installation, task: Task, count: int, worker: str = "w", *, timed: bool = False
) -> list[Claimed]:
    ready = Ready(number_of(installation, task), "book", "pages", 0)
    with installation.store.write() as tx:
        return tx.claiming.claim(ready, worker, count, timed=timed, timeout=60)


def ready(installation: Installation, size: int = 10) -> list[int]:
    with installation.store.read() as tx:
        return [found.task for found in tx.looking.walk(SERVED, EVERYWHERE, size).found]


def due(installation: Installation, size: int = 10) -> list[int]:
    with installation.store.read() as tx:
        return [found.task for found in tx.looking.due(SERVED, size).found]


def settle(installation: Installation, verb: str, claimed: list[Claimed], **more: float) -> set[int]:
    with installation.store.write() as tx:
        moved: set[int] = getattr(tx.settling, verb)([{"id": one.id, "lease": one.lease, **more} for one in claimed])
        return moved


@pytest.mark.usefixtures("book")
class TestClaim:
    """Items of one stage of many."""

    def test_items_are_claimed_in_order_and_never_more_than_asked(self, installation: Installation) -> None:
        task = submit(installation, 5)
        assert [one.seq for one in claim(installation, task, 2)] == [1, 2]
        assert [one.seq for one in claim(installation, task, 2)] == [3, 4]
        assert [one.seq for one in claim(installation, task, 100)] == [5]
        assert claim(installation, task, 100) == []

    def test_a_claim_never_takes_more_than_asked_of_a_large_stage(self, installation: Installation) -> None:
        task = submit(installation, 3_000)
        for count in (1, 7, 100):
            assert len(claim(installation, task, count)) == count

    def test_a_claimed_item_has_a_worker_a_deadline_and_a_first_lease(
        self, installation: Installation, clock: HandClock
    ) -> None:
        task = submit(installation, 1)
        [one] = claim(installation, task, 1, "w-1")
        assert (one.lease, one.attempts, one.failures, one.input) == (1, 1, 0, "0")
        [row] = installation.sql("SELECT state, worker, attempts FROM items")
        assert tuple(row) == ("running", "w-1", 1)
        [item] = installation.client.items(task.id)
        assert item.started_at == clock.now

    def test_a_lease_only_grows(self, installation: Installation) -> None:
        task = submit(installation, 1)
        leases: list[int] = []
        for verb in ("release", "release", "reclaim", "back_off", "postpone"):
            timed = bool(leases) and installation.states(task) in ("retrying", "waiting")
            [one] = claim(installation, task, 1, timed=timed)
            leases.append(one.lease)
            assert settle(installation, verb, [one], delay=0, counted=1, limit=9)
        assert leases == [1, 2, 3, 4, 5]

    def test_a_lease_is_not_used_again_after_a_rerun(self, installation: Installation) -> None:
        task = submit(installation, 1)
        worker = installation.worker()
        stale = worker.claim()[0]
        installation.client.pause(task.id)
        installation.client.rerun(task.id)
        fresh = worker.claim()[0]
        assert (fresh.id, fresh.lease) != (stale.id, stale.lease)
        assert settle(installation, "finish", [stale]) == set()
        assert settle(installation, "finish", [fresh]) == {fresh.id}

    def test_attempts_are_counted_up_to_what_the_column_holds(self, installation: Installation) -> None:
        """An external job that is polled every second for ten hours must not break the claim."""
        task = submit(installation, 1)
        installation.sql("UPDATE items SET attempts = 32767")
        [one] = claim(installation, task, 1)
        assert (one.attempts, one.lease) == (32767, 1)

    def test_two_workers_never_get_the_same_item(self, installation: Installation) -> None:
        task = submit(installation, 400)
        got: list[list[int]] = [[], []]
        start = threading.Barrier(2)

        def take(mine: list[int], name: str) -> None:
            start.wait()
            while found := claim(installation, task, 7, name):
                mine += [one.id for one in found]

        threads = [threading.Thread(target=take, args=(mine, f"w-{n}")) for n, mine in enumerate(got)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(got[0]) + len(got[1]) == 400
        assert len({*got[0], *got[1]}) == 400

    @pytest.mark.parametrize("command", ["pause", "cancel"])
    def test_a_task_that_is_not_active_gives_no_items(self, installation: Installation, command: str) -> None:
        task = submit(installation)
        getattr(installation.client, command)(task.id)
        assert ready(installation) == []
        assert claim(installation, task, 5) == []

    def test_a_stage_that_the_task_has_left_gives_no_items(self, installation: Installation) -> None:
        task = submit(installation)
        installation.sql("UPDATE tasks SET stage = 'bind'")
        assert claim(installation, task, 5) == []

    def test_an_item_is_due_when_its_time_has_come_and_not_before(
        self, installation: Installation, clock: HandClock
    ) -> None:
        task = submit(installation, 2)
        settle(installation, "back_off", claim(installation, task, 1), delay=10, counted=1)
        settle(installation, "postpone", claim(installation, task, 1), delay=20)
        with installation.store.read() as tx:
            assert tx.looking.seconds_to_next() == pytest.approx(10)
        assert ready(installation) == due(installation) == []
        assert claim(installation, task, 5, timed=True) == []
        clock.advance(10)
        assert due(installation) == [number_of(installation, task)]
        assert [one.seq for one in claim(installation, task, 5, timed=True)] == [1]
        with installation.store.read() as tx:
            assert tx.looking.seconds_to_next() == pytest.approx(10)
        clock.advance(10)
        assert [one.seq for one in claim(installation, task, 5, timed=True)] == [2]
        with installation.store.read() as tx:
            assert tx.looking.seconds_to_next() is None

    def test_the_cursor_skips_what_lies_behind_it(self, installation: Installation) -> None:
        task = submit(installation, 4)
        first = claim(installation, task, 4)
        settle(installation, "release", first)
        with installation.store.write() as tx:
            found = Ready(number_of(installation, task), "book", "pages", 0)
            behind = tx.claiming.claim(found, "w", 9, cursor=first[1].id)
            assert [one.id for one in behind] == [first[2].id, first[3].id]
