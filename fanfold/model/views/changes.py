"""Changes of a text in the output of items: the shape that the view `changes` shows, its filters, and people's decisions.

An output has `paragraphs`: each with `id`, `before`, `after` if it differs, and `changes`. A change has a `key` for decisions,
its `start` in the paragraph, `before`, `after`, and its `origin`: `rule:NAME` or `model:NAME`. Its kind, its topic and the text
around it follow from these and are not stored, because a book has a hundred thousand changes. The output may have a `chapter`;
a paragraph of the kind `head` begins another one. Reading tolerates any output, so that nothing can break a list or a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from fanfold.model.decision import Decision
from fanfold.model.item import Result

OPEN = "open"
STATES = (OPEN, "accept", "reject", "replace")
KINDS = ("insert", "delete", "replace")
TOPICS = ("space", "punctuation", "words")
COLUMNS = (
    "item", "part", "state", "kind", "topic", "origin", "chapter", "paragraph", "left", "before", "after", "right",
    "replacement", "decided_by", "decided_at",
)  # fmt: skip
CONTEXT = 12
"""Characters shown on each side of a change."""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of an output. ``number`` is its place among the paragraphs, from 0."""

    number: int
    chapter: str
    kept: Mapping[str, Any]

    @property
    def id(self) -> str:
        """Its name in the item."""
        return str(self.kept.get("id") or self.number + 1)

    @property
    def before(self) -> str:
        """Its source."""
        return str(self.kept["before"])

    @property
    def after(self) -> str:
        """Its text with all changes."""
        after = self.kept.get("after")
        return after if isinstance(after, str) else self.before

    @property
    def gap(self) -> str:
        """Why the source was kept; empty if it was not."""
        return _text(self.kept.get("gap"))

    @property
    def warnings(self) -> list[str]:
        """What a person should look at, beside the changes."""
        told = self.kept.get("warnings")
        return [_text(one) for one in told] if isinstance(told, list) else []

    def changes(self) -> Iterator[Mapping[str, Any]]:
        """Its changes in order. Those that do not fit the text, or overlap one before them, are left out."""
        given = self.kept.get("changes")
        at = 0
        for one in sorted(filter(_is_change, given), key=_start) if isinstance(given, list) else ():
            if one["start"] >= at and self.before.startswith(one["before"], one["start"]):
                at = one["start"] + len(one["before"])
                yield one


def _is_change(one: Any) -> bool:
    texts = ("key", "before", "after")
    return (
        isinstance(one, dict)
        and isinstance(one.get("start"), int)
        and all(isinstance(one.get(name), str) for name in texts)
    )


def _start(one: Mapping[str, Any]) -> int:
    return int(one["start"])


def has_changes(output: Any) -> bool:
    """Whether an output has the shape of this view: a list of paragraphs, or a single one."""
    return isinstance(output, dict) and (isinstance(output.get("paragraphs"), list) or _is_paragraph(output))


def _is_paragraph(one: Any) -> bool:
    return isinstance(one, dict) and isinstance(one.get("before"), str)


def chapter_of(value: Any) -> str:
    """The chapter in which an output, or the input of an item, begins."""
    return str(_text(value.get("chapter"))) if isinstance(value, dict) else ""


def paragraphs_in(output: Any) -> Iterator[Paragraph]:
    """The paragraphs of an output, each with its chapter."""
    if not has_changes(output):
        return
    chapter = chapter_of(output)
    listed = output["paragraphs"] if isinstance(output.get("paragraphs"), list) else [output]
    for number, kept in enumerate(filter(_is_paragraph, listed)):
        if kept.get("kind") == "head":
            chapter = kept["before"].strip()
        yield Paragraph(number, chapter, kept)


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else str(value)


class Described(Protocol):
    """What a change does, and what made it."""

    @property
    def kind(self) -> str:
        """`insert`, `delete` or `replace`."""

    @property
    def topic(self) -> str:
        """White space, punctuation or words."""

    @property
    def origin(self) -> str:
        """What made it."""

    @property
    def before(self) -> str:
        """The text that it replaces."""

    @property
    def after(self) -> str:
        """The text that it puts there."""


@dataclass(frozen=True)
class ListedChange:
    """One change: where it is, what it does, and what a person decided."""

    item: str
    seq: int
    inside: Paragraph
    change: Mapping[str, Any]
    decision: Decision | None = None

    @property
    def paragraph(self) -> str:
        """The id of its paragraph."""
        return self.inside.id

    @property
    def chapter(self) -> str:
        """The heading above its paragraph."""
        return self.inside.chapter

    @property
    def before(self) -> str:
        """The text that it replaces."""
        return str(self.change["before"])

    @property
    def after(self) -> str:
        """The text that it puts there."""
        return str(self.change["after"])

    @property
    def origin(self) -> str:
        """What made it, such as `rule:dashes`."""
        return _text(self.change.get("origin"))

    @property
    def kind(self) -> str:
        """`insert`, `delete` or `replace`."""
        return kind_of(self.before, self.after)

    @property
    def topic(self) -> str:
        """What it is about: white space, punctuation or words."""
        return topic_of(self.before, self.after)

    @property
    def around(self) -> tuple[str, str]:
        """A few characters before and after it."""
        text, start = self.inside.before, int(self.change["start"])
        end = start + len(self.before)
        return text[max(0, start - CONTEXT) : start], text[end : end + CONTEXT]

    @property
    def key(self) -> str:
        """The key of the change for decisions."""
        return str(self.change["key"])

    @property
    def state(self) -> str:
        """`open`, or the verdict of a person."""
        return state_of(self.decision)

    def as_dict(self) -> dict[str, Any]:
        """The change as JSON values."""
        made = self.decision
        left, right = self.around
        known = {
            **self.change,
            "kind": self.kind,
            "topic": self.topic,
            "left": left,
            "right": right,
            "item": self.item,
            "part": self.key,
            "paragraph": self.paragraph,
            "state": self.state,
            "chapter": self.chapter,
            "replacement": made.value if made is not None else None,
            "decided_by": made.actor if made is not None else None,
            "decided_at": made.at.isoformat() if made is not None else None,
        }
        return {name: known.get(name, "") for name in COLUMNS}


@dataclass(frozen=True)
class ChangeFilter:
    """Which changes are wanted; an empty text is no condition."""

    state: str = ""
    kind: str = ""
    topic: str = ""
    origin: str = ""
    chapter: str = ""
    text: str = ""

    def fits(self, one: ListedChange) -> bool:
        """Whether a change is wanted."""
        if self.state and self.state != one.state:
            return False
        return self.chapter in one.chapter and self.describes(one)

    def describes(self, one: Described) -> bool:
        """Whether a change has the wanted kind, topic, origin and text, whatever its place and state."""
        if (self.kind and self.kind != one.kind) or (self.topic and self.topic != one.topic):
            return False
        if self.origin and not _made_by(one.origin, self.origin):
            return False
        return not self.text or self.text in one.before or self.text in one.after


@lru_cache(maxsize=1_000)
def _made_by(origin: str, wanted: str) -> bool:
    """Whether an origin such as `rule:dashes+ellipses` is the wanted `rule`, `rule:dashes` or `dashes`."""
    kind, _, names = origin.partition(":")
    if wanted.startswith(("rule:", "model:")):
        wanted_kind, _, wanted = wanted.partition(":")
        return kind == wanted_kind and wanted in (names, *names.split("+"))
    return wanted in (kind, names, *names.split("+"))


def kind_of(before: str, after: str) -> str:
    """What a change does to the text."""
    return "insert" if not before else "delete" if not after else "replace"


def topic_of(before: str, after: str) -> str:
    """What a change is about: `words` if letters or digits differ, otherwise `punctuation` or `space`."""
    if "".join(filter(str.isalnum, before)) != "".join(filter(str.isalnum, after)):
        return "words"
    return "space" if "".join(before.split()) == "".join(after.split()) else "punctuation"


def state_of(decision: Decision | None) -> str:
    """The state of a change: `open`, or the verdict of a person."""
    return OPEN if decision is None else str(decision.verdict)


def listed_changes(results: Iterable[Result[Any, Any]], wanted: ChangeFilter | None = None) -> Iterator[ListedChange]:
    """The changes of the given results, in order. Outputs with another shape have none."""
    wanted = wanted or ChangeFilter()
    for result in results:
        for changes in changes_by_paragraph(result, wanted):
            yield from changes


def changes_by_paragraph(result: Result[Any, Any], wanted: ChangeFilter) -> Iterator[tuple[ListedChange, ...]]:
    """The wanted changes of a result, together for each paragraph that has some."""
    for paragraph in paragraphs_in(result.output) if result.ok else ():
        listed = (
            ListedChange(result.key, result.seq, paragraph, change, result.decisions.get(change["key"]))
            for change in paragraph.changes()
        )
        fitting = tuple(one for one in listed if wanted.fits(one))
        if fitting:
            yield fitting
