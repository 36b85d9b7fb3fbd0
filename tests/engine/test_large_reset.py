"""Many items are reset in short transactions but visibly at one moment, even if the process dies."""

from collections.abc import Callable
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.many_items import leftovers
from fanfold.engine.tasks.many_items import reset_items as resets
from fanfold.engine.tasks.moving.copy_items import move_on
from fanfold.model.endings import Ending
from fanfold.store.items import reset as resetting
from fanfold.store.items.large import reset_queue as stored_resets
from fanfold.store.items.large.drafts import CHUNK, STALE_SECONDS, Drafts
from tests.installation import HandClock, Installation, number_of
from tests.rows import rows_counted

NOW = "(SELECT created_at FROM tasks WHERE number = 1)"
MANY = 3_000
MOST_ROWS = CHUNK + 50


class PulledPlug(Exception):
    """The process died here."""


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow few items per transaction, so that ten are many."""
    monkeypatch.setattr(resetting, "AT_ONCE", 4)
    for module in (stored_resets, resets, leftovers):
        monkeypatch.setattr(module, "CHUNK", 4)
    monkeypatch.setattr(Drafts.remove_items, "__defaults__", (12,))


class Paid:
    """Two stages of many items and a merge; counts what was called, and says what fails."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.bad: set[int] = set()

    def pipeline(self, **settings: Any) -> ff.Pipeline:
        """The pipeline."""
        made = ff.Pipeline("paid")

        @made.each(**settings)
        def first(item: Any) -> Any:
            self.calls.append(("first", item.input))
            if item.input in self.bad:
                raise ff.Permanent("bad")
            if item.input == 5:
                item.degraded("not quite")
            return f"{item.options.get('say', 'a')}{item.input}"

        @made.each
        def second(item: Any) -> Any:
            self.calls.append(("second", item.input))
            return item.input.upper()

        @made.merge
        def bind(task: Any, results: Any) -> Any:
            return [result.output for result in results]

        return made


def settled(installation: Installation, count: int, state: str, degraded: str | None = None) -> ff.Task:
    """A task with many items of its first stage in a state, as if they had been worked on."""
    task = installation.client.submit(installation.know(Paid().pipeline()), items=range(count))
    with installation.store.write() as tx:
        run = tx.connection.exec_driver_sql
        run("UPDATE items SET state = 'running', worker = 'w', lease = 1, attempts = 1")
        run(f"UPDATE items SET state = '{state}', worker = NULL, finished_at = {NOW}")
        run("UPDATE item_data SET output = '\"a\"'")
        if degraded:
            run("UPDATE items SET degraded = 'not quite'")
        run(f"UPDATE tasks SET state = 'partial', finished_at = {NOW}")
    return task


def in_second(installation: Installation, task: ff.Task) -> None:
    """The second stage has an item for each of the first, all done."""
    with installation.store.write() as tx:
        tx.items.copy(number_of(installation, task), "first", "second")
        run = tx.connection.exec_driver_sql
        run("UPDATE items SET state = 'running', worker = 'w', lease = 1 WHERE stage = 'second'")
        run(f"UPDATE items SET state = 'done', worker = NULL, finished_at = {NOW} WHERE stage = 'second'")
        run("UPDATE tasks SET stage = 'second'")


@pytest.mark.parametrize("what", ["failed", "named", "options", "degraded", "followers", "rerun"])
def test_no_transaction_of_a_large_retry_or_rerun_writes_more_than_a_bounded_number_of_rows(
    installation: Installation, what: str
) -> None:
    task = settled(installation, MANY, "failed" if what == "failed" else "done", degraded=what)
    keys = [str(n + 1) for n in range(MANY)]
    if what in ("followers", "rerun"):
        in_second(installation, task)
    act: dict[str, Callable[[], object]] = {
        "failed": lambda: installation.client.retry(task.id),
        "named": lambda: installation.client.retry(task.id, keys),
        "options": lambda: installation.client.retry(task.id, keys, options={"say": "b"}),
        "degraded": lambda: installation.client.retry(task.id, degraded=True),
        "followers": lambda: installation.client.retry(task.id, keys, stage="first"),
        "rerun": lambda: installation.client.rerun(task.id),
    }
    with rows_counted(installation.store) as meter:
        act[what]()
    assert meter.most <= MOST_ROWS, meter.written
    found = {stage.name: stage.counts for stage in installation.client.get(task.id).stages}
    assert found["first"] == {"pending": MANY}
    assert found["second"] == ({"pending": MANY} if what == "followers" else {})
    for name in ("resets", "reset_items", "drafts"):
        assert installation.rows()[name] == []


def seen(installation: Installation, task: ff.Task) -> tuple[Any, ...]:
    """What people see of a task: counts, lists, cells, reasons."""
    client, number = installation.client, number_of(installation, task)
    found = client.get(task.id)
    listed = [(item.key, item.state, item.degraded, item.attempts) for item in client.items(task.id, stage="first")]
    with installation.store.read() as tx:
        cells = tx.counting.cells(number, "first")
        wide = sum(many for _, state, many in tx.counting.cells(number, "first", 3) if state == "pending")
        kept = [(one.seq, one.state) for one in tx.reading.kept(number, "first", 0)]
        failures = tx.reading.failures(number)
        open_ = tx.reading.first_open(number, "first", 0)
    chosen = [item.key for item in client.items(task.id, stage="first", states=["pending"])]
    others = [item.key for item in client.items(task.id, stage="first", states=["done", "failed"])]
    counts = {stage.name: stage.counts for stage in found.stages}
    told = (found.state, found.stage, found.degraded, found.failed, found.total)
    return told, counts, listed, cells, wide, kept, failures, open_ and open_[0], chosen, others


ACTS: dict[str, Callable[[Installation, ff.Task], object]] = {
    "retry": lambda installation, task: installation.client.retry(task.id),
    "retry of named items": lambda installation, task: installation.client.retry(
        task.id, [str(n) for n in range(1, 10)], stage="first", options={"say": "b"}
    ),
    "rerun": lambda installation, task: installation.client.rerun(task.id),
}


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("act", ACTS)
def test_a_reset_that_dies_between_two_transactions_is_seen_whole_or_not_at_all(
    installation: Installation, clock: HandClock, act: str
) -> None:
    """At each commit in turn: readers see the state before or after, and a sweep completes or undoes it."""
    decided = died = 0
    for commit in range(30):
        paid = Paid()
        paid.bad = {0, 1, 2, 3, 4, 6, 7} if act == "retry" else set()
        task = installation.client.submit(installation.know(paid.pipeline()), items=range(10))
        installation.work()
        before = seen(installation, task)
        with rows_counted(installation.store) as meter:
            meter.before_commit = _die_at(commit)
            try:
                ACTS[act](installation, task)
            except PulledPlug:
                died += 1
        now = seen(installation, task)
        is_decided = installation.client.get(task.id).state == "active"
        decided += is_decided
        assert is_decided or now == before, (commit, now)
        clock.advance(STALE_SECONDS + 1)
        installation.sweep()
        assert seen(installation, task) == now, commit
        assert installation.sql("SELECT * FROM resets") == installation.sql("SELECT * FROM reset_items") == []
        installation.client.delete(task.id) if not is_decided else _goes_on(installation, task, paid, act)
        if not died or commit >= died:
            break
    assert died > 5, "there were several transactions to die in"
    assert decided > 2, "several of them came after the decision"


def _die_at(commit: int) -> Callable[[int], None]:
    def die(number: int) -> None:
        if number == commit:
            raise PulledPlug

    return die


def _goes_on(installation: Installation, task: ff.Task, paid: Paid, act: str) -> None:
    """What was reset is done once more, each item once, and nothing else."""
    paid.calls.clear()
    paid.bad.clear()
    result = installation.completed(task)
    again = {"retry": {0, 1, 2, 3, 4, 6, 7}, "retry of named items": set(range(9)), "rerun": set(range(10))}[act]
    said = "b" if act == "retry of named items" else "a"
    assert sorted(item for stage, item in paid.calls if stage == "first") == sorted(again)
    assert result == [f"{said if n in again else 'a'}{n}".upper() for n in range(10)]


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("act", ACTS)
def test_the_next_command_completes_what_a_dead_one_has_decided(installation: Installation, act: str) -> None:
    paid = Paid()
    task = _decided(installation, paid, act)
    assert installation.rows()["reset_items"] != []
    installation.client.pause(task.id)
    installation.client.retry(task.id, ["1"], stage="first", options={"say": "c"})
    assert installation.rows()["reset_items"] == []
    installation.client.resume(task.id)
    assert installation.completed(task)[0] == "C0"


def _decided(installation: Installation, paid: Paid, act: str, carried_out: int = 0) -> ff.Task:
    """A task whose reset is decided, while only the first chunks of it are carried out: the process has died."""
    left = carried_out
    paid.bad = {0, 1, 2, 3, 4, 6, 7} if act == "retry" else set()
    task = installation.client.submit(installation.know(paid.pipeline()), items=range(10))
    installation.work()
    paid.bad.clear()

    def die_later(number: int) -> None:
        nonlocal left
        if number > 0 and installation.client.get(task.id).state == "active":
            left -= 1
            if left < 0:
                raise PulledPlug

    with rows_counted(installation.store) as meter:
        meter.before_commit = die_later
        with pytest.raises(PulledPlug):
            ACTS[act](installation, task)
    return task


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("act", ACTS)
def test_nothing_is_claimed_and_the_task_does_not_move_while_its_items_are_put_back(
    installation: Installation, clock: HandClock, act: str
) -> None:
    paid = Paid()
    task = _decided(installation, paid, act, carried_out=1)
    paid.calls.clear()
    installation.work()
    assert paid.calls == []
    assert installation.client.get(task.id).stage == "first"
    clock.advance(STALE_SECONDS + 1)
    installation.sweep()
    installation.work()
    assert installation.client.get(task.id).state == "completed"


@pytest.mark.usefixtures("small_chunks")
def test_a_reset_that_was_noted_before_the_task_was_steered_is_not_decided(installation: Installation) -> None:
    task = settled(installation, 20, "done")
    row = _row(installation, task)
    mine = resets._Noting(row, resets.Selection("first", keys=tuple(str(n) for n in range(1, 21))), "mine")
    installation.store.transact(mine.begin)
    installation.client.retry(task.id, [str(n) for n in range(1, 9)])
    assert installation.client.get(task.id).stages[0].counts == {"pending": 8, "done": 12}
    with pytest.raises(resets._Steered):
        mine.note_keys(installation.store)


@pytest.mark.usefixtures("small_chunks")
def test_of_two_people_who_reset_at_once_the_first_is_told(installation: Installation) -> None:
    """The second takes over what the first has noted but not decided."""
    task = settled(installation, 20, "done")
    row = _row(installation, task)
    selection = resets.Selection("first", keys=tuple(str(n) for n in range(1, 21)))
    mine, theirs = (resets._Noting(row, selection, token) for token in ("mine", "theirs"))
    installation.store.transact(mine.begin)
    installation.store.transact(theirs.begin)
    with pytest.raises(ff.IllegalMove, match=r"resetting items of task .* at the same time"):
        mine.note_keys(installation.store)


def _row(installation: Installation, task: ff.Task) -> Any:
    with installation.store.read() as tx:
        return tx.tasks.get(number_of(installation, task))


@pytest.mark.usefixtures("small_chunks")
def test_an_item_that_ran_since_it_was_noted_is_not_done_twice(installation: Installation, clock: HandClock) -> None:
    """It was in a back-off when a person named it, and was claimed before the retry was decided."""
    paid = Paid()
    task = installation.client.submit(installation.know(paid.pipeline()), items=range(10))
    worker = installation.worker()
    claimed = worker.claim()
    worker.settle(*(ff_back_off(one) for one in claimed))
    clock.advance(60)
    row = _row(installation, task)
    noted = resets.note_ahead(
        installation.store, resets.LargeReset(row, resets.Selection("first", keys=tuple(str(n) for n in range(1, 11))))
    )
    assert noted is not None
    [early] = worker.claim(1)
    worker.finish(early, output='"kept"')
    with installation.store.write() as tx:
        tx.tasks.move(row.number, resetting=noted.token)
    found = installation.client.get(task.id).stages[0].counts
    assert found == {"pending": 9, "done": 1}
    resets.finish_reset(installation.store, row.number)
    assert installation.client.get(task.id).stages[0].counts == found
    assert installation.client.items(task.id, stage="first")[early.seq - 1].state == "done"


def ff_back_off(claimed: Any) -> Any:
    """An ending that makes an item wait before it is tried again."""
    from fanfold.engine.worker.attempt.attempt_result import Settlement

    return Settlement(claimed, Ending.BACK_OFF, delay=30.0, counted=True, error_code="e", error_message="e")


@pytest.mark.usefixtures("small_chunks")
def test_an_unknown_or_busy_item_among_many_refuses_the_whole_retry(installation: Installation) -> None:
    task = settled(installation, 20, "done")
    keys = [str(n) for n in range(1, 21)]
    with pytest.raises(ff.NotFound, match="no item nobody"):
        installation.client.retry(task.id, [*keys, "nobody"])
    installation.sql("UPDATE items SET state = 'pending', finished_at = NULL WHERE seq = 18")
    with pytest.raises(ff.IllegalMove, match="pending or running"):
        installation.client.retry(task.id, keys)
    assert installation.client.get(task.id).stages[0].counts == {"done": 19, "pending": 1}
    assert installation.rows()["resets"] == installation.rows()["reset_items"] == []


@pytest.mark.usefixtures("small_chunks")
def test_deleting_a_task_removes_what_a_dead_reset_has_noted(installation: Installation) -> None:
    task = _decided(installation, Paid(), "rerun")
    installation.client.pause(task.id)
    installation.client.delete(task.id)
    assert installation.rows()["resets"] == installation.rows()["reset_items"] == installation.rows()["items"] == []


@pytest.mark.usefixtures("small_chunks")
def test_a_task_does_not_move_on_while_followers_of_its_stage_are_put_back(installation: Installation) -> None:
    """A worker of an older version, which does not know resets, finishes its items before the rest is carried out."""
    task = _decided(installation, Paid(), "retry of named items")
    number = number_of(installation, task)
    assert not resets.finish_reset(installation.store, number, steps=3)
    with installation.store.write() as tx:
        run = tx.connection.exec_driver_sql
        run("UPDATE items SET state = 'running', worker = 'w', lease = 9 WHERE stage = 'first' AND state = 'pending'")
        run(f"UPDATE items SET state = 'done', worker = NULL, finished_at = {NOW} WHERE state = 'running'")
    assert move_on(installation.store, installation.client.pipelines, number, "me") is None
    assert resets.finish_reset(installation.store, number)
    assert move_on(installation.store, installation.client.pipelines, number, "me") == "active"
    assert installation.client.get(task.id).stage == "second"
