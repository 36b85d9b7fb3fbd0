"""Work is found at once and at a bounded cost, whatever else waits."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa

import fanfold as ff
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.claiming import candidates
from fanfold.engine.worker.claiming.candidates import PAGE, PAGES, Candidates, fairest
from fanfold.engine.worker.claiming.claim import Claimer
from fanfold.engine.worker.claiming.room import Room
from fanfold.engine.worker.loop import Worker
from fanfold.engine.worker.turn import take_turn
from fanfold.model.endings import Ending
from fanfold.store.items.find_work import TOP, Looking, Ready, Served
from fanfold.store.store import Transaction
from tests.engine.live import Live
from tests.installation import HandClock, HandWorker, Installation, number_of

MANY = PAGE * PAGES + 500
"""More tasks than one poll reads."""


def pipeline(limit: int | None = None, concurrency: int | None = None) -> ff.Pipeline:
    made = ff.Pipeline("two")
    made.each(name="narrow", limit=limit, concurrency=concurrency)(lambda item: 1)
    made.each(name="wide")(lambda item: 1)
    return made


def crowd(
    installation: Installation, count: int, state: str = "waiting", stage: str = "narrow", priority: int = 0
) -> None:
    """Many active tasks with one item each; ``waiting`` ones wait for external jobs that take a year."""
    [(before,)] = installation.sql("SELECT count(*) FROM tasks")
    template = installation.client.submit(installation.pipelines[0], items=[0], priority=priority)
    installation.sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count) "
        "INSERT INTO tasks (id, pipeline, title, state, stage, plan, owner, priority, created_at, updated_at) "
        "SELECT 'copy-' || :before || '-' || i, pipeline, title, state, CAST(:stage AS TEXT), plan, owner, priority, "
        "created_at, updated_at FROM n, tasks WHERE id = :id",
        count=count,
        before=before,
        stage=stage,
        id=template.id,
    )
    installation.client.delete(installation.client.cancel(template.id).id)
    copies = f"(SELECT number FROM tasks WHERE id LIKE 'copy-{before}-%')"
    installation.sql(
        "INSERT INTO items (task, stage, seq, state, lease, attempts, failures, crashes) "
        f"SELECT number, stage, 1, 'pending', 0, 0, 0, 0 FROM tasks WHERE number IN {copies}"
    )
    if state == "waiting":
        installation.sql(f"UPDATE items SET state = 'running', worker = 'w', lease = 1 WHERE task IN {copies}")
        installation.sql(
            "UPDATE items SET state = 'waiting', worker = NULL, "
            f"available_at = (SELECT max(created_at) FROM tasks){later(installation)} WHERE task IN {copies}"
        )


def later(installation: Installation) -> str:
    return " + interval '1 year'" if installation.store.database.dialect.name == "postgresql" else " + 31536000"


def submit(installation: Installation, **how: Any) -> int:
    return number_of(installation, installation.client.submit(installation.pipelines[0], items=[1], **how))


class PoliteWorker(HandWorker):
    """A manual worker that spreads its polls over time, as real ones do."""

    def _new_claimer(self) -> Claimer:
        return Claimer(self.store, self.pipelines)


def polite(installation: Installation) -> PoliteWorker:
    return PoliteWorker(installation.store, installation.pipelines, "polite")


def tasks_of(turn: Any) -> set[int]:
    return {one.task for _, one in turn.claimed}


@pytest.mark.parametrize("why", ["limit", "concurrency"])
def test_hundreds_of_tasks_that_wait_for_a_full_stage_hide_nobody(installation: Installation, why: str) -> None:
    installation.know(pipeline(**{why: 1}))
    crowd(installation, 600, "pending", priority=1)
    crowd(installation, 1, "pending", stage="wide")
    worker = installation.worker()
    first = worker.turn(free=8)
    assert len(first.claimed) == 2, "one of the full stage, and the one behind all of them"
    assert {one.stage for _, one in first.claimed} == {"narrow", "wide"}


def test_a_full_stage_costs_few_statements_however_many_wait_for_it(installation: Installation) -> None:
    installation.know(pipeline(limit=1))
    crowd(installation, 400, "pending")
    installation.worker("other").turn(free=1)
    worker = installation.worker()
    for _ in range(3):
        with installation.statements() as sent:
            assert worker.turn(free=8).claimed == []
        asked = [one for one in sent if not one.startswith("BEGIN")]
        assert len(asked) <= 9, asked


def test_a_place_that_is_free_again_goes_to_the_next_task_of_the_full_stage_at_once(installation: Installation) -> None:
    installation.know(pipeline(limit=1))
    crowd(installation, 300, "pending")
    worker, other = polite(installation), installation.worker("other")
    [(_, held)] = worker.turn(free=8).claimed
    assert other.turn(free=8).claimed == []
    for _ in range(3):
        turn = worker.turn([Settlement(held, Ending.FINISH, output="1")], free=8)
        [held] = [one for _, one in turn.claimed if one.stage == "narrow"]


@pytest.mark.parametrize("count", [50, MANY])
def test_a_look_probes_a_bounded_number_of_tasks(installation: Installation, count: int) -> None:
    installation.know(pipeline())
    crowd(installation, count)
    worker = installation.worker()
    with installation.statements() as sent:
        worker.claimer.look(hinted=True, now=True)
    asked = [one for one in sent if not one.startswith("BEGIN")]
    assert len(asked) <= PAGES + 4, asked


def cost(installation: Installation, act: Callable[[Transaction], Any]) -> int:
    """What a question costs the database: steps of SQLite's machine, or scans of indexes on PostgreSQL."""
    steps = [0]

    def step() -> int:
        steps[0] += 1
        return 0

    scans = sa.text("SELECT sum(idx_scan) FROM pg_stat_xact_user_tables WHERE relname IN ('items', 'tasks')")
    with installation.store.read() as tx:
        if installation.store.database.dialect.name == "postgresql":
            before = int(tx.connection.execute(scans).scalar_one() or 0)
            act(tx)
            return int(tx.connection.execute(scans).scalar_one()) - before
        driver: Any = tx.connection.connection.driver_connection
        driver.set_progress_handler(step, 100)
        act(tx)
        driver.set_progress_handler(None, 0)
        return steps[0]


def test_a_page_costs_the_same_beside_many_tasks(installation: Installation) -> None:
    installation.know(pipeline())
    served = Served([("two", "narrow"), ("two", "wide")])

    def page(tx: Transaction) -> None:
        tx.looking.walk(served, dict.fromkeys(served.pairs, TOP), PAGE)
        tx.looking.due(served, 100)
        tx.looking.seconds_to_next()

    crowd(installation, PAGE)
    few = cost(installation, page)
    crowd(installation, MANY)
    assert few > 5
    assert cost(installation, page) <= few * 1.5


@pytest.mark.parametrize("priority", [-1, 0, 5])
def test_a_newcomer_is_found_at_once_beside_thousands_that_wait(installation: Installation, priority: int) -> None:
    installation.know(pipeline())
    crowd(installation, MANY)
    worker = polite(installation)
    assert worker.turn(free=8).claimed == []
    newcomer = submit(installation, priority=priority)
    assert tasks_of(worker.turn(free=8)) == {newcomer}


def test_a_higher_priority_goes_first_though_thousands_of_lower_ones_wait(installation: Installation) -> None:
    installation.know(pipeline())
    crowd(installation, MANY, "pending")
    worker = polite(installation)
    assert len(worker.turn(free=8).claimed) == 8
    urgent = submit(installation, priority=5)
    worker.claimer.look(hinted=True, now=True)
    [(row, _), *_] = worker.turn(free=1).claimed
    assert row.number == urgent


def test_a_task_that_moves_on_is_found_at_once_beside_thousands_that_wait(installation: Installation) -> None:
    installation.know(pipeline())
    crowd(installation, MANY, stage="wide", priority=3)
    worker = polite(installation)
    mine = submit(installation)
    [(_, held)] = worker.turn(free=8).claimed
    turn = worker.turn([Settlement(held, Ending.FINISH, output="1")], free=8)
    assert [(one.task, one.stage) for _, one in turn.claimed] == [(mine, "wide")]


def test_what_comes_back_to_an_old_task_is_found_within_a_lap(installation: Installation) -> None:
    installation.know(pipeline())
    crowd(installation, MANY // 2)
    old = installation.client.submit(installation.pipelines[0], items=[1])
    installation.client.pause(old.id)
    crowd(installation, MANY // 2)
    worker = installation.worker()
    worker.turn(free=8)
    installation.client.resume(old.id)
    looks = [tasks_of(worker.turn(free=8)) for _ in range(4)]
    assert {number_of(installation, old)} in looks


def test_a_run_that_ends_when_nothing_is_left_sees_every_task_first(live: Live) -> None:
    live.know(pipeline())
    crowd(live, MANY, priority=1)
    last = live.client.submit(live.pipelines[0], items=[1], priority=-1)
    Worker(live.pipelines, store=live.store).run(drain=True)
    assert live.client.get(last.id).state == "completed"


def test_due_items_of_paused_tasks_hide_nobody(
    installation: Installation, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(candidates, "TIMED_PAGE", 50)
    installation.know(pipeline())
    crowd(installation, 300)
    installation.sql("UPDATE tasks SET state = 'paused'")
    crowd(installation, 1)
    clock.advance(2 * 31_536_000)
    worker = installation.worker()
    looks = [len(worker.turn(free=8).claimed) for _ in range(10)]
    assert sum(looks) == 1


def test_no_more_tasks_are_known_than_needed_and_every_owner_is_among_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "MOST_KNOWN", 10)
    alice = [Ready(number, "two", "wide", 0, "alice") for number in range(1, 50)]
    bob = [Ready(number, "two", "wide", 0, "bob") for number in range(50, 53)]
    urgent = [Ready(60, "two", "wide", 2, "alice")]
    low = [Ready(2_000, "two", "wide", -1, "carol")]
    assert sorted(fairest([*low, *alice, *bob, *urgent])) == [1, 2, 3, 4, 5, 6, 50, 51, 52, 60]


def test_tasks_whose_work_is_gone_are_forgotten(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "REFRESH_SECONDS", 0.0)
    installation.know(pipeline())
    crowd(installation, 20, "pending")
    known = Candidates(installation.store, Served([("two", "narrow")]))
    known.look(urgent=True)
    assert len(known.tasks) == 20
    assert len(installation.worker("other").claim(15)) == 15
    known.look(urgent=True)
    assert len(known.tasks) == 5


def test_many_small_tasks_are_all_worked_off(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "PAGE", 7)
    monkeypatch.setattr(candidates, "PAGES", 2)
    monkeypatch.setattr(candidates, "MOST_KNOWN", 20)
    installation.know(pipeline(limit=3))
    crowd(installation, 60, "pending")
    crowd(installation, 60, "pending", stage="wide", priority=1)
    worker, held, done = installation.worker(), list[Any](), set[int]()
    for _ in range(400):
        ended = [Settlement(one, Ending.FINISH, output="1") for one in held]
        turn = take_turn(
            worker.store, worker.claimer, worker.pipelines, worker.name, ended, Room(8), in_flight=set(), hinted=True
        )
        done |= {one.claimed.task for one in ended}
        held = [one for _, one in turn.claimed]
        if len(done) == 120 and not held:
            break
    [(left,)] = installation.sql("SELECT count(*) FROM tasks WHERE state = 'active'")
    assert (len(done), left) == (120, 0)


def test_a_machine_that_slept_in_the_middle_of_a_walk_goes_on_soon_and_rests_until_then(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hour of sleep is not a cost of polling: the lap is neither postponed for ten hours nor polled without a pause."""
    monkeypatch.setattr(candidates, "PAGE", 5)
    monkeypatch.setattr(candidates, "PAGES", 1)
    installation.know(pipeline())
    crowd(installation, 20)
    now = [1_000.0]
    monkeypatch.setattr(candidates, "time", SimpleNamespace(monotonic=lambda: now[0]))
    known = Candidates(installation.store, Served([("two", "narrow")]))
    walks: list[int] = []
    walk = Looking.walk

    def slow_walk(*arguments: Any) -> Any:
        walks.append(1)
        now[0] += 3_600.0 if len(walks) == 1 else 0.001
        return walk(*arguments)

    monkeypatch.setattr(Looking, "walk", slow_walk)
    known.look(urgent=True)
    now[0] += 0.5
    known.look(urgent=True)
    assert len(walks) == 1
    assert known.seconds_to_look == pytest.approx(4.5)
    now[0] += 4.5
    assert known.seconds_to_look == 0
    known.look(urgent=True)
    assert len(walks) == 2
