"""Queries the changes of a task: a window of paragraphs with figures about all of them, and decides about many."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanfold.engine.client import Client
from fanfold.model.decision import DecisionVerdict
from fanfold.model.lifecycle import ItemState
from fanfold.model.task import Task
from fanfold.model.views.changes import OPEN, STATES, Paragraph, kind_of, paragraphs_in, state_of, topic_of
from fanfold.server.changes.change_index import ChangeIndex, ChangeIndexes, FoundParagraph, Item, PageFilter
from fanfold.server.changes.flat_list import decide_each

LARGEST_WINDOW = 100
Told = dict[str, Any]


@dataclass(frozen=True)
class ChangeWindow:
    """Paragraphs with changes, and figures about all changes of the task."""

    offset: int
    total: int
    rows: list[Told]
    next: int | None
    fitting: int
    changes: int
    decided: int
    states: dict[str, int]
    kinds: dict[str, int]
    topics: dict[str, int]
    origins: dict[str, int]
    chapters: list[str]
    as_of: int
    version: int
    unread: int
    is_cut: bool
    stage: str


class ChangeWindows:
    """Queries on the changes of tasks, for one client."""

    def __init__(self, client: Client, indexes: ChangeIndexes) -> None:
        self.client = client
        self._indexes = indexes

    def window(
        self, task_id: str, wanted: PageFilter, offset: int = 0, limit: int = 50, as_of: int | None = None
    ) -> ChangeWindow:
        """Some paragraphs, in the order of the text. The headings of all chapters come with the first window."""
        index = self._indexes.of(self.client.lookup, task_id)
        with index.lock:
            index.look()
            found = index.find(wanted, as_of)
            shown = found[offset : offset + min(limit, LARGEST_WINDOW)]
            figures = index.figures()
            states = {name: count for name, count in figures["states"].items() if count}
            return ChangeWindow(
                offset=offset,
                total=len(found),
                rows=_rows(index, shown, found[offset - 1] if shown and offset else None),
                next=offset + len(shown) if offset + len(shown) < len(found) else None,
                fitting=sum(len(one.fitting) for one in found),
                changes=sum(figures["kinds"].values()),
                decided=sum(states.get(name, 0) for name in STATES if name != OPEN),
                states=states,
                **{name: _named(figures[name]) for name in ("kinds", "topics", "origins")},
                chapters=index.chapters() if not offset else [],
                as_of=index.last_decision if as_of is None else as_of,
                version=index.version,
                unread=index.unread,
                is_cut=index.is_cut,
                stage=index.stage,
            )

    def decide(self, task_id: str, wanted: PageFilter, verdict: DecisionVerdict) -> int:
        """Accept or reject all changes that pass a filter, or undo decisions; returns how many are new."""
        index = self._indexes.of(self.client.lookup, task_id)
        with index.lock:
            index.look(math.inf)
            found = [(one.item.key, key) for one in index.find(wanted) for key in one.fitting]
            changes = [(item, key, index.state(item, key)) for item, key in found]
        return decide_each(self.client, task_id, changes, verdict, index.stage)


def _named(counts: dict[str, int]) -> dict[str, int]:
    """Counts by name, the largest first; changes without a name are left out."""
    return dict(sorted(((name, count) for name, count in counts.items() if name), key=lambda one: (-one[1], one[0])))


def _rows(index: ChangeIndex, shown: Sequence[FoundParagraph], before: FoundParagraph | None) -> list[Told]:
    """These paragraphs with their text, read from the outputs. A heading is told where the chapter changes."""
    known = _paragraphs(index, {one.item.seq: one.item for one in shown})
    rows = []
    for one in shown:
        is_first = before is None or before.item.seq != one.item.seq
        is_heading = before is None or before.paragraph.chapter != one.paragraph.chapter
        place = {"item": one.item.key, "chapter": one.paragraph.chapter, "is_first": is_first, "is_heading": is_heading}
        rows.append(place | _row(index, one, known.get(one.item.seq, [])))
        before = one
    return rows


def _paragraphs(index: ChangeIndex, items: dict[int, Item]) -> dict[int, list[Paragraph]]:
    return {
        row.seq: list(paragraphs_in(index.store.unfold(row.output)))
        for row in index.bodies(items.values())
        if row.state == ItemState.DONE
    }


def _row(index: ChangeIndex, one: FoundParagraph, known: list[Paragraph]) -> Told:
    number = one.paragraph.number
    if not 0 <= number < len(known):  # The item failed, or it has another output since it was listed.
        error = one.item.error if one.item.state == ItemState.FAILED else None
        nothing: Told = {"paragraph": "", "before": "", "after": "", "gap": "", "warnings": []}
        return nothing | {"error": error or "", "changes": []}
    text = known[number]
    return {
        "paragraph": text.id,
        "before": text.before,
        "after": text.after,
        "gap": text.gap,
        "warnings": text.warnings,
        "error": "",
        "changes": [_change(index, one, change) for change in text.changes()],
    }


def _change(index: ChangeIndex, one: FoundParagraph, change: Mapping[str, Any]) -> Told:
    key, before, after = change["key"], change["before"], change["after"]
    made = index.decisions.get((one.item.key, key))
    decision = None if made is None else {"value": made.value, "actor": made.actor, "at": made.at.isoformat()}
    return {
        "key": key,
        "start": change["start"],
        "end": change["start"] + len(before),
        "before": before,
        "after": after,
        "kind": kind_of(before, after),
        "topic": topic_of(before, after),
        "origin": str(change.get("origin") or ""),
        "state": state_of(made),
        "fits": key in one.fitting,
        "decision": decision,
    }


def shows_changes(task: Task, view: str) -> bool:
    """Whether a task has a page of changes."""
    return view == "changes" and any(stage.total for stage in task.stages)
