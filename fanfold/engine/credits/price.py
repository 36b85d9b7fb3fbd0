"""The price of a submission: asked from the pipeline outside any transaction, and charged in the one that submits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fanfold.engine.credits.booking import book, not_enough
from fanfold.engine.installed import find_installed
from fanfold.model.money.credits import OFF, ON, OUTSIDE, WHOLE_TASK, EntryKind, PriceWork, units_of
from fanfold.model.money.questions import laid_over
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import TaskRow
from fanfold.model.values import serial
from fanfold.settings import Settings
from fanfold.store.rows.money.credits import NewEntry
from fanfold.store.store import Store, Transaction

Units = dict[str, int]
"""What is charged, by item key."""


def is_priced(settings: Settings, pipeline: Pipeline, owner: str) -> bool:
    """Whether a submission costs credits. A task without an owner has no account, and is free."""
    return settings.credits != OFF and pipeline.pricer is not None and owner != ""


def priced(pipeline: Pipeline, work: PriceWork) -> Units:
    """What the pipeline's price function asks for. An exception in it is the caller's to see: nothing was begun."""
    return {} if pipeline.pricer is None else units_of(pipeline.pricer(work), work.items)


def price_of_retry(
    store: Store, pipelines: Mapping[str, Pipeline], number: int, changed: Mapping[str, Any]
) -> Units | None:
    """What the task would cost with changed options; None if they change nothing, or if the pipeline is not known here."""
    with store.read() as tx:
        row = tx.tasks.get(number) if changed else None
        if row is None or not row.plan.priced:
            return None
        known = [unit.item for unit in tx.credits.units(row.id) if unit.item != WHOLE_TASK]
    pipeline = pipelines.get(row.pipeline) or find_installed(row.pipeline)
    if pipeline is None or pipeline.pricer is None:
        return None
    own = serial.load(row.options, reading=pipeline.kept_types.lenient) or {}
    inputs = serial.load(row.input, reading=pipeline.kept_types.lenient) or []
    metadata = serial.load(row.extra) or {}
    return priced(pipeline, PriceWork(inputs, laid_over(own, dict(changed)), metadata, row.owner, known))


def keys_of(rows: Iterable[tuple[str | None, Any]]) -> Sequence[str]:
    """The keys of new items; the position serves as the key of an item without one."""
    return [str(position) if key is None else key for position, (key, _) in enumerate(rows, 1)]


def check_balance(store: Store, owner: str, units: Units) -> None:
    """Refuse a submission early if the balance is too low; the transaction that submits decides."""
    total = sum(units.values())
    if store.settings.credits != ON or not total:
        return
    with store.read() as tx:
        account = tx.credits.account(owner)
        if account is None or account.balance < total:
            raise not_enough(tx, owner, total)


def charge(tx: Transaction, settings: Settings, row: TaskRow, units: Units, actor: str) -> None:
    """Charge a task that is being submitted. NotEnoughCredits rolls the whole submission back."""
    entries = [
        NewEntry(row.owner, EntryKind.CHARGE, -amount, row.id, item, 0, actor) for item, amount in sorted(units.items())
    ]
    book(tx, entries, pipeline=row.pipeline, outside=settings.credits == OUTSIDE)
