"""How does a task begin? With its row, its files and its first items, in one transaction."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fanfold.engine import inputs as given
from fanfold.engine.advance import make_items
from fanfold.engine.moves import Pipelines, described, record
from fanfold.errors import BadInput, HandlerError, KeyTaken
from fanfold.model import serial
from fanfold.model.files import File
from fanfold.model.item import NewItem
from fanfold.model.lifecycle import TaskState
from fanfold.model.pipeline import Pipeline
from fanfold.model.plan import Kind, Plan
from fanfold.model.task import TaskRow
from fanfold.store.store import Store, Transaction

BYTES_PER_CHARACTER = 4
"""At most."""
KEY_LENGTH = 200
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"


@dataclass(frozen=True)
class Submission:
    """Everything a person may say when they submit a task."""

    inputs: Sequence[Any] = ()
    items: Iterable[Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    title: str | None = None
    key: str | None = None
    priority: int = 0
    tags: Sequence[str] = ()
    owner: str = ""
    retry_limit: int | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    straight_through: bool = False
    literal: bool = False
    actor: str = "person"


def submit(store: Store, pipeline: Pipeline, wanted: Submission) -> TaskRow:
    """A new task with its first items, or, where the key is taken, the task that has it."""
    check_names(wanted)
    if wanted.key is not None:
        with store.read() as tx:
            existing = tx.tasks.by_key(wanted.owner, wanted.key)
        if existing is not None:
            return existing
    plan = pipeline.plan().without_gates() if wanted.straight_through else pipeline.plan()
    checked = check_submission(pipeline, plan, wanted)
    files: list[File] = []
    try:
        return _keep(store, pipeline, plan, wanted, checked, files)
    except KeyTaken:
        store.shelf.delete(file.key for file in files)
        with store.read() as tx:
            existing = tx.tasks.by_key(wanted.owner, wanted.key or "")
        if existing is None:
            raise
        return existing
    except BaseException:
        store.shelf.delete(file.key for file in files)
        raise


def _keep(
    store: Store, pipeline: Pipeline, plan: Plan, wanted: Submission, checked: list[Any], files: list[File]
) -> TaskRow:
    """Write the blobs, each noted in ``files`` at once, then everything else in one transaction."""
    task_id = new_id()
    kept = given.copy_in(store, task_id, checked, files)
    row = _row(task_id, pipeline, plan, wanted, kept, checked)
    with store.write() as tx:
        number = tx.tasks.add(row, wanted.tags)
        for file in files:
            tx.blobs.add(file.key, number, file.name, file.size)
        return _begin(tx, store, {pipeline.name: pipeline}, number, wanted, files)


def _begin(
    tx: Transaction, store: Store, pipelines: Pipelines, number: int, wanted: Submission, files: list[File]
) -> TaskRow:
    row = tx.tasks.get(number)
    assert row is not None
    rows = None if wanted.items is None else new_rows(store, tx, row, wanted.items, files)
    first = row.plan.stages[0]
    if not make_items(tx, row, first, rows):
        raise BadInput("A task needs at least one item, and `items` is empty.")
    record(tx, pipelines, row, described(row, "submit", None, row.state, wanted.actor, row.stage))
    tx.announce()
    return row


def check_names(wanted: Submission) -> None:
    """Key, owner, tags and title, which any database must be able to keep and to compare."""
    if wanted.key is not None and not 0 < len(wanted.key) <= KEY_LENGTH:
        raise BadInput(f"A key has 1 to {KEY_LENGTH} characters; this one has {len(wanted.key)}.")
    if len(wanted.owner) > KEY_LENGTH or any(not tag or len(tag) > 100 for tag in wanted.tags):
        raise BadInput("An owner has at most 200 characters, a tag 1 to 100.")
    serial.dump([wanted.key, wanted.owner, list(wanted.tags), wanted.title], "What was submitted")


def check_options(pipeline: Pipeline, options: dict[str, Any]) -> None:
    """Whether the pipeline can do something with these options; BadInput says what is wrong."""
    if pipeline.check_options is None:
        return
    try:
        pipeline.check_options(options)
    except HandlerError as problem:
        raise BadInput(str(problem), code=problem.code) from None


def check_submission(pipeline: Pipeline, plan: Plan, wanted: Submission) -> list[Any]:
    """The inputs, with everything that could be wrong said before anything is kept."""
    starts_with_items = plan.stages[0].kind is Kind.EACH
    if starts_with_items and wanted.items is None:
        raise BadInput(
            f"Pipeline {pipeline.name} begins with `{plan.stages[0].name}` for each item, so it needs items=[…]."
        )
    if not starts_with_items and wanted.items is not None:
        raise BadInput(
            f"Pipeline {pipeline.name} makes its own items in `{plan.stages[0].name}`; give it inputs, not items."
        )
    if wanted.retry_limit is not None and wanted.retry_limit < 0:
        raise BadInput(f"The retry limit is {wanted.retry_limit}; it must be 0 or more.")
    if not -(2**31) < wanted.priority < 2**31:
        raise BadInput(f"The priority {wanted.priority} is out of range; use small numbers, higher first.")
    serial.dump([wanted.options, wanted.metadata], "What was submitted")
    check_options(pipeline, wanted.options)
    return given.check(wanted.inputs, text_is_path=not (pipeline.calls_with_arguments or wanted.literal))


def new_rows(
    store: Store, tx: Transaction, row: TaskRow, items: Iterable[Any], files: list[File]
) -> Iterable[tuple[str | None, str | None]]:
    """(key, input) of the items given at submit; large inputs become blobs."""
    most, inline = store.settings.result_bytes, store.settings.inline_bytes
    for number, value in enumerate(items, 1):
        key = None
        if isinstance(value, NewItem):
            key, value = check_key(value.key, number), value.input
        if value is None:
            yield key, None
            continue
        text = serial.dump(value, lambda: f"The input of item {key or number}", most)  # noqa: B023
        if len(text) * BYTES_PER_CHARACTER > inline:
            text, file = store.fold(row.id, f"input-{number}.json", text)
            if file is not None:
                files.append(file)
                tx.blobs.add(file.key, row.number, file.name, file.size)
        yield key, text


def check_key(key: Any, number: int) -> str | None:
    """A key that can be kept: text of 1 to 200 characters."""
    if key is None:
        return None
    text = str(key)
    if not 0 < len(text) <= KEY_LENGTH or "\0" in text:
        raise BadInput(
            f"The key of item {number} must have 1 to {KEY_LENGTH} characters and no NUL; it has {len(text)}.",
            code="bad_key",
        )
    if not text.isascii():
        serial.dump(text, f"The key of item {number}")
    return text


def new_id() -> str:
    """A fresh public id, short enough to read out and random enough to be unique."""
    return "t-" + "".join(secrets.choice(ALPHABET) for _ in range(12))


def _row(
    task_id: str, pipeline: Pipeline, plan: Plan, wanted: Submission, kept: list[Any], checked: list[Any]
) -> dict[str, Any]:
    first = plan.stages[0]
    named = next((value.name for value in checked if isinstance(value, Path | given.Upload)), pipeline.title)
    return {
        "id": task_id,
        "pipeline": pipeline.name,
        "title": (wanted.title or named)[:500],
        "state": TaskState.WAITING.value if first.gate else TaskState.ACTIVE.value,
        "stage": first.name,
        "plan": plan.to_json(),
        "input": serial.dump(kept, "The input"),
        "options": serial.dump(wanted.options, "The options"),
        "extra": serial.dump(wanted.metadata, "The metadata"),
        "owner": wanted.owner,
        "priority": wanted.priority,
        "key": wanted.key,
        "retry_limit": wanted.retry_limit,
    }
