"""Every command does what it says in the states that allow it, and nothing in the others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import fanfold as ff
from fanfold.engine import installed
from fanfold.engine.installed import Announced
from fanfold.model.lifecycle import COMMANDS, TASK_MOVES, TaskState, legal
from fanfold.store.items import query as reading
from tests.engine.pipelines import batch, book
from tests.installation import HandClock, Installation

BOOK = book()


def prepared(installation: Installation) -> ff.Task:
    """A task whose first item has failed, so that every command has something to do."""
    pipeline = installation.know(book())
    return installation.client.submit(pipeline, options={"texts": ["bad", "a"]})


def active(installation: Installation) -> ff.Task:
    task = prepared(installation)
    worker = installation.worker()
    worker.settle(*(worker.call(row, one) for row, one in worker.turn().claimed))
    worker.fail(worker.claim(1)[0])
    return task


def held(installation: Installation) -> ff.Task:
    """An active task that can be merged: the rest of it waits for a person."""
    task = active(installation)
    [one] = installation.worker("another").claim(1)
    with installation.store.write() as tx:
        tx.settling.hold([{"id": one.id, "lease": one.lease}])
    return task


def waiting(installation: Installation) -> ff.Task:
    pipeline = book(tolerate=1)
    pipeline.stages.pop("bind")
    pipeline.merge(name="bind", gate=True)(lambda task, results: [result.output for result in results])
    task = installation.client.submit(installation.know(pipeline), options={"texts": ["bad", "a"]})
    installation.work()
    return task


def paused(installation: Installation) -> ff.Task:
    task = active(installation)
    installation.client.pause(task.id)
    return task


def partial(installation: Installation) -> ff.Task:
    task = prepared(installation)
    installation.work()
    return task


def completed(installation: Installation) -> ff.Task:
    task = partial(installation)
    installation.client.merge(task.id)
    installation.work()
    return task


def failed(installation: Installation) -> ff.Task:
    pipeline = installation.know(book())
    task = installation.client.submit(pipeline, options={"texts": ["bad"]})
    installation.work()
    return task


def cancelled(installation: Installation) -> ff.Task:
    task = active(installation)
    installation.client.cancel(task.id)
    return task


MAKE: dict[str, Callable[[Installation], ff.Task]] = {
    "active": active, "waiting": waiting, "paused": paused, "partial": partial, "completed": completed,
    "failed": failed, "cancelled": cancelled,
}  # fmt: skip
AFTER = {
    "pause": "paused", "resume": "active", "merge": "active", "cancel": "cancelled", "retry": "active", "rerun": "active",
}  # fmt: skip


def test_every_state_is_tried() -> None:
    assert set(MAKE) == {*TaskState}


@pytest.mark.parametrize("verb", COMMANDS)
@pytest.mark.parametrize("state", list(TaskState))
def test_a_command_works_in_the_states_of_the_table_and_is_refused_in_the_others(
    installation: Installation, state: str, verb: str
) -> None:
    task = held(installation) if (verb, state) == ("merge", "active") else MAKE[state](installation)
    now = installation.client.get(task.id)
    assert now.state == state
    command: Callable[[str], Any] = getattr(installation.client, verb)
    assert (verb in now.available_commands) == legal(TASK_MOVES, state, verb)
    if not legal(TASK_MOVES, state, verb):
        before = installation.rows()
        with pytest.raises(ff.IllegalMove, match=f"Task {task.id} is {state}: {verb} needs an?.*Possible now: fanfold"):
            command(task.id)
        assert installation.rows() == before
        return
    command(task.id)
    if verb == "delete":
        with pytest.raises(ff.NotFound):
            installation.client.get(task.id)
        return
    after = "paused" if (verb, state) == ("retry", "paused") else AFTER[verb]
    assert installation.client.get(task.id).state == after
    event = [found for found in installation.client.events(task.id) if found.stage is not None and not found.item][-1]
    assert (event.verb, event.source, event.target, event.actor) == (verb, state, after, "person")


@pytest.mark.parametrize("state", [state for state in TaskState if state != "paused"])
def test_a_task_can_be_brought_to_its_end_from_every_state(installation: Installation, state: str) -> None:
    """Retry what failed with an option that makes it succeed, and everything is merged."""
    task = MAKE[state](installation)
    installation.client.retry(task.id, options={"instead": "b"})
    installation.work()
    if installation.client.get(task.id).state == "waiting":
        installation.client.resume(task.id)
    assert "B" in str(installation.completed(task))


@pytest.mark.parametrize("verb", ["pause", "cancel", "resume"])
def test_a_command_sends_the_same_statements_for_ten_items_and_for_a_thousand(
    installation: Installation, verb: str
) -> None:
    pipeline = installation.know(batch())
    sent: dict[int, list[str]] = {}
    for size in (10, 1_000):
        task = installation.client.submit(pipeline, items=range(size))
        if verb == "resume":
            installation.client.pause(task.id)
        number = installation.client.lookup.row(task.id).number
        with installation.statements() as seen:
            getattr(installation.client.commands, verb)(number)
        sent[size] = list(seen)
    assert sent[10] == sent[1_000]
    assert not any("items" in statement for statement in sent[1_000])


def test_a_paused_task_goes_on_where_it_was(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b", "c"])
    worker = installation.worker()
    worker.finish(worker.claim(1)[0], output='"kept"')
    installation.client.pause(task.id, "lunch")
    assert installation.client.get(task.id).wait_reason == "paused: lunch"
    installation.work()
    assert installation.states(task) == "done pending pending"
    installation.client.resume(task.id)
    assert installation.completed(task) == ["kept", "B", "C"]


def test_redoing_one_done_item_of_a_completed_task_merges_again_by_itself(installation: Installation) -> None:
    task = installation.client.submit(installation.know(book()), options={"texts": ["a", "b", "c"]})
    installation.completed(task)
    again = installation.client.retry(task.id, ["p2"], options={"instead": "x"})
    assert (again.state, again.stage) == ("active", "convert")
    assert installation.completed(task)["pages"] == ["A", "X", "C"]
    attempts = [item.attempts for item in installation.client.items(task.id)]
    assert attempts == [1, 1, 1], "the others were left alone, and the count starts over"
    leases = installation.sql("SELECT lease FROM items WHERE stage = 'convert' ORDER BY seq")
    assert [row.lease for row in leases] == [1, 2, 1]


def test_options_given_at_a_retry_stay_with_their_items_only(installation: Installation) -> None:
    task = installation.client.submit(installation.know(book()), options={"texts": ["bad", "b"]})
    installation.work()
    installation.client.retry(task.id, options={"instead": "first"})
    assert installation.completed(task)["pages"] == ["FIRST", "B"]
    installation.client.retry(task.id, ["p1", "p2"])
    assert installation.completed(task)["pages"] == ["FIRST", "B"]


def test_an_unknown_item_is_named_and_nothing_is_retried(installation: Installation) -> None:
    task = completed(installation)
    before = installation.rows()
    with pytest.raises(ff.NotFound, match=f"has no item p9, nonsense in convert.*fanfold items {task.id}"):
        installation.client.retry(task.id, ["p1", "p9", "nonsense"])
    assert installation.rows() == before


def test_an_item_that_is_being_worked_on_cannot_be_retried(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b"])
    worker = installation.worker()
    worker.finish(worker.claim(1)[0])
    worker.claim(1)
    before = installation.rows()
    with pytest.raises(ff.IllegalMove, match="pending or running"):
        installation.client.retry(task.id, ["1", "2"])
    assert installation.rows() == before


def test_an_item_that_waits_can_be_retried_at_once(installation: Installation) -> None:
    pipeline = installation.know(batch(retry=ff.Retry(limit=3, first=1_000)))
    task = installation.client.submit(pipeline, items=["flaky"])
    installation.work()
    assert installation.states(task) == "retrying"
    installation.client.retry(task.id, ["1"], options={"instead": "fine"})
    assert installation.completed(task) == ["FINE"]


def test_a_retry_of_whatever_failed_needs_a_failure(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a"])
    with pytest.raises(ff.IllegalMove, match="none of its items has failed; name the ones to redo with --item"):
        installation.client.retry(task.id)


@pytest.mark.parametrize("stage", ["bind", "cut"])
def test_a_stage_with_nothing_to_redo_is_not_skipped_by_a_retry(installation: Installation, stage: str) -> None:
    task = partial(installation)
    before = installation.rows()
    with pytest.raises(ff.FanfoldError):
        installation.client.retry(task.id, stage=stage)
    assert installation.rows() == before


def test_a_completed_task_offers_the_retry_of_single_items(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b"])
    assert "retry" not in task.available_commands, "nothing is done or has failed yet"
    installation.work()
    now = installation.client.get(task.id)
    assert (now.available_commands, now.plain_commands) == (("retry", "rerun", "delete"), ("rerun", "delete"))
    with pytest.raises(
        ff.IllegalMove, match=r"name the ones to redo with --item\. Possible now: fanfold rerun"
    ) as caught:
        installation.client.retry(task.id)
    assert caught.value.available_commands == now.available_commands
    installation.client.retry(task.id, ["2"], options={"instead": "z"})
    assert installation.completed(task) == ["A", "Z"]


def test_a_split_can_be_done_again(installation: Installation) -> None:
    task = installation.client.submit(installation.know(book()), options={"texts": ["a", "b"]})
    installation.completed(task)
    installation.client.retry(task.id, ["1"], stage="cut", options={"texts": ["c"]})
    assert installation.completed(task)["pages"] == ["C"]


def test_other_options_for_the_first_step_are_the_tasks_own(installation: Installation) -> None:
    """Options given to retry a failed split apply to the items that it makes, and are shown on the task."""
    task = installation.client.submit(
        installation.know(book()), options={"texts": 5, "instead": "old", "gone": 1}, retry_limit=0
    )
    installation.work()
    assert installation.client.get(task.id).state == "failed"
    again = installation.client.retry(task.id, options={"texts": ["c", "d"], "instead": "new", "gone": None})
    assert again.options == {"texts": ["c", "d"], "instead": "new"}
    assert installation.completed(task)["pages"] == ["NEW", "NEW"]
    installation.client.retry(task.id, ["p1"], options={"instead": "single"})
    assert installation.completed(task)["pages"] == ["SINGLE", "NEW"]
    assert installation.client.get(task.id).options == again.options


def test_other_options_for_the_first_step_reach_a_worker_that_knows_the_task(installation: Installation) -> None:
    installation.know(book())
    worker = installation.worker()
    task = installation.client.submit(installation.pipelines[0], options={"texts": 5, "instead": "old"}, retry_limit=0)
    worker.run()
    installation.client.retry(task.id, options={"texts": ["c"], "instead": "new"})
    worker.run()
    assert installation.client.result(task.id)["pages"] == ["NEW"]


def test_a_rerun_forgets_the_options_of_single_items(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b"])
    installation.work()
    installation.client.retry(task.id, ["2"], options={"instead": "z"})
    assert installation.completed(task) == ["A", "Z"]
    installation.client.rerun(task.id)
    assert installation.completed(task) == ["A", "B"]


def test_a_rerun_takes_the_stages_of_the_code_as_it_is_now(installation: Installation) -> None:
    task = completed(installation)
    newer = book()
    newer.step(name="publish")(lambda task: task.previous["pages"])
    installation.pipelines.clear()
    installation.know(newer)
    installation.client.rerun(task.id)
    installation.work()
    installation.client.merge(task.id)
    assert installation.completed(task) == ["A"]


def test_a_rerun_where_the_code_is_not_known_is_refused_with_the_way_out(installation: Installation) -> None:
    task = completed(installation)
    before = installation.rows()
    with pytest.raises(
        ff.BadInput, match=f"its pipeline book is installed.*fanfold rerun {task.id} --target"
    ) as caught:
        ff.Client(store=installation.store).rerun(task.id)
    assert caught.value.code == "pipeline_needed"
    assert installation.rows() == before
    ff.Client(store=installation.store, pipelines=installation.pipelines).rerun(task.id)
    installation.work()
    now = installation.client.get(task.id)
    assert (now.state, now.stage) == ("partial", "convert"), "what a person passed before is not passed again"


def test_a_rerun_that_the_state_forbids_says_so_also_where_the_code_is_not_known(installation: Installation) -> None:
    task = active(installation)
    with pytest.raises(ff.IllegalMove, match="rerun needs a"):
        ff.Client(store=installation.store).rerun(task.id)


def test_a_rerun_knows_installed_pipelines(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    task = completed(installation)
    found = (Announced("BOOK", "tests.engine.test_commands:BOOK"),)
    monkeypatch.setattr(installed, "announced", lambda: found)
    assert ff.Client(store=installation.store).rerun(task.id).state == "active"


def test_an_installed_pipeline_that_cannot_be_loaded_is_told_in_a_sentence(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = completed(installation)
    monkeypatch.setattr(installed, "announced", lambda: (Announced("book", "tests.no_such_module:BOOK"),))
    with pytest.raises(
        ff.BadInput, match=r"book cannot be loaded from tests\.no_such_module:BOOK: ModuleNotFoundError"
    ):
        ff.Client(store=installation.store).rerun(task.id)
    assert installation.client.get(task.id).state == "completed"


def test_a_rerun_of_given_items_for_which_there_is_no_stage_any_more_is_refused(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a"])
    installation.work()
    installation.pipelines.clear()
    installation.know(renamed_batch())
    with pytest.raises(ff.IllegalMove, match="began with convert, but its pipeline now begins with render"):
        installation.client.rerun(task.id)
    assert installation.client.get(task.id).state == "completed"


def renamed_batch() -> ff.Pipeline:
    made = ff.Pipeline("batch")
    made.each(name="render")(lambda item: item.input)
    return made


def test_a_rerun_starts_over(installation: Installation) -> None:
    task = completed(installation)
    installation.client.rerun(task.id)
    now = installation.client.get(task.id)
    assert (now.state, now.stage, now.progress, now.missing, now.error_code) == ("active", "cut", 0, 0, None)
    assert [len(installation.client.items(task.id, stage=stage)) for stage in ("cut", "convert", "bind")] == [1, 0, 0]
    installation.work()
    assert installation.client.get(task.id).state == "partial"


def test_a_rerun_of_a_task_that_began_with_items_keeps_the_items(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b"])
    installation.completed(task)
    installation.client.rerun(task.id)
    assert installation.states(task) == "pending pending"
    assert installation.completed(task) == ["A", "B"]


def keep_files(item: Any) -> Any:
    return {"file": item.write("page.txt", item.input), "large": "x" * 2_000_000}


def test_a_deleted_task_leaves_no_row_and_no_file(installation: Installation, tmp_path: Path) -> None:
    pipeline = installation.know(batch(handler=keep_files, limit=5))
    empty = installation.rows("workers", "duties", "limits")
    task = installation.client.submit(pipeline, items=["a", "y" * 3_000_000], tags=["x"])
    installation.completed(task)
    assert len(installation.blobs()) == 5
    installation.client.delete(task.id)
    assert installation.rows("workers", "duties", "limits") == empty
    assert installation.blobs() == []
    assert list((installation.settings.data_folder / "blobs").iterdir()) == []


def test_a_stale_handler_cannot_leave_a_file_with_a_deleted_task(installation: Installation) -> None:
    pipeline = installation.know(batch(handler=keep_files))
    task = installation.client.submit(pipeline, items=["a"])
    worker = installation.worker()
    [(row, one)] = worker.turn().claimed
    installation.client.cancel(task.id)
    installation.client.delete(task.id)
    worker.settle(worker.call(row, one))
    assert installation.blobs() == []
    assert installation.sql("SELECT * FROM blobs") == []


def test_a_deleted_or_unknown_task_is_not_found(installation: Installation) -> None:
    task = completed(installation)
    installation.client.delete(task.id)
    for look in (
        installation.client.get,
        installation.client.pause,
        installation.client.result,
        installation.client.items,
    ):
        with pytest.raises(ff.NotFound, match=r"There is no task.*fanfold tasks"):
            look(task.id)


def test_ids_may_be_shortened_while_they_are_unambiguous(installation: Installation) -> None:
    pipeline = batch()
    tasks = [installation.client.submit(pipeline, items=[1]) for _ in range(40)]
    first = tasks[0]
    assert installation.client.get(first.id[:10]).id == first.id
    assert installation.client.get(first.id[2:].upper()).id == first.id
    initials = [task.id[:3] for task in tasks]
    shared = next(initial for initial in initials if initials.count(initial) > 1)
    with pytest.raises(ff.Ambiguous, match="matches several tasks"):
        installation.client.get(shared)
    with pytest.raises(ff.NotFound):
        installation.client.get("")


def test_merging_again_gives_the_same_result(installation: Installation, clock: HandClock) -> None:
    task = completed(installation)
    first = installation.client.result(task.id)
    clock.advance(5)
    installation.client.merge(task.id)
    assert installation.completed(task) == first


def test_a_retry_may_name_more_items_than_a_statement_has_parameters(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any number of keys is resolved and reset in chunks; a few thousand show what 70 000 would."""
    monkeypatch.setattr(reading, "AT_ONCE", 700)
    keys = [f"k{n}" for n in range(5_000)]
    task = installation.client.submit(installation.know(batch()), items=[ff.NewItem(key, "a") for key in keys])
    installation.sql("UPDATE items SET state = 'running', worker = 'w', lease = 1")
    over = "UPDATE items SET state = 'failed', worker = NULL, finished_at = (SELECT created_at FROM tasks)"
    installation.sql(over)
    sizes: list[int] = []

    def count(_connection: Any, _cursor: Any, _statement: str, parameters: Any, _context: Any, many: bool) -> None:
        if not many:
            sizes.append(len(parameters))

    sa.event.listen(installation.store.database.engine, "before_cursor_execute", count)
    try:
        installation.client.retry(task.id, keys)
    finally:
        sa.event.remove(installation.store.database.engine, "before_cursor_execute", count)
    assert installation.client.get(task.id).stages[0].counts == {"pending": 5_000}
    assert max(sizes) < 5_000


def test_a_failure_count_at_its_end_does_not_overflow(installation: Installation) -> None:
    installation.client.submit(installation.know(batch()), items=["a"], retry_limit=32_766)
    worker = installation.worker()
    [claimed] = worker.claim()
    installation.sql("UPDATE items SET failures = 32767, crashes = 32767")
    worker.fail(claimed)
    assert installation.sql("SELECT state, failures FROM items")[0] == ("failed", 32_767)


def test_a_retry_limit_that_cannot_be_counted_is_refused_at_submit(installation: Installation) -> None:
    with pytest.raises(ff.BadInput, match="from 0 to 32766"):
        installation.client.submit(installation.know(batch()), items=["a"], retry_limit=32_767)


def test_an_empty_selection_does_not_redo_everything_that_failed(installation: Installation) -> None:
    """A program whose search found nothing has named nothing; left out, `items` means all."""
    client, task = installation.client, active(installation)

    def failed() -> int:
        return len(client.items(task.id, stage="convert", states=[ff.ItemState.FAILED]))

    commands: list[Callable[[], object]] = [
        lambda: client.retry(task.id, []),
        lambda: client.retry(task.id, (), degraded=True),
        lambda: client.accept(task.id, []),
        lambda: client.external(task.id, "check", []),
        lambda: client.credits.refund(task.id, []),
    ]
    for command in commands:
        with pytest.raises(ff.BadInput, match="`items` is empty"):
            command()
    assert failed() == 1
    client.retry(task.id)
    assert failed() == 0
