"""An index of a task's changes: where each is, what it is about, and what people decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from sys import intern
from typing import Any, NamedTuple

from fanfold.model.decision import Decision, DecisionVerdict
from fanfold.model.lifecycle import ItemState
from fanfold.model.task import TaskRow
from fanfold.model.views.changes import (
    OPEN,
    ChangeFilter,
    Paragraph,
    chapter_of,
    kind_of,
    paragraphs_in,
    state_of,
    topic_of,
)
from fanfold.server.tables.item_index import IndexedItem, ItemIndex, TaskIndexes
from fanfold.store.items.query import ItemRow
from fanfold.store.store import Store

GAP = "gap"
"""The state of a paragraph that kept its source."""


class IndexedChange(NamedTuple):
    """A change in the index, with what filters need."""

    key: str
    kind: str
    topic: str
    origin: str
    before: str
    after: str


class IndexedParagraph(NamedTuple):
    """A paragraph in the index. ``number`` is its place in the output; -1 stands for an item that failed."""

    number: int
    chapter: str
    is_gap: bool
    changes: tuple[IndexedChange, ...]


Item = IndexedItem[IndexedParagraph]
Figures = dict[str, Counter[str]]


class FoundParagraph(NamedTuple):
    """A paragraph that passes a filter, with the keys of the changes that pass it."""

    item: Item
    paragraph: IndexedParagraph
    fitting: list[str]


@dataclass(frozen=True)
class PageFilter(ChangeFilter):
    """A filter for the page: of one chapter, or one item; the state `gap` lists paragraphs that kept their source.

    With ``whole``, it also lists paragraphs without changes, if nothing else is wanted.
    """

    item: str = ""
    whole: bool = False

    @property
    def is_about_content(self) -> bool:
        """Whether it asks for a kind, topic, origin or text."""
        return any((self.kind, self.topic, self.origin, self.text))

    @property
    def is_about_changes(self) -> bool:
        """Whether it asks for something that only changes have."""
        return bool(self.state) or self.is_about_content


class ChangeIndex(ItemIndex[IndexedParagraph]):
    """The index of one task's changes."""

    def __init__(self, store: Store, row: TaskRow) -> None:
        super().__init__(store, row)
        self.history: dict[tuple[str, str], list[Decision]] = {}
        self._found: tuple[object, list[FoundParagraph]] | None = None
        self._figures: tuple[object, Figures] | None = None
        self._known: tuple[int, Figures, dict[str, set[str]]] | None = None

    @property
    def last_decision(self) -> int:
        """Number of the latest decision that the index knows."""
        return self._last_decision

    def find(self, wanted: PageFilter, as_of: int | None = None) -> list[FoundParagraph]:
        """The paragraphs that pass a filter, in order.

        With ``as_of``, states count as they were after the decision with that number. A list filtered by state then
        stays the same while somebody decides about what is in it.
        """
        moment = as_of if as_of is not None else self._last_decision
        key = (wanted, self.version, moment if wanted.state else 0)
        if self._found is None or self._found[0] != key:
            self._found = key, list(self._finding(wanted, moment))
        return self._found[1]

    def _finding(self, wanted: PageFilter, moment: int) -> Iterator[FoundParagraph]:
        is_narrow = wanted.is_about_content
        for item in self.items.values():
            if wanted.item and item.key != wanted.item:
                continue
            for paragraph in item.rows:
                if wanted.chapter and paragraph.chapter != wanted.chapter:
                    continue
                keys = [one.key for one in paragraph.changes if not is_narrow or wanted.describes(one)]
                if wanted.state:
                    keys = [key for key in keys if self.state(item.key, key, moment) == wanted.state]
                if keys or self._is_shown(wanted, paragraph):
                    yield FoundParagraph(item, paragraph, keys)

    def _is_shown(self, wanted: PageFilter, paragraph: IndexedParagraph) -> bool:
        """Whether a paragraph without a fitting change is shown: a gap, or any if the whole text is wanted."""
        if wanted.state == GAP or not wanted.is_about_changes:
            return paragraph.is_gap or (wanted.whole and not wanted.is_about_changes)
        return False

    def state(self, item: str, part: str, as_of: int | None = None) -> str:
        """The state of a change, now or after a certain decision."""
        made = self.history.get((item, part))
        if not made:
            return OPEN
        if as_of is not None:
            made = [one for one in made if one.number <= as_of]
        return OPEN if not made or made[-1].verdict is DecisionVerdict.UNDO else state_of(made[-1])

    def figures(self) -> Figures:
        """The changes of the whole text by state, kind, topic and origin; gaps count among the states."""
        key = self.version, self._last_decision
        if self._figures is None or self._figures[0] != key:
            self._figures = key, self._counted()
        return self._figures[1]

    def _counted(self) -> Figures:
        """Count the decisions; the changes themselves are counted again only when results have arrived."""
        if self._known is None or self._known[0] != self.version:
            self._known = self.version, self._counted_changes(), self._keys()
        _, figures, keys = self._known
        states = Counter({GAP: figures["states"][GAP]})
        states.update(
            state_of(one) for (item, part), one in self.decisions.items() if part in keys.get(item, frozenset())
        )
        states[OPEN] = figures["kinds"].total() - states.total() + states[GAP]
        return figures | {"states": states}

    def _keys(self) -> dict[str, set[str]]:
        return {
            item.key: {change.key for paragraph in item.rows for change in paragraph.changes}
            for item in self.items.values()
        }

    def _counted_changes(self) -> Figures:
        found: Figures = {name: Counter() for name in ("states", "kinds", "topics", "origins")}
        for item in self.items.values():
            for paragraph in item.rows:
                found["states"][GAP] += paragraph.is_gap
                for change in paragraph.changes:
                    found["kinds"][change.kind] += 1
                    found["topics"][change.topic] += 1
                    found["origins"][change.origin] += 1
        return found

    def chapters(self) -> list[str]:
        """The headings, in order."""
        found = dict.fromkeys(paragraph.chapter for item in self.items.values() for paragraph in item.rows)
        return [chapter for chapter in found if chapter]

    def _note(self, decision: Decision) -> None:
        super()._note(decision)
        self.history.setdefault((decision.item, decision.part), []).append(decision)

    def _learn(self, item: Item, row: ItemRow) -> None:
        if item.state == ItemState.FAILED:
            chapter = intern(chapter_of(self.store.unfold(row.input)))
            item.rows = [IndexedParagraph(-1, chapter, is_gap=True, changes=())]
            return
        output = self.store.unfold(row.output) if item.state == ItemState.DONE and item.stage == self.stage else None
        item.rows = [_indexed(one) for one in paragraphs_in(output)]


def _indexed(one: Paragraph) -> IndexedParagraph:
    return IndexedParagraph(one.number, intern(one.chapter), bool(one.gap), tuple(map(_change, one.changes())))


def _change(one: Mapping[str, Any]) -> IndexedChange:
    before, after = one["before"], one["after"]
    origin = intern(str(one.get("origin") or ""))
    return IndexedChange(one["key"], kind_of(before, after), topic_of(before, after), origin, before, after)


class ChangeIndexes(TaskIndexes[ChangeIndex]):
    """The changes of the most recently viewed tasks. A book of two million characters takes some 30 MB."""

    KEPT = 4

    def __init__(self, store: Store) -> None:
        super().__init__(store, ChangeIndex)
