"""Asks all questions about one document by group and window, then repairs, reduces and checks. Returns the item's record."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import fanfold as ff
from fanfold.apps.extract.asking import prompt
from fanfold.apps.extract.asking.answers import Answered, check_json, read
from fanfold.apps.extract.asking.judging import cell, judged
from fanfold.apps.extract.asking.reducing import is_same, reduced, with_alternatives
from fanfold.apps.extract.asking.states import ABSENT, INVALID, Cell
from fanfold.apps.extract.asking.windows import Window, around, windows
from fanfold.apps.extract.documents.document import Document
from fanfold.apps.extract.sentences import say_of_extract
from fanfold.apps.extract.template.dialect import answer_schema
from fanfold.apps.extract.template.fields import ASK, Field, Template
from fanfold.apps.extract.template.groups import Group, groups
from fanfold.model.text.sentences import say as say_of_engine
from fanfold.model.values.token_estimate import guessed_tokens

CUT_OFF = str(say_of_engine("answer_cut_off"))
MOST_ROWS = 1_000
Found = Any


class Asking(Protocol):
    """The type of ``item.ask``, which asks a model."""

    def __call__(
        self,
        prompt: str,
        *,
        system: str | None = None,
        model: str | None = None,
        check: ff.Check | None = None,
        schema: dict[str, Any] | None = None,
    ) -> Awaitable[ff.Answer]:
        """The answer."""
        ...


@dataclass(frozen=True)
class Rules:
    """How documents are asked about."""

    context: int = 128_000
    """Context size of the model, in tokens."""
    model: str | None = None
    """A model to use instead of the one in the options."""


@dataclass
class Made:
    """The result for a document: cells by field, rows, and the fields that no model answered."""

    fields: dict[str, Cell] = field(default_factory=dict)
    rows: list[dict[str, Cell]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unanswered: set[str] = field(default_factory=set)
    answered: bool = False


class Inquiry:
    """The questions about one document."""

    def __init__(self, ask: Asking, template: Template, document: Document, rules: Rules) -> None:
        self._ask = ask
        self.template = template
        self.document = document
        self.rules = rules

    async def asked(self, fields: Sequence[Field], *, keeps: bool = False) -> Made:
        """Ask about these fields. Raises NoAnswer if nothing was answered, unless the record ``keeps`` other cells."""
        made = Made()
        wanted = [(group, window) for group in groups(fields) for window in self._windows(group)]
        answers = await _all(self._answers(group, window, made) for group, window in wanted)
        is_divided = any(window.count > 1 for _, window in wanted)
        found: dict[str, list[Cell]] = {one.name: [] for one in fields}
        rows: list[dict[str, Cell]] = []
        for some in answers:
            await asyncio.to_thread(self._collect, some, found, rows)
        if not made.answered and made.problems and not keeps:
            raise ff.NoAnswer(made.problems[0])
        await self._reduce(made, fields, found)
        made.rows = _distinct_rows(rows) if is_divided else [row for row in rows if not _is_empty(row)]
        await self._repair(made, fields)
        return made

    def _windows(self, group: Group) -> list[Window]:
        """The windows for a group. Lines are numbered over the whole document, so windows need no translation."""
        beside = guessed_tokens(prompt.SYSTEM, prompt.question(group, "", about=self.template.about))
        return windows(self.document, self.rules.context, beside)

    async def _answers(self, group: Group, window: Window, made: Made) -> list[tuple[Group, Answered]]:
        """The answers about a group. If an answer is cut off, the group is divided into two and asked again."""
        try:
            part = (window.number, window.count)
            text = prompt.question(group, window.text, about=self.template.about, part=part)
            found = await self._question(group, text)
            made.answered = True
            return [(group, found)]
        except ff.NoAnswer as problem:
            halves = group.halves()
            if halves is not None and any(CUT_OFF in reason for reason in (problem.message, *problem.reasons)):
                parts = await _all(self._answers(half, window, made) for half in halves)
                return [one for part in parts for one in part]
            made.problems.append(problem.message)
            return [(group, Answered([], False, None))]

    async def _question(self, group: Group, text: str) -> Answered:
        answer = await self._ask(
            text, system=prompt.SYSTEM, model=self.rules.model, check=check_json, schema=answer_schema(group)
        )
        cost = None if answer.usage.cost is None else answer.usage.cost / max(1, len(group.fields))
        return read(answer.text, group, model=answer.source, cost=cost)

    def _collect(
        self,
        answers: list[tuple[Group, Answered]],
        found: dict[str, list[Cell]],
        rows: list[dict[str, Cell]],
    ) -> None:
        """Turn answers into cells, in a thread because it is slow."""
        for group, answered in answers:
            for said in answered.objects[: MOST_ROWS if group.is_rows else 1]:
                cells = {one.name: self._cell(one, said[one.name], answered) for one in group.fields}
                if group.is_rows:
                    rows.append(cells)
                else:
                    for name, made in cells.items():
                        found[name].append(made)

    def _cell(self, one: Field, said: Any, answered: Answered) -> Cell:
        made = judged(one, said, self.document, model=answered.model, cost=answered.cost)
        return made | {"repaired": answered.repaired}

    async def _reduce(self, made: Made, fields: Sequence[Field], found: dict[str, list[Cell]]) -> None:
        chosen = await self._chosen(fields, found)
        for one in fields:
            if one.scope == "row":
                continue
            if not found[one.name]:
                reason = made.problems[0] if made.problems else say_of_extract("not_answered")
                made.fields[one.name] = cell(one, INVALID, status="unclear", reason=reason)
                made.unanswered.add(one.name)
            else:
                made.fields[one.name] = chosen.get(one.name) or reduced(one, found[one.name])

    async def _chosen(self, fields: Sequence[Field], found: dict[str, list[Cell]]) -> dict[str, Cell]:
        """The cells of fields with `reduce: ask` for which parts of the document gave different values."""
        open_ones: dict[str, tuple[Field, list[Cell]]] = {}
        for number, one in enumerate(fields, 1):
            cells = _differing(found[one.name])
            if one.reduce == ASK and len(cells) > 1:
                open_ones[f"field_{number}"] = (one, cells)
        if not open_ones:
            return {}
        try:
            answer = await self._ask(prompt.choice(open_ones), model=self.rules.model, check=check_json)
        except ff.NoAnswer:
            return {}
        import json_repair

        said: Any = json_repair.loads(answer.text)
        made: dict[str, Cell] = {}
        for name, (one, cells) in open_ones.items():
            chosen = said.get(name) if isinstance(said, dict) else None
            if isinstance(chosen, int) and 1 <= chosen <= len(cells):
                best = cells[chosen - 1]
                made[one.name] = with_alternatives(best, [other for other in cells if other is not best])
        return made

    async def _repair(self, made: Made, fields: Sequence[Field]) -> None:
        """Ask once more about invalid values, with the exact errors. Absent values are never asked for again."""
        await _all(
            self._repaired(made, group)
            for group in groups(
                one for one in fields if _is_invalid(made.fields.get(one.name)) and one.name not in made.unanswered
            )
            if not group.is_rows
        )
        if any(_is_invalid(one) for row in made.rows for one in row.values()):
            await self._repaired_rows(made, Group(tuple(one for one in fields if one.scope == "row"), is_rows=True))

    async def _repaired(self, made: Made, group: Group) -> None:
        cells = {one.name: made.fields[one.name] for one in group.fields}
        errors = [f"{name}: {one['reason']}" for name, one in cells.items()]
        answer = {name: one["raw"] for name, one in cells.items()}
        found = await self._again(group, cells.values(), answer, errors)
        for one in group.fields if found is not None and found.objects else ():
            assert found is not None
            again = await asyncio.to_thread(self._cell, one, found.objects[0][one.name], found)
            made.fields[one.name] = _better(cells[one.name], again)

    async def _repaired_rows(self, made: Made, group: Group) -> None:
        invalid = [one for row in made.rows for one in row.values() if _is_invalid(one)]
        errors = [
            f"rows[{number}].{name}: {one['reason']}"
            for number, row in enumerate(made.rows)
            for name, one in row.items()
            if _is_invalid(one)
        ]
        answer = {"rows": [{name: one["raw"] or one["value"] for name, one in row.items()} for row in made.rows]}
        found = await self._again(group, invalid, answer, errors)
        if found is None or len(found.objects) != len(made.rows):
            return
        for row, said in zip(made.rows, found.objects, strict=True):
            for one in group.fields:
                if _is_invalid(row[one.name]):
                    again = await asyncio.to_thread(self._cell, one, said[one.name], found)
                    row[one.name] = _better(row[one.name], again)

    async def _again(self, group: Group, cells: Iterable[Cell], answer: Any, errors: Sequence[str]) -> Answered | None:
        places = [[place["line"] for place in one["evidence"]] for one in cells]
        room = int(self.rules.context * 0.3)
        # Without a quote the place is unknown, so send as much of the document as fits.
        text = (
            around(self.document, [line for some in places for line in some], room)
            if all(places)
            else self._windows(group)[0].text
        )
        try:
            return await self._question(group, prompt.repair(group, text, answer, errors))
        except ff.NoAnswer:
            return None


def _is_invalid(one: Cell | None) -> bool:
    return one is not None and one["state"] == INVALID


def _better(before: Cell, again: Cell) -> Cell:
    """The second answer if it is valid, otherwise the first; both attempts are counted."""
    kept = before if again["state"] == INVALID else again
    return kept | {"attempts": 2}


def _differing(cells: Sequence[Cell]) -> list[Cell]:
    kept: list[Cell] = []
    for one in cells:
        if one["value"] is not None and not any(is_same(one["value"], other["value"]) for other in kept):
            kept.append(one)
    return kept


def _is_empty(row: dict[str, Cell]) -> bool:
    return all(one["state"] == ABSENT for one in row.values())


def _distinct_rows(rows: list[dict[str, Cell]]) -> list[dict[str, Cell]]:
    """The rows, without empty ones and without duplicates from overlapping windows."""
    kept: list[dict[str, Cell]] = []
    for row in rows:
        if not _is_empty(row) and not any(
            all(is_same(row[name]["value"], other[name]["value"]) for name in row) for other in kept
        ):
            kept.append(row)
    return kept


async def _all(questions: Iterable[Awaitable[Found]]) -> list[Found]:
    """The answers to all questions. A problem is raised only after all are asked, so that they go into one batch."""
    found = await asyncio.gather(*questions, return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return list(found)
