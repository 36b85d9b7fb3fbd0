"""The price of a submission: asked from the pipeline outside any transaction, and charged in the one that submits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanfold.engine.credits.booking import book, not_enough
from fanfold.engine.installed import find_installed
from fanfold.model.item import REDONE
from fanfold.model.money.credits import OFF, ON, OUTSIDE, WHOLE_TASK, EntryKind, PriceWork, units_of
from fanfold.model.money.questions import laid_over
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.plan import Plan
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


@dataclass(frozen=True)
class Retried:
    """The items that a retry names, and the options that it changes."""

    keys: Sequence[str]
    options: Mapping[str, Any]
    """For the retried items, beside those that earlier retries gave them."""
    task_options: Mapping[str, Any]


@dataclass(frozen=True)
class AskedPrice:
    """What a task costs, and the options that it was asked for."""

    units: Units | None
    """None if it costs what it did when it was submitted."""
    options: str | None
    """Those of the task's row."""


def price_of_retry(store: Store, pipelines: Mapping[str, Pipeline], number: int, retried: Retried) -> Units | None:
    """What the task would cost with changed options; None if they change nothing, or if the pipeline is not known here.

    Items keep the options of earlier retries, so each is asked for with those that its handler will get.
    """
    with store.read() as tx:
        row = tx.tasks.get(number) if retried.options or retried.task_options else None
        if row is None or not row.plan.priced:
            return None
        known = _items_of(tx, row)
        told = [tx.reading.own_options(row.number, stage, known) for stage in priced_stages(row.plan)]
    pipeline = pipelines.get(row.pipeline) or find_installed(row.pipeline)
    if pipeline is None or pipeline.pricer is None:
        return None
    own = with_task_options(_own_options(pipeline, row), retried.task_options)
    units = _ask(pipeline, row, laid_over(own, {} if retried.keys else dict(retried.options)), known)
    variants: dict[str, set[str]] = {}
    for key in {*retried.keys, *(key for stage in told for key in stage)}:
        said: dict[str, Any] = {}
        for stage in told:
            said |= serial.load(stage.get(key), reading=pipeline.kept_types.lenient) or {}
        said.pop(REDONE, None)
        said |= retried.options if not retried.keys or key in retried.keys else {}
        variants.setdefault(serial.dump(said, "The options"), set()).add(key)
    for text, keys in variants.items():
        said = serial.load(text, reading=pipeline.kept_types.lenient) or {}
        asked = _ask(pipeline, row, laid_over(own, said), known)
        units = {key: amount for key, amount in units.items() if key not in keys}
        units |= {key: asked[key] for key in keys if key in asked}
    return units


def price_of_rerun(store: Store, pipeline: Pipeline | None, number: int) -> AskedPrice | None:
    """What the task costs with its own options; None if the pipeline has no price here."""
    if pipeline is None or pipeline.pricer is None:
        return None
    with store.read() as tx:
        row = tx.tasks.get(number)
        if row is None or not is_asked_again(tx, row):
            return None if row is None else AskedPrice(None, row.options)
        known = _items_of(tx, row)
    return AskedPrice(_ask(pipeline, row, _own_options(pipeline, row), known), row.options)


def is_asked_again(tx: Transaction, row: TaskRow) -> bool:
    """Whether a rerun has to ask for the price: the task has other options or items than when it was submitted."""
    if not row.plan.priced:
        return False
    submitted = tx.credits.submitted(row.id)
    return row.plan.repriced or any(unit.item not in submitted for unit in tx.credits.units(row.id))


def with_task_options(own: dict[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """A task's options with some changed; None removes one."""
    return {name: value for name, value in laid_over(own, dict(changed)).items() if value is not None}


def priced_stages(plan: Plan) -> list[str]:
    """The last run of `each` stages: prices are per item of these."""
    chains = plan.chains()
    return chains[-1] if chains else []


def _items_of(tx: Transaction, row: TaskRow) -> list[str]:
    return [unit.item for unit in tx.credits.units(row.id) if unit.item != WHOLE_TASK]


def _own_options(pipeline: Pipeline, row: TaskRow) -> dict[str, Any]:
    return serial.load(row.options, reading=pipeline.kept_types.lenient) or {}


def _ask(pipeline: Pipeline, row: TaskRow, options: dict[str, Any], items: Sequence[str]) -> Units:
    inputs = serial.load(row.input, reading=pipeline.kept_types.lenient) or []
    metadata = serial.load(row.extra) or {}
    return priced(pipeline, PriceWork(inputs, options, metadata, row.owner, items))


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
