"""Queries about items: pages of items, one item with all its data, its output, its calls to models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fanfold.engine.queries.lookup import Lookup, check_limit, chosen_stage
from fanfold.engine.queries.task_view import item_view
from fanfold.errors import NotFound
from fanfold.model.item import REDONE, Item, ItemDetail
from fanfold.model.lifecycle import ItemState
from fanfold.model.money.questions import NOTHING_SPENT
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import Sentence, say
from fanfold.model.text.texts import check_keys
from fanfold.model.values import serial
from fanfold.store.items.query import ItemRow
from fanfold.store.rows.money.answers import CallRow


class ItemQueries:
    """Read-only queries about the items of a task."""

    def __init__(self, look: Lookup) -> None:
        self._look = look
        self.store = look.store
        self.owner = look.owner

    def items(
        self,
        task_id: str,
        *,
        stage: str | None = None,
        states: Sequence[str] = (),
        keys: Sequence[str] = (),
        degraded: bool | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> list[Item]:
        """Items of a task in order, by default of the stage people count; ``after`` is the key of the last one seen.

        ``degraded=True`` returns items with a degraded result, ``False`` the others.
        """
        keys = check_keys(keys, "`keys`")
        check_limit(limit)
        row = self._look.row(task_id)
        with self.store.read() as tx:
            name = chosen_stage(tx, row, stage)
            start = 0 if after is None else self._look.item_id(tx, row, name, after)
            rows = tx.reading.page(
                row.number,
                stage=name,
                states=states,
                keys=keys,
                degraded=degraded,
                after=start,
                limit=limit,
                bodies=False,
            )
            spent = tx.calls.of_items([found.id for found in rows])
        return [item_view(self.store, row.plan, found, spent.get(found.id, NOTHING_SPENT)) for found in rows]

    def item(self, task_id: str, key: str, stage: str | None = None) -> ItemDetail:
        """An item with its input, output, errors, attempts and neighbours."""
        row = self._look.row(task_id)
        with self.store.read() as tx:
            found = self._look.item(tx, row, key, stage)
            tried = tx.reading.attempts(found.id)
            spent = tx.calls.of_items([found.id]).get(found.id, NOTHING_SPENT)
            near = tx.reading.neighbours(row.number, found.stage, found.seq)
        types = self._look.types(row)[0]
        takes, makes = types.input(found.stage), types.output(found.stage)
        return ItemDetail(
            item=item_view(self.store, row.plan, found, spent),
            input=self._look.unfold(row, found.input, say("input_of_item", item=key), takes),
            output=self._look.unfold(row, found.output, _output_of(found), makes),
            options={name: value for name, value in (serial.load(found.options) or {}).items() if name != REDONE},
            previous=self._previous(row, found, makes),
            previous_model=found.previous_model,
            made_by=found.made_by,
            error_detail=found.error_detail,
            attempts=tuple(tried),
            before=near[0],
            after=near[1],
        )

    def output(self, task_id: str, key: str, stage: str | None = None, *, earlier: bool = False) -> Any:
        """The output of a done item; with ``earlier``, its output before it was redone. NotFound without one."""
        row = self._look.row(task_id)
        with self.store.read() as tx:
            found = self._look.item(tx, row, key, stage)
        is_done = found.state == ItemState.DONE
        before = found.previous if is_done else found.output or found.previous
        text = before if earlier else found.output
        if text is None if earlier else not is_done:
            raise NotFound(_no_output(found, row.id, earlier, before), code="no_output")
        return self._look.unfold(row, text, _output_of(found), self._look.types(row)[0].output(found.stage))

    def calls(
        self,
        task_id: str,
        key: str | None = None,
        stage: str | None = None,
        *,
        before: int | None = None,
        limit: int | None = 1_000,
    ) -> list[CallRow]:
        """The last model calls of a task or of one of its items, in order, with their cost.

        ``before`` is the id of the earliest call already seen; without a ``limit``, all calls are returned.
        """
        check_limit(limit)
        row = self._look.row(task_id)
        with self.store.read() as tx:
            item = None if key is None else self._look.item_id(tx, row, chosen_stage(tx, row, stage), key)
            return tx.calls.of_task(row.number, item, before=before, limit=limit)

    def _previous(self, row: TaskRow, found: ItemRow, hint: Any) -> Any:
        """The previous output. A large one is in a file, which a cleanup may have removed meanwhile."""
        try:
            return self._look.unfold(row, found.previous, _output_of(found), hint)
        except FileNotFoundError:
            return None


def _output_of(found: ItemRow) -> Sentence:
    return say("output_of_item", stage=found.stage, item=found.key)


def _no_output(found: ItemRow, task: str, earlier: bool, before: str | None) -> Sentence:
    if earlier:
        return say("no_earlier_output", item=found.key, task=task, state=found.state)
    if before:
        return say("no_output_but_earlier", item=found.key, task=task, state=found.state)
    return say("no_output", item=found.key, task=task, state=found.state)
