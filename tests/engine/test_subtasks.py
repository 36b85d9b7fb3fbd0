"""Subtasks: submitted exactly once, awaited without a worker, steered with their parent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import fanfold as ff
from fanfold.engine.handlers import subtask
from fanfold.engine.tasks.steering.follow_parent import FollowingCommands, InStep
from fanfold.model.awaited.subtask import MOST_DEPTH
from fanfold.store.schema.tables import subtasks, tasks
from tests.engine.live import Live
from tests.installation import HandClock, Installation

CALLS: list[str] = []


def child_of(fails: list[str] | None = None, gate: Any = False) -> ff.Pipeline:
    """Doubles a number; fails while ``fails`` has something."""
    made = ff.Pipeline("child")

    @made.step(retry=ff.Retry(limit=0), gate=gate)
    def double(task: Any) -> int:
        CALLS.append(task.id)
        if fails:
            raise ff.Permanent(fails[0])
        return int(task.input) * 2

    return made


def parent_of(child: Any, names: tuple[str, ...] = ("one",), **rules: Any) -> ff.Pipeline:
    """A step that adds up the results of subtasks."""
    made = ff.Pipeline("parent", subtasks=[child])

    @made.step(retry=ff.Retry(limit=2, first=1), **rules)
    def total(task: Any) -> int:
        started = [task.submit_subtask(child, number, name=name) for number, name in enumerate(names, 1)]
        return sum(task.subtask_results(started))

    return made


def children(installation: Installation, parent: ff.Task) -> list[ff.Task]:
    return installation.client.list(parent=parent.id, sort="oldest")


def states(installation: Installation, parent: ff.Task) -> list[str]:
    found = [installation.client.get(parent.id), *children(installation, parent)]
    return [str(task.state) for task in found]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    CALLS.clear()


def test_a_parent_waits_for_its_subtasks_without_a_worker_and_gets_their_results(installation: Installation) -> None:
    """Two subtasks, one wake-up: the item is due when the last of those that it waits for has ended."""
    child = child_of()
    parent = installation.know(parent_of(child, ("one", "two")))
    task = installation.client.submit(parent)
    worker = installation.worker()
    worker.run()
    waiting = installation.client.get(task.id)
    assert (waiting.open, waiting.subtasks, installation.states(task)) == (1, {"active": 2}, "waiting")
    assert waiting.wait_reason is not None
    assert waiting.wait_reason.startswith("waits for 2 subtasks, such as t-")
    first, second = children(installation, task)
    assert (first.parent, first.parent_stage, first.parent_item, first.owner) == (task.id, "total", "1", task.owner)
    installation.know(child)
    one = installation.worker(pipelines=[child])
    one.turn([one.call(row, claimed) for row, claimed in one.turn(free=1).claimed], free=0)
    assert installation.client.get(first.id).state == "completed"
    assert not worker.claim(), "due although it still waits for the other one"
    assert installation.completed(task) == 6
    assert (len(CALLS), installation.client.get(second.id).state) == (2, "completed")


@pytest.mark.parametrize("lost", ["before", "after"])
def test_a_crash_around_the_submit_leaves_one_subtask(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """Killed before the commit there is none, after it there is one: the next attempt makes or finds it."""
    child = child_of()
    parent = installation.know(parent_of(child), child)
    task = installation.client.submit(installation.pipelines[-2])
    submitted = subtask._submit

    def dies(*given: Any) -> Any:
        if lost == "after":
            submitted(*given)
        raise KeyboardInterrupt

    worker = installation.worker()
    ((row, claimed),) = worker.turn(free=1).claimed
    with monkeypatch.context() as broken:
        broken.setattr(subtask, "_submit", dies)
        worker.call(row, claimed)  # What it concludes is never written: the process is gone.
    assert len(children(installation, task)) == (lost == "after")
    with installation.store.write() as tx:
        tx.workers.leave(worker.name)
    installation.sweep()
    assert installation.completed(task) == 2
    assert (len(children(installation, task)), len(CALLS), parent.name) == (1, 1, "parent")


def test_an_attempt_without_its_lease_submits_nothing(installation: Installation) -> None:
    """A stale worker's subtask would be a second one."""
    child = child_of()
    installation.know(parent_of(child), child)
    task = installation.client.submit(installation.pipelines[0])
    stale = installation.worker()
    ((row, claimed),) = stale.turn(free=1).claimed
    with installation.store.write() as tx:
        tx.workers.leave(stale.name)
    installation.sweep()
    assert stale.call(row, claimed).error_code == "lease_lost"
    assert children(installation, task) == []
    assert installation.completed(task) == 2


def test_the_item_is_due_at_once_if_the_subtask_ended_before_it_began_to_wait(installation: Installation) -> None:
    """The end of the subtask finds nobody waiting; the settle of the parent's item must notice it."""
    child = child_of()
    installation.know(parent_of(child), child)
    task = installation.client.submit(installation.pipelines[0])
    worker = installation.worker(pipelines=installation.pipelines[:1])
    ((row, claimed),) = worker.turn(free=1).claimed
    postponed = worker.call(row, claimed)
    assert postponed.awaits == ("one",)
    installation.worker(pipelines=[child]).run()
    assert states(installation, task) == ["active", "completed"]
    worker.settle(postponed)
    assert [one.key for one in worker.claim()] == ["1"]


def test_the_failure_of_a_subtask_reaches_the_parent_and_a_retry_goes_down(installation: Installation) -> None:
    """The parent's retry retries the subtask; it is the same one, and is not submitted again."""
    fails = ["no paper"]
    child = child_of(fails)
    installation.know(parent_of(child), child)
    task = installation.client.submit(installation.pipelines[0])
    installation.work()
    failed = installation.client.get(task.id)
    assert (failed.state, children(installation, task)[0].state) == ("failed", "failed")
    assert failed.error_message is not None
    assert "no paper" in failed.error_message
    assert children(installation, task)[0].id in failed.error_message
    installation.sweep()
    installation.work()
    assert len(CALLS) == 1, "retried although nobody asked for it"
    fails.clear()
    installation.client.retry(task.id)
    assert installation.completed(task) == 2
    assert (len(children(installation, task)), len(CALLS)) == (1, 2)


def test_cancel_goes_down_and_a_retry_of_the_parent_revives_the_subtask(installation: Installation) -> None:
    child = child_of()
    installation.know(parent_of(child), child)
    task = installation.client.submit(installation.pipelines[0])
    installation.worker(pipelines=installation.pipelines[:1]).run()
    installation.client.cancel(task.id)
    assert states(installation, task) == ["cancelled", "cancelled"]
    installation.work()
    assert not CALLS
    installation.client.retry(task.id)
    assert installation.completed(task) == 2
    assert (len(children(installation, task)), len(CALLS)) == (1, 1)


def test_pause_and_resume_go_down_but_leave_alone_what_a_person_paused(installation: Installation) -> None:
    child = child_of()
    installation.know(parent_of(child, ("one", "two")), child)
    task = installation.client.submit(installation.pipelines[0])
    installation.worker(pipelines=installation.pipelines[:1]).run()
    first, _second = children(installation, task)
    installation.client.pause(first.id, "mine")
    installation.client.pause(task.id)
    assert states(installation, task) == ["paused", "paused", "paused"]
    installation.client.resume(task.id)
    assert states(installation, task) == ["active", "paused", "active"]
    installation.client.resume(first.id)
    assert installation.completed(task) == 6


def test_the_sweep_does_what_a_command_did_not_come_to_do(installation: Installation) -> None:
    """The command wrote the parent's row, and its process died: state is the truth."""
    child = child_of()
    installation.know(parent_of(child), child)
    task = installation.client.submit(installation.pipelines[0])
    installation.worker(pipelines=installation.pipelines[:1]).run()
    number = installation.client.lookup.row(task.id).number
    commands = installation.client.commands
    commands.pause(number)
    assert states(installation, task) == ["paused", "active"]
    installation.sweep()
    assert states(installation, task) == ["paused", "paused"]
    commands.resume(number)
    installation.sweep()
    assert states(installation, task) == ["active", "active"]
    commands.cancel(number)
    installation.sweep()
    assert states(installation, task) == ["cancelled", "cancelled"]
    commands.delete(number)
    with installation.store.read() as tx:
        left = [
            tx.connection.execute(sa.select(sa.func.count()).select_from(table)).scalar() for table in (tasks, subtasks)
        ]
    assert left == [0, 0]


def test_a_subtask_is_deleted_and_pruned_with_its_parent_only(installation: Installation, clock: HandClock) -> None:
    """The parent may still need its result. A deleted parent takes its subtasks along, also running ones."""
    child = child_of()
    installation.know(parent_of(child), child)
    task = installation.client.submit(installation.pipelines[0])
    installation.completed(task)
    (made,) = children(installation, task)
    with pytest.raises(ff.IllegalMove, match="deleted with it"):
        installation.client.delete(made.id)
    installation.sql("UPDATE tasks SET state = 'active', finished_at = NULL WHERE parent IS NULL")
    clock.advance(40 * 86_400)
    installation.sweep()
    assert len(children(installation, task)) == 1, "pruned before its parent"
    installation.sql("UPDATE tasks SET state = 'completed' WHERE parent IS NULL")
    installation.client.delete(task.id)
    assert installation.client.list() == []


def test_a_redo_submits_a_new_subtask_and_the_old_one_is_cancelled(installation: Installation) -> None:
    """Other work needs another subtask. The one that nobody waits for any more must not cost anything."""
    child = child_of()
    installation.know(parent_of(child), child)
    task = installation.client.submit(installation.pipelines[0])
    only_parents = installation.worker(pipelines=installation.pipelines[:1])
    only_parents.run()
    installation.client.pause(task.id)
    installation.client.rerun(task.id)
    installation.worker(pipelines=installation.pipelines[:1]).run()
    installation.sweep()
    assert states(installation, task) == ["active", "cancelled", "active"]
    assert installation.completed(task) == 2
    assert len(CALLS) == 1


def test_depth_and_place_are_bounded(installation: Installation) -> None:
    """A pipeline that submits itself ends with a clear error; a merge cannot wait for subtasks."""
    endless = ff.Pipeline("endless")

    @endless.step(retry=ff.Retry(limit=0))
    def again(task: Any) -> Any:
        return task.submit_subtask(endless).result()

    installation.know(endless)
    task = installation.client.submit(endless)
    installation.work()
    root = installation.client.get(task.id)
    assert root.state == "failed"
    assert f"more than {MOST_DEPTH} deep" in (root.error_message or "")
    assert len(installation.client.list()) == MOST_DEPTH + 1

    merging = ff.Pipeline("merging")
    merging.each(name="one")(lambda item: 1)

    @merging.merge(retry=ff.Retry(limit=0))
    def bind(task: Any, results: Any) -> Any:
        return task.submit_subtask(endless).result()

    installation.know(merging)
    refused = installation.client.submit(merging, items=[ff.NewItem()])
    installation.work()
    assert "cannot submit subtasks" in (installation.client.get(refused.id).error_message or "")


def test_items_and_splits_have_subtasks_and_files_are_copied(installation: Installation, tmp_path: Path) -> None:
    """Each item has its own; the subtask gets its own copy of a file, and its result is typed as its pipeline says."""
    made = ff.Pipeline("reading")

    @made.step
    def size(task: Any) -> int:
        return len(task.input.read_bytes())

    book = ff.Pipeline("book", subtasks=[made])

    @book.split
    def pages(task: Any) -> Any:
        length = task.submit_subtask(made, task.input).result()
        return [ff.NewItem(str(number), length) for number in range(3)]

    @book.each
    def page(item: Any) -> int:
        return int(item.task.submit_subtask(made, item.write("page.txt", "x" * item.input), name="page").result())

    installation.know(book, made)
    source = tmp_path / "a.txt"
    source.write_text("four")
    task = installation.client.submit(book, source)
    assert installation.completed(task) == [4, 4, 4]
    assert installation.client.get(task.id).subtasks == {"completed": 4}


def test_a_subtask_takes_its_budget_from_that_of_its_parent(installation: Installation) -> None:
    """Together they cannot spend more than the parent may; without an amount it is refused."""
    child = child_of()
    parent = ff.Pipeline("parent")

    @parent.step(retry=ff.Retry(limit=0))
    def ask(task: Any) -> Any:
        first = task.submit_subtask(child, 1, name="one", budget=task.options["each"])
        return [first.result(), task.submit_subtask(child, 2, name="two", budget=task.options["each"]).result()]

    installation.know(parent, child)
    refused = installation.client.submit(parent, options={"each": None}, budget=1)
    installation.work()
    assert "needs one" in (installation.client.get(refused.id).error_message or "")
    task = installation.client.submit(parent, options={"each": 0.6}, budget=1)
    installation.work()
    paused = installation.client.get(task.id)
    assert (paused.state, paused.subtasks) == ("paused", {"completed": 1})
    assert "$0.40" in (paused.wait_reason or "")
    installation.client.raise_budget(task.id, to=2)
    assert installation.completed(task) == [2, 4]


@pytest.mark.one_database
def test_a_worker_that_serves_a_pipeline_serves_its_subtasks(live: Live) -> None:
    """A real worker, with handlers in threads, from submit to the result."""
    parent = parent_of(child_of(), ("one", "two", "three"))
    task = live.client.submit(parent)
    with live.working(parent):
        assert live.client.wait(task.id, timeout=60).state == "completed"
    assert live.client.result(task.id) == 12


def test_a_subtask_whose_parent_moved_on_meanwhile_is_left_alone(installation: Installation) -> None:
    """The sweep saw a paused parent; before it has the subtask's lock, the parent was resumed."""
    child = child_of()
    installation.know(parent_of(child), child)
    task = installation.client.submit(installation.pipelines[0])
    installation.worker(pipelines=installation.pipelines[:1]).run()
    number = installation.client.lookup.row(children(installation, task)[0].id).number
    with pytest.raises(InStep):
        FollowingCommands(installation.store, {}, "sweep").pause(number)
    with pytest.raises(InStep):
        FollowingCommands(installation.store, {}, "sweep").delete(number)
    assert states(installation, task) == ["active", "active"]
