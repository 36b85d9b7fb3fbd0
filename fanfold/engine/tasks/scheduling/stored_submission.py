"""Stores what a schedule submits. Its files are copied when the schedule is added, and each task gets its own copy of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import Any

from fanfold.engine.tasks.submitting.inputs import Upload
from fanfold.engine.tasks.submitting.submission import Submission
from fanfold.model.item import NewItem
from fanfold.model.money.budgets import BudgetWish
from fanfold.model.values import serial
from fanfold.model.values.decoding import AS_KEPT
from fanfold.model.values.files import File
from fanfold.store.store import Store

STORED = ("options", "title", "priority", "tags", "retry_limit", "metadata", "straight_through", "notify")
"""Parameters of a submission that a schedule stores beside its inputs and items."""


def stored(wanted: Submission, inputs: Sequence[Any], items: list[Any] | None) -> str:
    """The submission as text."""
    known = {name: getattr(wanted, name) for name in STORED} | {"inputs": list(inputs), "items": items}
    known |= {"tags": list(wanted.tags), "notify": list(wanted.notify)}
    known["budget"] = None if wanted.budget is None else asdict(wanted.budget)
    return serial.dump(known, "The schedule")


def restored(text: str) -> Submission:
    """The submission without its inputs."""
    known = serial.load(text, reading=AS_KEPT)
    items = None if known["items"] is None else [NewItem(one["key"], one["input"]) for one in known["items"]]
    named = {name: known.get(name) for name in STORED if name in known}
    return Submission(**named, items=items, literal=True, budget=budget_of(known))


def budget_of(known: dict[str, Any]) -> BudgetWish | None:
    """The budget of each task; schedules of earlier versions have none."""
    budget = known.get("budget")
    return None if budget is None else BudgetWish(**budget)


def shown(text: str) -> dict[str, Any]:
    """The submission as people see it."""
    found: dict[str, Any] = serial.load(text)
    return found


@contextmanager
def with_files(store: Store, text: str) -> Iterator[list[Any]]:
    """The inputs, with files open for reading, so that each task gets a copy of its own."""
    with ExitStack() as used:
        found = serial.load(text, store.bind, AS_KEPT)["inputs"]
        yield [Upload(one.name, used.enter_context(one.open())) if isinstance(one, File) else one for one in found]


def files_of(text: str) -> list[str]:
    """The keys of the blobs that a schedule keeps."""
    return [one.key for one in serial.load(text)["inputs"] if isinstance(one, File)]
