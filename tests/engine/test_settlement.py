"""A batch of settlements is written in one transaction, and one bad row does not delay the others."""

from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.worker import turn
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.errors import DatabaseProblem
from fanfold.model.endings import Ending
from fanfold.store.items import settle as settling
from fanfold.store.store import Transaction
from tests.engine.pipelines import batch
from tests.installation import HandClock, HandWorker, Installation
from tests.rows import rows_counted


@pytest.fixture
def worker(installation: Installation) -> HandWorker:
    installation.client.submit(installation.know(batch(limit=50)), items=range(7))
    return installation.worker()


def endings(worker: HandWorker) -> list[Settlement]:
    finish, fail, back_off, postpone, release, crash, _ = worker.claim()
    error: dict[str, Any] = {"error_code": "oops", "error_message": "it broke", "error_detail": "line 1"}
    return [
        Settlement(finish, Ending.FINISH, output='"out"', model="m", usage='{"tokens":1}'),
        Settlement(fail, Ending.FAIL, usage='{"tokens":2}', **error),
        Settlement(back_off, Ending.BACK_OFF, delay=5, **error),
        Settlement(postpone, Ending.POSTPONE, delay=5),
        Settlement(release, Ending.RELEASE),
        Settlement(crash, Ending.RECLAIM, **error),
    ]


def test_a_batch_of_all_verbs_is_settled_together(installation: Installation, worker: HandWorker) -> None:
    worker.settle(*endings(worker))
    [task] = installation.client.list()
    assert installation.states(task) == "done failed retrying waiting pending pending running"
    assert [item.failures for item in installation.client.items(task.id)] == [0, 1, 1, 0, 0, 0, 0]
    assert [item.crashes for item in installation.client.items(task.id)] == [0, 0, 0, 0, 0, 1, 0]
    assert len(installation.sql("SELECT * FROM permits")) == 1


def test_every_attempt_that_failed_was_lost_or_cost_money_is_kept(
    installation: Installation, worker: HandWorker
) -> None:
    worker.settle(*endings(worker))
    rows = installation.sql("SELECT item, outcome, worker, error_code, usage FROM attempts ORDER BY item")
    first = rows[0].item
    assert [(row.item - first, row.outcome, row.worker, row.error_code, row.usage) for row in rows] == [
        (0, "done", worker.name, None, '{"tokens":1}'),
        (1, "failed", worker.name, "oops", '{"tokens":2}'),
        (2, "retrying", worker.name, "oops", None),
        (5, "lost", worker.name, "oops", None),
    ]


def test_only_mishaps_of_items_are_events(installation: Installation, worker: HandWorker) -> None:
    worker.settle(*endings(worker))
    [task] = installation.client.list()
    found = [(event.verb, event.item, event.source, event.reason) for event in installation.client.events(task.id)]
    assert found == [
        ("submit", None, None, None),
        ("fail", "2", "running", "it broke"),
        ("fail", "3", "running", "it broke"),
        ("reclaim", "6", "running", "it broke"),
    ]


def test_endings_that_come_too_late_leave_no_trace(installation: Installation, worker: HandWorker) -> None:
    late = endings(worker)
    with installation.store.write() as tx:
        tx.settling.release([{"id": one.claimed.id, "lease": one.claimed.lease} for one in late])
    worker.claim()
    before = installation.rows()
    worker.settle(*late)
    assert installation.rows() == before


def test_a_result_that_the_database_refuses_fails_its_item_and_no_other(
    installation: Installation, worker: HandWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled = with_a_poisoned_result(worker)
    refuse_a_result(monkeypatch, "refused")
    worker.settle(*settled)
    [task] = installation.client.list()
    assert installation.states(task) == "done done failed done done done done"
    failed = installation.client.items(task.id)[2]
    assert (failed.error_code, failed.error_message) == ("unstorable", "The database refused its result.")
    assert installation.client.get(task.id).state == "partial"


def refuse_a_result(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Have the database refuse whatever says that it is poisoned."""
    keep = settling.Settling.put_data

    def refusing(self: settling.Settling, rows: list[dict[str, object]]) -> None:
        if any(row.get("output") == '"poisoned"' for row in rows):
            raise DatabaseProblem("The database refused: bad byte.", code=code)
        keep(self, rows)

    monkeypatch.setattr(settling.Settling, "put_data", refusing)


def with_a_poisoned_result(worker: HandWorker) -> list[Settlement]:
    settled = [Settlement(one, Ending.FINISH, output=f'"{one.seq}"') for one in worker.claim()]
    settled[2] = settled[2]._replace(output='"poisoned"')
    return settled


@pytest.mark.parametrize("code", ["unreachable", "misfit", "damaged"])
def test_a_result_fails_only_for_what_is_in_it(
    installation: Installation, worker: HandWorker, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    settled = with_a_poisoned_result(worker)
    with monkeypatch.context() as trouble:
        refuse_a_result(trouble, code)
        with pytest.raises(DatabaseProblem):
            worker.settle(*settled)
    worker.settle(*settled)
    [task] = installation.client.list()
    assert installation.client.get(task.id).state == "completed"


def test_no_item_fails_for_a_constraint_that_an_upgrade_brought(
    installation: Installation, worker: HandWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled = with_a_poisoned_result(worker)
    refuse_a_result(monkeypatch, "refused")
    upgraded = DatabaseProblem("The database has been upgraded.", code="newer_database")
    monkeypatch.setattr(Transaction, "misfit", lambda tx: upgraded)
    with pytest.raises(DatabaseProblem, match="has been upgraded"):
        worker.settle(*settled)
    [task] = installation.client.list()
    assert "failed" not in installation.states(task)


def test_a_turn_may_be_repeated_after_its_answer_was_lost(installation: Installation, worker: HandWorker) -> None:
    claimed = worker.claim()
    worker.finish(*claimed)
    before = installation.rows()
    worker.finish(*claimed)
    assert installation.rows() == before
    [task] = installation.client.list()
    assert installation.client.get(task.id).state == "completed"


def test_of_two_endings_of_one_item_only_the_one_with_the_newest_lease_counts(
    installation: Installation, worker: HandWorker
) -> None:
    """A worker may hold both after a reset: the stale one must not write its output next to the other's move."""
    first, *_ = worker.claim()
    stale = first._replace(lease=first.lease - 1)
    worker.settle(Settlement(first, Ending.FINISH, output='"new"'), Settlement(stale, Ending.FINISH, output='"old"'))
    assert [row.output for row in installation.sql("SELECT output FROM item_data WHERE made_by IS NOT NULL")] == [
        '"new"'
    ]


@pytest.mark.parametrize("command", ["cancel", "pause"])
@pytest.mark.parametrize("verb", ["finish", "fail", "back_off", "postpone", "hold"])
def test_a_result_that_nobody_wants_any_more_frees_its_permit_at_once(
    installation: Installation, command: str, verb: str
) -> None:
    pipeline = installation.know(batch(limit=2))
    task = installation.client.submit(pipeline, items=range(2))
    worker = installation.worker()
    held = worker.claim()
    getattr(installation.client, command)(task.id)
    installation.client.submit(pipeline, items=range(2))
    assert worker.claim() == []
    ending: dict[str, Any] = {"error_code": "oops", "error_message": "it broke"} if verb in ("fail", "back_off") else {}
    worker.settle(*(Settlement(one, Ending[verb.upper()], usage='{"cost":1.0}', hold="why?", **ending) for one in held))
    assert installation.states(task) == "pending pending"
    assert len(worker.claim()) == 2
    assert installation.client.get(task.id).spending.cost == 2.0, "it was paid all the same"


def test_a_split_that_nobody_wants_any_more_is_handed_back_at_once(installation: Installation) -> None:
    pipeline = ff.Pipeline("cutting")
    pipeline.split(name="cut")(lambda task: [1, 2])
    pipeline.each(name="work")(lambda item: item.input)
    task = installation.client.submit(installation.know(pipeline))
    worker = installation.worker()
    [(row, one)] = worker.turn().claimed
    ending = worker.call(row, one)
    installation.client.pause(task.id)
    worker.settle(ending)
    assert installation.client.get(task.id).stages[0].counts == {"pending": 1}
    assert installation.client.get(task.id).stages[1].total == 0


def test_what_an_attempt_has_spent_counts_also_when_its_lease_is_lost(
    installation: Installation, clock: HandClock
) -> None:
    task = installation.client.submit(installation.know(batch()), items=[1])
    first, second = installation.worker("first"), installation.worker("second")
    [one] = first.claim()
    clock.advance(1_000)
    installation.sweep()
    [again] = second.claim()
    late = Settlement(one, Ending.FINISH, output='"late"', usage='{"cost":1.0}')
    for _ in range(2):  # A turn may be repeated after a lost connection.
        first.settle(late)
    assert installation.states(task) == "running"
    assert installation.client.get(task.id).spending.cost == 1.0
    for _ in range(2):
        second.settle(Settlement(again, Ending.FINISH, output='"new"', usage='{"cost":2.0}'))
    assert installation.client.get(task.id).spending.cost == 3.0
    assert installation.client.result(task.id) == ["new"]


def test_two_endings_of_one_item_in_one_batch_both_count_what_they_have_spent(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=[1])
    worker = installation.worker()
    [one] = worker.claim()
    with installation.store.write() as tx:
        tx.settling.release([{"id": one.id, "lease": one.lease}])
    [again] = worker.claim()
    endings = [
        Settlement(one, Ending.LOST, usage='{"cost":1.0}'),
        Settlement(again, Ending.FINISH, usage='{"cost":2.0}'),
    ]
    worker.settle(*endings)
    assert installation.states(task) == "done"
    assert installation.client.get(task.id).spending.cost == 3.0


def test_many_endings_are_written_in_transactions_of_a_bounded_number_of_rows(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn, "AT_ONCE", 5)
    task = installation.client.submit(installation.know(batch()), items=range(42))
    worker = installation.worker()
    held = worker.claim()
    error: dict[str, Any] = {"error_code": "oops", "error_message": "it broke"}
    with rows_counted(installation.store) as meter:
        worker.settle(*(Settlement(one, Ending.FAIL, usage='{"cost":1.0}', **error) for one in held))
    assert meter.most <= 5 * 6, meter.written
    assert installation.client.get(task.id).failed == 42
