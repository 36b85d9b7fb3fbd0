"""A transaction that holds SQLite's write lock does the same work for a large task as for a small one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.many_items.draft import remove_items
from fanfold.engine.tasks.moving.copy_items import move_on
from fanfold.engine.tasks.steering.delete import prune
from fanfold.store.items.large.drafts import OLD
from tests.databases import SqliteDatabases
from tests.installation import HAND_CLOCK, Installation, number_of, set_clock
from tests.steps import Held, steps_counted

FEW, MANY = 2_000, 8_000
"""With the smaller number, each chunk of multi-transaction work is already full."""
MOST_GROWTH = 1.5
SLACK = 2_000
"""In steps; a B-tree of more items is slightly deeper, and its pages are filled differently."""
NOW = "(SELECT max(seen_at) FROM workers)"
FAILED_AT_THE_END = "seq > (SELECT max(seq) FROM items) - 5"


def pipeline() -> ff.Pipeline:
    """Two stages of many items and a merge."""
    made = ff.Pipeline("large")
    made.each(name="first")(lambda item: 1)
    made.each(name="second")(lambda item: 2)
    made.merge(name="bind")(lambda task, results: 3)
    return made


def failing_fast() -> ff.Pipeline:
    """A stage that ends at the first failure."""
    made = ff.Pipeline("fast")
    made.each(name="first", fail_fast=True, tolerate=0.5)(lambda item: 1)
    return made


def paying_back() -> ff.Pipeline:
    """A stage of many items, and a step for each way to end badly."""
    made = ff.Pipeline("paying")
    made.each(name="first")(lambda item: 1)
    made.on_failed(lambda task: None)
    made.on_cancelled(lambda task: None)
    return made


class Large:
    """A task of many items whose states a test says, as if they had been worked on."""

    def __init__(self, installation: Installation, count: int, made: ff.Pipeline) -> None:
        self.installation = installation
        self.client = installation.client
        self.count = count
        self.task = self.client.submit(installation.know(made), items=range(count))
        self.worker = installation.worker("hand")
        self.number = number_of(installation, self.task)

    def settle(self, state: str, stage: str = "first", which: str = "1 = 1", **values: str) -> None:
        """pending → running → done or failed, for all that are pending or those that ``which`` says."""
        more = "".join(f", {name} = {value}" for name, value in values.items())
        sql = self.installation.sql
        sql(
            "UPDATE items SET state = 'running', worker = 'bulk', lease = lease + 1, attempts = 1, "
            f"started_at = {NOW} WHERE stage = '{stage}' AND state = 'pending' AND {which}"
        )
        sql(f"UPDATE items SET state = '{state}', worker = NULL, finished_at = {NOW}{more} WHERE worker = 'bulk'")
        sql(
            "INSERT INTO item_data (item, output, error_code) SELECT id, '1', 'broken' FROM items "
            "WHERE true ON CONFLICT (item) DO UPDATE SET output = '1', error_code = 'broken'"
        )

    def move_on(self) -> None:
        """Move the task on, as a worker does after its last commit."""
        assert move_on(self.installation.store, self.worker.pipelines, self.number, "hand") is not None

    def completed(self) -> None:
        """All items of both stages are done, and the merge as well."""
        self.settle("done")
        self.move_on()
        self.settle("done", "second")
        self.move_on()
        self.worker.run()
        assert self.client.get(self.task.id).state == "completed"


Prepare = Callable[[Large], Callable[[], Any]]


def advance_to_the_merge(large: Large) -> Callable[[], Any]:
    large.settle("done")
    large.move_on()
    large.settle("done", "second")
    return large.move_on


def advance_with_a_copy(large: Large) -> Callable[[], Any]:
    large.settle("done")
    return large.move_on


def advance_past_a_stage_that_has_nothing_to_do(large: Large) -> Callable[[], Any]:
    """An item of the first stage is redone, and gives the same as before."""
    large.completed()
    large.client.retry(large.task.id, ["7"], stage="first")
    large.settle("done")
    large.installation.sql("UPDATE items SET state = 'running', worker = 'bulk' WHERE state = 'pending'")
    large.installation.sql(f"UPDATE items SET state = 'done', worker = NULL, finished_at = {NOW} WHERE worker = 'bulk'")
    return large.move_on


def end_as_partial(large: Large) -> Callable[[], Any]:
    large.settle("done", which="seq % 2 = 0")
    large.settle("failed")
    return large.move_on


def end_as_failed(large: Large) -> Callable[[], Any]:
    large.settle("failed")
    return large.move_on


def fail_fast(large: Large) -> Callable[[], Any]:
    """One failure, which is not yet too many: nothing is decided."""
    one, *_ = large.worker.claim()
    return lambda: large.worker.fail(one)


def fail_fast_for_good(large: Large) -> Callable[[], Any]:
    one, *_ = large.worker.claim()
    large.settle("failed", which="seq % 10 < 8")
    return lambda: large.worker.fail(one)


def complete_the_merge(large: Large) -> Callable[[], Any]:
    advance_to_the_merge(large)()
    [(row, one)] = large.worker.turn().claimed
    settled = large.worker.call(row, one)
    return lambda: large.worker.settle(settled)


def settle_and_claim(large: Large) -> Callable[[], Any]:
    claimed = large.worker.claim()
    return lambda: (large.worker.finish(*claimed), large.worker.claim())


def merge_without_what_failed(large: Large) -> Callable[[], Any]:
    large.settle("done")
    large.move_on()
    large.settle("failed", "second", FAILED_AT_THE_END)
    large.settle("done", "second")
    large.move_on()
    return lambda: large.client.merge(large.task.id)


def merge_again(large: Large) -> Callable[[], Any]:
    large.completed()
    return lambda: large.client.merge(large.task.id)


def refuse_a_command(large: Large) -> Callable[[], Any]:
    large.completed()
    return lambda: refused(lambda: large.client.pause(large.task.id))


def refuse_a_retry(large: Large) -> Callable[[], Any]:
    large.settle("done", which="seq > 10")
    return lambda: refused(lambda: large.client.retry(large.task.id))


def refused(act: Callable[[], Any]) -> None:
    with pytest.raises(ff.IllegalMove):
        act()


def retry_a_few_at_the_end(large: Large) -> Callable[[], Any]:
    large.settle("failed", which=FAILED_AT_THE_END)
    large.settle("done")
    large.move_on()
    return lambda: large.client.retry(large.task.id)


def retry_all(large: Large) -> Callable[[], Any]:
    large.settle("failed")
    large.move_on()
    return lambda: large.client.retry(large.task.id)


def retry_a_few_degraded(large: Large) -> Callable[[], Any]:
    large.settle("done", which=FAILED_AT_THE_END, degraded="'not quite'")
    large.settle("done")
    return lambda: large.client.retry(large.task.id, degraded=True)


def retry_all_degraded(large: Large) -> Callable[[], Any]:
    large.settle("done", degraded="'not quite'")
    return lambda: large.client.retry(large.task.id, degraded=True)


def rerun(large: Large) -> Callable[[], Any]:
    large.completed()
    return lambda: large.client.rerun(large.task.id)


def splitting() -> ff.Pipeline:
    """A split into as many items as its options say, and a stage that nobody starts."""
    made = ff.Pipeline("splitting")
    made.split(name="cut")(lambda task: range(task.options["count"]))
    made.each(name="first")(lambda item: 1)
    return made


def split_again(installation: Installation, count: int) -> Callable[[], Any]:
    """None of the many items of a split had started when the split is repeated."""
    task = installation.client.submit(installation.know(splitting()), options={"count": count})
    worker = installation.worker("hand")
    [(row, one)] = worker.turn().claimed
    worker.settle(worker.call(row, one))
    installation.client.retry(task.id, ["1"], stage="cut")
    [(row, one)] = worker.turn().claimed
    settled = worker.call(row, one)
    return lambda: worker.settle(settled)


def remove_a_stage(large: Large) -> Callable[[], Any]:
    store, number = large.installation.store, large.number
    with store.write() as tx:
        tx.drafts.begin(number, "first", OLD, "mine")
    return lambda: remove_items(store.transact, number, "first", "mine", may=lambda tx: True)


def cancel(large: Large) -> Callable[[], Any]:
    return lambda: large.client.cancel(large.task.id)


def delete(large: Large) -> Callable[[], Any]:
    large.completed()
    large.installation.sql(
        "INSERT INTO emissions (item, lease, position, task, body) SELECT id, 1, 1, task, '1' FROM items"
    )
    return lambda: large.client.delete(large.task.id)


def prune_it(large: Large) -> Callable[[], Any]:
    large.completed()
    HAND_CLOCK.advance(40 * 86_400)
    store, pipelines = large.installation.store, large.worker.pipelines
    return lambda: prune(store, pipelines, "hand", days=30)


def clean(large: Large) -> Callable[[], Any]:
    """Every item of a completed task has a file, none of them superseded."""
    large.completed()
    large.installation.sql(
        "INSERT INTO blobs (key, task, item, lease, name, size, created_at) "
        f"SELECT 'large/' || id, task, id, lease, 'x', 1, {NOW} FROM items"
    )
    return large.installation.sweep


def compensate(large: Large) -> Callable[[], Any]:
    large.settle("failed")

    def act() -> None:
        large.move_on()
        large.worker.run()

    return act


def cancel_after_a_compensation(large: Large) -> Callable[[], Any]:
    compensate(large)()
    large.client.retry(large.task.id)
    large.client.pause(large.task.id)
    return lambda: large.client.cancel(large.task.id)


def retry_after_a_compensation(large: Large) -> Callable[[], Any]:
    compensate(large)()
    return lambda: large.client.retry(large.task.id)


ACTS: dict[Prepare, Callable[[], ff.Pipeline]] = {
    advance_to_the_merge: pipeline,
    advance_with_a_copy: pipeline,
    advance_past_a_stage_that_has_nothing_to_do: pipeline,
    end_as_partial: pipeline,
    end_as_failed: pipeline,
    fail_fast: failing_fast,
    fail_fast_for_good: failing_fast,
    complete_the_merge: pipeline,
    settle_and_claim: pipeline,
    merge_without_what_failed: pipeline,
    merge_again: pipeline,
    refuse_a_command: pipeline,
    refuse_a_retry: pipeline,
    retry_a_few_at_the_end: pipeline,
    retry_all: pipeline,
    retry_a_few_degraded: pipeline,
    retry_all_degraded: pipeline,
    rerun: pipeline,
    remove_a_stage: pipeline,
    cancel: pipeline,
    delete: pipeline,
    prune_it: pipeline,
    clean: pipeline,
    compensate: paying_back,
    cancel_after_a_compensation: paying_back,
    retry_after_a_compensation: paying_back,
}


@pytest.fixture
def installations(sqlite_databases: SqliteDatabases, tmp_path: Path) -> Iterator[Callable[[], Installation]]:
    """Makes installations on SQLite."""
    made: list[Installation] = []

    def make() -> Installation:
        place = tmp_path / str(len(made))
        place.mkdir()
        made.append(Installation(sqlite_databases.copy_to(place), place / "data", set_clock()))
        return made[-1]

    yield make
    for one in made:
        one.store.close()


@pytest.mark.parametrize("prepare", ACTS, ids=lambda prepare: prepare.__name__)
def test_no_transaction_that_holds_the_write_lock_does_more_for_a_larger_task(
    installations: Callable[[], Installation], prepare: Prepare
) -> None:
    worst: list[Held] = []
    for count in (FEW, MANY):
        installation = installations()
        act = prepare(Large(installation, count, ACTS[prepare]()))
        with steps_counted(installation.store) as meter:
            act()
        worst.append(meter.worst)
    few, many = worst
    assert few.steps > 0
    assert many.steps <= few.steps * MOST_GROWTH + SLACK, (few.steps, many.steps, many.worst)


def test_a_second_split_looks_outside_the_lock_whether_the_first_one_was_begun(
    installations: Callable[[], Installation],
) -> None:
    worst: list[Held] = []
    for count in (FEW + 1, 10 * FEW):
        installation = installations()
        act = split_again(installation, count)
        with steps_counted(installation.store) as meter:
            act()
        worst.append(max((held for held in meter.held if is_begin(held)), key=lambda held: held.steps))
    few, many = worst
    assert many.steps <= few.steps * MOST_GROWTH + SLACK, (few.steps, many.steps, many.worst)


def is_begin(held: Held) -> bool:
    """Whether the transaction is the one that hides what is there, before anything is removed or written."""
    return any("INSERT INTO drafts" in text for _, text in held.statements)
