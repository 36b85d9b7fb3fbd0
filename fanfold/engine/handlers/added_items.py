"""Collects the items that a handler adds to its own stage. They are stored with the result of the adding item, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fanfold.engine.handlers.files.kept_files import folded
from fanfold.engine.tasks.many_items.new_items import CHUNK_CHARACTERS, check_key
from fanfold.errors import BadInput
from fanfold.model.item import AddedItem, NewItem
from fanfold.model.plan import Kind
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.model.values.files import File
from fanfold.model.values.serial import MARKED

if TYPE_CHECKING:
    from fanfold.engine.handlers.task_and_item import ItemWork

MOST_ADDED = 2_000
"""Items that one attempt may add: as many as one short transaction writes, about 40 ms on SQLite."""


def check_stage(work: ItemWork[Any, Any]) -> None:
    """Refuse a stage whose items are made one-to-one from those of the stage before: an added one would have no source."""
    stage = work._claimed.stage
    before = work._row.plan.before(stage)
    if before is not None and before.kind is Kind.EACH:
        raise BadInput(say("added_in_later_each", stage=stage, before=before.name), code="cannot_add")


def collected(
    work: ItemWork[Any, Any], known: Sequence[AddedItem], new: Sequence[NewItem[Any]]
) -> tuple[AddedItem, ...]:
    """The items added so far and the new ones, without those whose key was added before."""
    found = {one.key: one for one in known}
    for item in new:
        added = _checked(work, item, len(found) + 1)
        found.setdefault(added.key, added)
    if len(found) > MOST_ADDED or sum(len(one.input or "") for one in found.values()) > CHUNK_CHARACTERS:
        raise BadInput(say("added_too_many", stage=work._claimed.stage, most=MOST_ADDED), code="cannot_add")
    return tuple(found.values())


def _checked(work: ItemWork[Any, Any], item: Any, number: int) -> AddedItem:
    key = check_key(item.key, number) if isinstance(item, NewItem) else None
    if key is None:
        raise BadInput(say("added_without_key", stage=work._claimed.stage), code="cannot_add")
    if item.input is None:
        return AddedItem(key, None)

    def what() -> str:
        return say("input_of_item", item=key)

    text = serial.dump(item.input, what, work._store.settings.result_bytes)
    work._types.check(text, work._types.input(work._claimed.stage), what)
    kept = folded(work, f"added-{number}.json", text)
    return AddedItem(key, kept, (*_files_in(text), *(_files_in(kept) if kept is not text else ())))


def _files_in(text: str) -> tuple[str, ...]:
    """The keys of the files in an input. They stay with the task, because the attempt that wrote them may be redone."""
    keys: list[str] = []

    def note(file: File) -> File:
        keys.append(file.key)
        return file

    if MARKED in text:
        serial.load(text, note)
    return tuple(keys)
