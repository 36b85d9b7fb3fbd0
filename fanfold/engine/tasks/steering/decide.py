"""Stores people's decisions about parts of results: checked together, stored in short transactions, merged once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from fanfold.engine.tasks.moving.merge_again import make_due
from fanfold.engine.tasks.moving.transitions import Pipelines
from fanfold.errors import BadInput, NotFound
from fanfold.model.decision import PART_LENGTH, DecisionVerdict, NewDecision, check_verdict
from fanfold.model.plan import Kind, Plan
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.model.text.texts import check_text, shown
from fanfold.model.values import serial
from fanfold.store.store import Store, Transaction

AT_ONCE = 500
"""Most decisions stored in one transaction: about 10 ms on SQLite."""
BYTES_AT_ONCE = 2_000_000
KEY_LENGTH = 200
NAMED = 20
"""Most items named in an event or an error."""
FIELDS = tuple(one.name for one in fields(NewDecision))
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Checked:
    """A valid decision."""

    stage: str
    item: str
    part: str
    verdict: DecisionVerdict
    value: str | None

    @property
    def key(self) -> Key:
        """What it is about."""
        return self.stage, self.item, self.part


class Deciding:
    """Stores decisions about one task."""

    def __init__(self, store: Store, pipelines: Pipelines, number: int, actor: str) -> None:
        self.store = store
        self.pipelines = pipelines
        self.number = number
        self.actor = actor

    def decide(self, wanted: Iterable[NewDecision | Mapping[str, Any]], stage: str | None = None) -> int:
        """Store these decisions; returns how many are new.

        All are checked before the first is stored. Many are stored in short transactions. After a crash in between, repeat the
        call: a decision equal to the last one about its part is skipped.
        """
        with self.store.read() as tx:
            row = self._there(tx.tasks.get(self.number))
        checked = [self._checked(row, one, stage) for one in wanted]
        with self.store.read() as tx:
            _check_items(tx, row, checked)
        chunks = list(_chunks(checked))
        reason = _told(checked)
        return sum(
            self.store.transact(partial(self._keep, some=some, reason=reason, more=some is not chunks[-1]))
            for some in chunks
        )

    def _checked(self, row: TaskRow, given: NewDecision | Mapping[str, Any], stage: str | None) -> Checked:
        one = given if isinstance(given, NewDecision) else _from_mapping(given)
        verdict = check_verdict(one.verdict)
        item = check_text(one.item, "The key of an item", least=1, most=KEY_LENGTH)
        part = check_text(one.part, "The key of a part", least=1, most=PART_LENGTH)
        if one.value is not None and verdict is not DecisionVerdict.REPLACE:
            raise BadInput(say("value_without_replace", verdict=verdict, item=item, part=part))
        value = None
        if verdict is DecisionVerdict.REPLACE:
            what = f"The value for part {part} of item {item}"
            value = serial.dump(one.value, what)
            if (size := len(value.encode())) > (limit := self.store.settings.inline_bytes):
                raise BadInput(say("decision_too_large", item=item, part=part, size=size, limit=limit))
            if serial.has_marks(json.loads(value)):
                raise BadInput(say("decision_with_file", item=item, part=part))
        return Checked(_stage(row, one.stage or stage), item, part, verdict, value)

    def _keep(self, tx: Transaction, some: Sequence[Checked], reason: str, more: bool) -> int:
        """Store some decisions and make the merge due, under the task's lock, so that their numbers are in order."""
        row = self._there(tx.tasks.lock(self.number))
        new = _news(tx, self.number, some)
        if new:
            rows = [
                {
                    "stage": one.stage,
                    "item": one.item,
                    "part": one.part,
                    "verdict": one.verdict.value,
                    "value": one.value,
                    "actor": self.actor,
                }
                for one in new
            ]
            row = replace(row, decided=tx.decisions.add(self.number, row.decided or 0, rows))
        if new or not more:
            make_due(tx, self.pipelines, row, self.actor, reason, more=more)
        return len(new)

    def _there(self, row: TaskRow | None) -> TaskRow:
        if row is None:
            raise NotFound(say("deleted_meanwhile"))
        return row


def default_stage(plan: Plan) -> str | None:
    """The default stage of a decision: the one that the last merge reads, otherwise the last `each` stage."""
    last = plan.last_merge()
    merged = None if last is None else plan.last_each(last.name)
    found = merged or next((stage for stage in reversed(plan.stages) if stage.kind is Kind.EACH), None)
    return None if found is None else found.name


def _stage(row: TaskRow, name: str | None) -> str:
    if name is not None:
        check_text(name, "The stage", least=1)
    stage = name or default_stage(row.plan)
    if stage is None:
        raise BadInput(say("nothing_to_decide", task=row.id))
    if row.plan.stage(stage).kind is not Kind.EACH:
        raise BadInput(say("decisions_of_each", stage=stage))
    merges = [one.name for one in row.plan.stages if one.kind is Kind.MERGE]
    read = [one.name for one in map(row.plan.last_each, merges) if one is not None]
    if merges and stage not in read:
        raise BadInput(say("decisions_not_read", stage=stage, read=read))
    return stage


def _from_mapping(given: Any) -> NewDecision:
    if not isinstance(given, Mapping):
        raise BadInput(say("no_decision", fields=FIELDS, value=shown(given)))
    unknown = [name for name in given if name not in FIELDS]
    missing = [name for name in ("item", "part", "verdict") if name not in given]
    if unknown or missing:
        value = shown(dict(given))
        if missing:
            raise BadInput(say("decision_lacks", names=missing, value=value, fields=FIELDS))
        raise BadInput(
            say("decision_unknown", names=[str(name) for name in unknown[:NAMED]], value=value, fields=FIELDS)
        )
    return NewDecision(**given)


def _check_items(tx: Transaction, row: TaskRow, checked: Sequence[Checked]) -> None:
    """NotFound if an item does not exist; nothing is stored yet."""
    by_stage: dict[str, dict[str, None]] = {}
    for one in checked:
        by_stage.setdefault(one.stage, {})[one.item] = None
    for stage, keys in by_stage.items():
        unknown = sorted(set(keys) - tx.reading.known_keys(row.number, stage, list(keys)))
        if unknown:
            named = ", ".join(unknown[:NAMED]) + (f" and {len(unknown) - NAMED} more" if len(unknown) > NAMED else "")
            raise NotFound(say("no_such_items_in", task=row.id, keys=named, stage=stage))


def _chunks(checked: Sequence[Checked]) -> Iterator[Sequence[Checked]]:
    """Chunks for short transactions, limited by number and by size."""
    start = size = 0
    for place, one in enumerate(checked):
        held = len(one.value or "")
        if place > start and (place - start >= AT_ONCE or size + held > BYTES_AT_ONCE):
            yield checked[start:place]
            start, size = place, 0
        size += held
    if start < len(checked):
        yield checked[start:]


def _news(tx: Transaction, task: int, some: Sequence[Checked]) -> list[Checked]:
    """Decisions that differ from the last one about their part, in order."""
    standing = {
        key: (row.verdict, row.value) for key, row in tx.decisions.standing(task, [one.key for one in some]).items()
    }
    new = []
    for one in some:
        if standing.get(one.key, (DecisionVerdict.UNDO.value, None)) != (one.verdict.value, one.value):
            new.append(one)
        standing[one.key] = (one.verdict.value, one.value)
    return new


def _told(checked: Sequence[Checked]) -> str:
    """How many decisions there are, and about which items."""
    keys = list(dict.fromkeys((one.stage, one.item) for one in checked))
    if len(keys) == 1:
        return say("decisions_about_item", count=len(checked), item=keys[0][1])
    named = [item for _, item in keys[:NAMED]] + (["…"] if len(keys) > NAMED else [])
    return say("decisions_about_items", count=len(checked), items=len(keys), keys=named)
