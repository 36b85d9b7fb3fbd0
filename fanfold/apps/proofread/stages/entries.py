"""The entries of a chunk: its paragraphs and changed gaps as stored in an item, from the source to the text after the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanfold.apps.proofread.chunks import Part
from fanfold.apps.proofread.formats.book import BlockKind
from fanfold.apps.proofread.formats.text import edges
from fanfold.apps.proofread.rules import Applied


@dataclass(frozen=True)
class Entry:
    """A paragraph, a piece of a long one, or a changed gap. Only paragraphs with a letter or digit are asked about."""

    id: str
    block: str
    kind: BlockKind
    source: str
    ruled: str
    steps: tuple[Applied, ...] = ()
    asked: bool = True
    repeated: bool = False
    """Whether the same paragraph occurs elsewhere: it is asked about alone, so that its answer is paid for once."""
    shown: tuple[tuple[str, str], ...] = ()
    """Markers in it that stand for text, each with that text."""
    inner: bool = False
    """Whether it is a piece in the middle or at the end of a long paragraph, to which rules about margins do not apply."""

    @property
    def part(self) -> Part:
        """The text to send to a model."""
        return Part(self.id, self.block, self.ruled, self.kind, self.shown)

    def without_cuts(self, text: str) -> tuple[str, str, str]:
        """A text of this entry, with the white space apart that stays because a long paragraph was divided there."""
        if self.block == self.id:
            return "", text, ""
        before, inside, after = edges(text)
        return (before, inside, after) if self.inner else ("", before + inside, after)

    def as_dict(self) -> dict[str, Any]:
        """The entry as stored in the input of an item, without what is usual. The steps of the rules of a paragraph are left out:
        they would be most of the input, and ``Ruling`` makes them again."""
        found: dict[str, Any] = {"id": self.id, "before": self.source}
        if self.block != self.id:
            found["block"] = self.block
        if self.kind is not BlockKind.PARAGRAPH:
            found["kind"] = str(self.kind)
        if self.ruled != self.source:
            found["ruled"] = self.ruled
        if self.shown:
            found["shown"] = [list(pair) for pair in self.shown]
        if self.steps and not self.asked:
            found["rules"] = [[step.rule, step.after] for step in self.steps]
        flags = {"silent": not self.asked, "repeated": self.repeated, "inner": self.inner}
        return found | {name: True for name, is_set in flags.items() if is_set}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Entry:
        """Read a stored entry."""
        source, block = kept["before"], kept.get("block", kept["id"])
        steps, before = [], source
        for rule, after in kept.get("rules", ()):
            steps.append(Applied(rule, kept["id"], before, after))
            before = after
        return cls(
            kept["id"],
            block,
            BlockKind(kept.get("kind", BlockKind.PARAGRAPH)),
            source,
            kept.get("ruled", source),
            tuple(steps),
            asked=not kept.get("silent"),
            repeated=bool(kept.get("repeated")),
            shown=tuple((marker, text) for marker, text in kept.get("shown", ())),
            inner=bool(kept.get("inner")),
        )
