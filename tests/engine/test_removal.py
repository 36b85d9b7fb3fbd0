"""A removed task is gone at once, and everything that belonged to it soon, whatever happens meanwhile."""

import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import fanfold as ff
from fanfold.engine.tasks.steering import delete as removal
from fanfold.engine.worker.attempt.call import Call
from fanfold.store.rows.removal import CHUNK, SOME_OF_TASK, RemovalPlace
from fanfold.store.schema import tables
from fanfold.store.schema.statements import _prepare
from tests.engine.pipelines import batch
from tests.installation import HandClock, Installation, number_of
from tests.rows import rows_counted
from tests.waiting import eventually

OF_TASK = [
    table for table in tables.metadata.sorted_tables if "task" in table.c and table.c.task.type.python_type is int
]
OF_ITEM = [
    table for table in tables.metadata.sorted_tables if "item" in table.c and table.c.item.type.python_type is int
]


def leftovers(installation: Installation) -> dict[str, int]:
    """How many rows of each table belong to a missing task or item."""
    numbers, ids = sa.select(tables.tasks.c.number), sa.select(tables.items.c.id)
    found: dict[str, int] = {}
    with installation.store.read() as tx:
        for table in OF_TASK:
            lost = sa.select(sa.func.count()).select_from(table).where(table.c.task.not_in(numbers))
            found[table.name] = tx.connection.execute(lost).scalar_one()
        for table in OF_ITEM:
            lost = sa.select(sa.func.count()).select_from(table).where(table.c.item.not_in(ids))
            found[table.name] = found.get(table.name, 0) + tx.connection.execute(lost).scalar_one()
    return {name: count for name, count in found.items() if count}


def full(installation: Installation, items: int) -> ff.Task:
    """A finished task with files, attempts, emitted pieces and calls."""

    def handler(item: Any) -> Any:
        item.emit(item.input)
        item.used(model="m", cost=0.1)
        if item.seq == 1 and item.attempt == 1:
            raise ff.Temporary("again", after=0)
        return item.write("page.txt", str(item.input)) if item.seq < 4 else item.input

    known = [pipeline for pipeline in installation.pipelines if pipeline.name == "full"]
    pipeline = known[0] if known else installation.know(batch("full", handler=handler, retry=ff.Retry(limit=1)))
    task = installation.client.submit(pipeline, items=range(items), tags=["old"])
    installation.completed(task)
    return task


def test_a_small_task_is_removed_with_everything(installation: Installation) -> None:
    task = full(installation, 5)
    installation.client.delete(task.id)
    assert installation.blobs() == []
    assert leftovers(installation) == {}
    assert installation.sql("SELECT count(*) FROM events")[0][0] == 0


def test_a_task_without_files_takes_one_transaction(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a"])
    installation.completed(task)
    with rows_counted(installation.store) as meter:
        installation.client.delete(task.id)
    assert meter.commits == 1
    assert leftovers(installation) == {}


def test_a_large_task_is_removed_in_short_transactions(installation: Installation) -> None:
    task = full(installation, 3_000)
    with rows_counted(installation.store) as meter:
        installation.client.delete(task.id)
    assert meter.most <= CHUNK + 20, meter.written
    assert leftovers(installation) == {}


def test_a_transaction_of_a_removal_is_bounded_over_all_tables_together(installation: Installation) -> None:
    """An item may have any number of external jobs; they count like everything else."""
    task = full(installation, 300)
    with installation.store.write() as tx:
        one = tx.connection.execute(sa.select(tables.items.c.id, tables.items.c.task)).first()
        assert one is not None
        times = {"intended_at": tx.clock.now, "updated_at": tx.clock.now}
        row = {"item": one.id, "task": one.task, "lease": 1, "key": "k", "state": "started"}
        for number in range(2 * CHUNK):
            job = sa.insert(tables.externals).values(**row, name=f"job-{number}", **times)
            tx.connection.execute(job)
    with rows_counted(installation.store) as meter:
        installation.client.delete(task.id)
    assert meter.most <= CHUNK + 20, meter.written
    assert leftovers(installation) == {}


@pytest.mark.parametrize("commits", [1, 2, 4, 6])
def test_a_removal_that_is_cut_off_is_gone_at_once_and_finished_by_a_sweep(
    installation: Installation, commits: int
) -> None:
    task = full(installation, 2_400)
    with rows_counted(installation.store) as meter:

        def cut_off(number: int) -> None:
            if number == commits:
                raise KeyboardInterrupt

        meter.before_commit = cut_off
        with pytest.raises(KeyboardInterrupt):
            installation.client.delete(task.id)
    with pytest.raises(ff.NotFound):
        installation.client.get(task.id)
    assert installation.client.list() == []
    assert leftovers(installation), "there is something left to do"
    installation.sweep()
    assert leftovers(installation) == {}
    assert installation.blobs() == []


def test_a_step_that_is_rolled_back_leaves_nothing_behind(installation: Installation) -> None:
    """The place where the next step starts has moved on although nothing was removed."""
    task = full(installation, 40)
    store, number = installation.store, number_of(installation, task)
    with store.write() as tx:
        tx.removal.begin(number)
    place = RemovalPlace()
    with suppress(KeyboardInterrupt), store.write() as tx:
        tx.removal.remove_some(number, 20, place)
        raise KeyboardInterrupt
    assert (place.stage, place.seq) != ("", 0)
    assert leftovers(installation)["items"] == 40
    while not store.transact(lambda tx: tx.removal.remove_some(number, 20, place)):
        pass
    assert leftovers(installation).keys() <= {"blobs", "deleted_tasks"}


def test_a_step_reads_an_index_of_the_task_and_no_other_tasks(installation: Installation) -> None:
    """In order of their ids, PostgreSQL would read the items of all earlier tasks for each step."""
    pipeline = installation.know(batch("many"))
    earlier, task = (installation.client.submit(pipeline, items=range(count)) for count in (6_000, 2_000))
    assert earlier.id != task.id
    wanted = {"of": number_of(installation, task), "stage_before": "", "seq_before": 0, "most": 100}
    with installation.store.write() as tx:
        is_sqlite = tx.connection.dialect.name == "sqlite"
        tx.connection.exec_driver_sql("ANALYZE")
        prepared = _prepare(SOME_OF_TASK, tx.connection.dialect)
        asked = ("EXPLAIN QUERY PLAN " if is_sqlite else "EXPLAIN ") + prepared.text
        plan = "\n".join(str(row) for row in tx.connection.exec_driver_sql(asked, prepared.parameters(wanted)))
    assert "items_order" in plan, plan
    assert "Sort" not in plan, plan
    assert "TEMP B-TREE" not in plan, plan


class Busy:
    """Handlers that write in a tight loop until they are told to stop."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.written = 0
        self.surprises: list[BaseException] = []
        self.pipeline = installation.know(batch("busy", handler=self.write))
        self.tasks = [installation.client.submit(self.pipeline, items=range(3)) for _ in range(4)]
        worker = installation.worker()
        claimed = worker.turn(free=12).claimed
        self.calls = [Call(installation.store, self.pipeline, self.pipeline.stages["convert"], *one) for one in claimed]
        self.threads = [threading.Thread(target=self.run, args=(call,)) for call in self.calls]
        for thread in self.threads:
            thread.start()
        eventually(lambda: self.written > 40, 120)

    def write(self, item: Any) -> None:
        while True:
            item._progress_at = -1e9
            if item._streamed is not None:
                item._streamed.written_at = -1e9
            item.write("page.txt", "x")
            item.emit("piece")
            item.progress(0.5, "half")
            item.remember(job=1)
            self.written += 1

    def run(self, call: Call) -> None:
        try:
            call.stage.handler(call.work)
        except ff.LeaseLost:
            return
        except BaseException as error:
            self.surprises.append(error)


@pytest.fixture
def busy(database_url: str, tmp_path: Path) -> Iterator[Busy]:
    installation = Installation(database_url, tmp_path, None)
    yield Busy(installation)
    installation.store.close()


def test_handlers_that_write_while_their_task_is_deleted_leave_nothing(busy: Busy) -> None:
    client = busy.installation.client

    def remove(task: ff.Task) -> None:
        try:
            client.cancel(task.id)
            client.delete(task.id)
        except BaseException as error:
            busy.surprises.append(error)

    removers = [threading.Thread(target=remove, args=(task,)) for task in busy.tasks]
    for thread in removers:
        thread.start()
    for thread in (*removers, *busy.threads):
        thread.join(120)
        assert not thread.is_alive()
    assert busy.surprises == []
    busy.installation.sweep()
    assert leftovers(busy.installation) == {}
    assert busy.installation.blobs() == []


def test_many_old_tasks_are_pruned_without_waiting_for_the_next_hour(
    installation: Installation, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "BATCH", 20)
    pipeline = installation.know(batch())
    for _ in range(removal.BATCH + 5):
        installation.client.submit(pipeline, items=["a"])
    installation.work()
    clock.advance(40 * 86_400)
    pipelines = {"batch": pipeline}
    assert removal.prune(installation.store, pipelines, "sweep") == removal.BATCH + 5
    assert installation.client.list() == []
    assert leftovers(installation) == {}


def test_a_sweep_prunes_for_a_while_and_the_next_one_goes_on(
    installation: Installation, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = installation.know(batch())
    for _ in range(6):
        installation.client.submit(pipeline, items=["a"])
    installation.work()
    clock.advance(40 * 86_400)
    looked = iter(range(1_000))
    monkeypatch.setattr("fanfold.engine.tasks.recovery.sweep.late_after", lambda seconds: lambda: next(looked) % 6 == 5)
    installation.sweep()
    left = len(installation.client.list())
    assert 0 < left < 6
    while installation.client.list():
        clock.advance(10)
        installation.sweep()


def test_tasks_that_cannot_be_pruned_here_do_not_hide_the_others(
    installation: Installation, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirrored = batch("mirrored")
    mirrored.on_move(lambda connection, change: None)
    installation.know(batch(), mirrored)
    monkeypatch.setattr(removal, "BATCH", 2)
    for pipeline in (mirrored, mirrored, mirrored, installation.pipelines[0]):
        installation.client.submit(pipeline, items=["a"])
        installation.work()
        clock.advance(1)
    clock.advance(40 * 86_400)
    assert removal.prune(installation.store, {}, "sweep") == 1
    assert {task.pipeline for task in installation.client.list()} == {"mirrored"}


def paused(installation: Installation) -> tuple[int, Call]:
    """The number of a task that is paused while its item runs, and the attempt."""
    pipeline = installation.know(batch("slow", handler=lambda item: None))
    task = installation.client.submit(pipeline, items=["a"])
    [(row, claimed)] = installation.worker().turn().claimed
    installation.client.pause(task.id)
    return row.number, Call(installation.store, pipeline, pipeline.stages["convert"], row, claimed)


def test_a_handler_writes_nothing_for_a_task_whose_row_is_gone(installation: Installation) -> None:
    number, call = paused(installation)
    installation.store.transact(lambda tx: tx.removal.begin(number))
    with pytest.raises(ff.LeaseLost):
        call.work.write("page.txt", "x")
    assert installation.blobs() == []


@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_a_delete_waits_for_a_handler_that_is_writing(installation: Installation) -> None:
    number, call = paused(installation)
    remover = threading.Thread(target=lambda: installation.store.transact(lambda tx: tx.removal.begin(number)))
    with installation.store.write() as tx:
        assert tx.settling.holds(call.claimed.id, call.claimed.lease)
        remover.start()
        waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'DELETE FROM tasks%'"
        eventually(lambda: installation.sql(waiting), 60)
    remover.join(60)
    assert not remover.is_alive()
