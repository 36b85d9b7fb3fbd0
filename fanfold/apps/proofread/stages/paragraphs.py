"""The paragraphs in the output of a chunk: before and after, with the list of changes and the decisions about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import fanfold as ff
from fanfold.apps.proofread.changes import Change, ChangeKind, Pair, Topic, list_changes
from fanfold.apps.proofread.changes.listing import Verdict, decided
from fanfold.apps.proofread.formats.book import BlockKind, Brackets
from fanfold.apps.proofread.markers import lost_and_added, well_nested
from fanfold.apps.proofread.stages.entries import Entry
from fanfold.model.views.changes import kind_of, topic_of

Paragraph = dict[str, Any]


class Ended(Protocol):
    """An entry with its final text, as the stage `process` makes it."""

    @property
    def entry(self) -> Entry:
        """The entry."""

    @property
    def after(self) -> str:
        """Its final text."""

    @property
    def model(self) -> str:
        """The model that answered; empty if none did."""

    @property
    def gap(self) -> str:
        """Why no model answered, if one was asked."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should look at."""


def paragraphs(finished: Sequence[Ended], brackets: Brackets, *, whole: bool) -> list[Paragraph]:
    """The paragraphs of a chunk. With ``whole``, as for a translation, a changed paragraph is one change."""
    pairs = [_pair(one) for one in finished]
    changes = _whole_changes(pairs) if whole else list_changes(pairs, brackets)
    by_block: dict[str, list[dict[str, Any]]] = {}
    for change in changes:
        told = {"key": change.key, "start": change.start, "before": change.before, "after": change.after}
        by_block.setdefault(change.block, []).append(told | {"origin": change.origin})
    return [_paragraph(one, by_block.get(one.entry.id, [])) for one in finished]


def _pair(one: Ended) -> Pair:
    entry = one.entry
    return Pair(entry.id, entry.source, one.after, entry.ruled, one.model, entry.steps)


def _whole_changes(pairs: Iterable[Pair]) -> list[Change]:
    """A change for each translated paragraph. Its key is that of the source, so that a decision survives a new answer."""
    found = [pair for pair in pairs if pair.source != pair.answer]
    keys = ff.part_keys([pair.source, pair.answer] for pair in found)
    return [
        Change(key, pair.block, 0, pair.source, pair.answer, ChangeKind.REPLACE, Topic.WORDS, f"model:{pair.model}")
        for key, pair in zip(keys, found, strict=True)
    ]


def _paragraph(one: Ended, changes: list[dict[str, Any]]) -> Paragraph:
    entry = one.entry
    found: Paragraph = {"id": entry.id, "before": entry.source}
    optional = {
        "after": one.after if one.after != entry.source else None,
        "block": entry.block if entry.block != entry.id else None,
        "kind": str(entry.kind) if entry.kind is not BlockKind.PARAGRAPH else None,
        "changes": changes,
        "model": one.model,
        "gap": one.gap,
        "warnings": list(one.warnings),
    }
    return found | {name: value for name, value in optional.items() if value or (name == "after" and value is not None)}


def change_of(kept: Mapping[str, Any], block: str) -> Change:
    """A stored change."""
    kind, topic = kind_of(kept["before"], kept["after"]), topic_of(kept["before"], kept["after"])
    return Change(**kept, block=block, kind=ChangeKind(kind), topic=Topic(topic))


def changes_in(paragraph: Mapping[str, Any]) -> list[Change]:
    """The changes of a paragraph."""
    return [change_of(kept, paragraph["id"]) for kept in paragraph.get("changes", ())]


def final_text(
    paragraph: Mapping[str, Any], decisions: Mapping[str, Any], usual: str, brackets: Brackets
) -> tuple[str, bool]:
    """The text of a paragraph with people's decisions, and whether they could be applied.

    Decisions that tear formatting apart, such as one that keeps half of a moved pair of markers, are not applied: the
    paragraph then keeps its source.
    """
    before = str(paragraph["before"])
    after = str(paragraph.get("after", before))
    changes = paragraph.get("changes", ())
    made = {one["key"]: decisions[one["key"]] for one in changes if one["key"] in decisions}
    if usual == "accept" and not made:
        return after, True
    verdicts = {
        key: Verdict(str(one.verdict), None if one.value is None else str(one.value)) for key, one in made.items()
    }
    text = decided(before, changes_in(paragraph), verdicts, usual)
    if brackets.left not in before + text:
        return text, True
    torn = any(lost_and_added(before, text, brackets)) or (
        well_nested(before, brackets) and not well_nested(text, brackets)
    )
    return (before, False) if torn else (text, True)
