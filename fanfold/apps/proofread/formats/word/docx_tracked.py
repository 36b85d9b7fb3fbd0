"""Writes the changes of a Word paragraph as tracked changes: ``w:ins`` and ``w:del`` that a person accepts or rejects in Word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fanfold.apps.proofread.formats.book import Brackets, Tracked
from fanfold.apps.proofread.formats.markup import escape_text, escape_value
from fanfold.apps.proofread.formats.segments import Markup, Piece, PieceKind, Unit
from fanfold.apps.proofread.formats.word.docx_runs import staying, style_of, units, whole_style
from fanfold.apps.proofread.markers import marker_pattern

FIRST_ID = 9_000_000
"""First id for tracked changes, above the ids that documents use."""
MOST_CHANGES = 1_000
"""Maximum changes of one paragraph that get separate ids."""

_RUN = re.compile(r"<w:r(?:\s[^>]*)?>(?:<w:ruby>.*?</w:ruby>|.)*?</w:r>", re.DOTALL)
"""A run. One with a reading has other runs inside."""


@dataclass(frozen=True)
class Tracking:
    """Who changes a paragraph, with the number of the paragraph and of its copy, from which the ids of changes are made."""

    tracked: Tracked
    number: int
    copy: int = 0

    @property
    def first(self) -> int:
        """The id of the first change."""
        return FIRST_ID + self.number * MOST_CHANGES + self.copy * MOST_CHANGES // 2


def track(
    source: str,
    pieces: Sequence[Piece],
    text: str,
    brackets: Brackets,
    tracking: Tracking,
    markup: Markup | None = None,
) -> str:
    """The source of a paragraph with tracked changes that turn it into ``text``.

    A paragraph whose markers changed order is written without tracking, because Word cannot show that.
    """
    from fanfold.apps.proofread.formats.segments import rebuild
    from fanfold.apps.proofread.formats.word.docx import WRITER

    marks = [piece for piece in pieces if piece.kind is not PieceKind.TEXT]
    wanted = [f"/{one.number}" if one.kind is PieceKind.CLOSE else str(one.number) for one in marks]
    found = list(marker_pattern(brackets).finditer(text))
    if [one[1] + one[2] for one in found] != wanted:
        return rebuild(source, pieces, text, brackets, WRITER, markup)
    writer = _Tracker(tracking.tracked, tracking.first)
    starts = [pieces[0].start, *(mark.end for mark in marks)]
    ends = [*(mark.start for mark in marks), pieces[-1].end]
    texts = [
        text[a:b]
        for a, b in zip([0, *(one.end() for one in found)], [*(one.start() for one in found), len(text)], strict=True)
    ]
    out = []
    for at, (start, end, new) in enumerate(zip(starts, ends, texts, strict=True)):
        out.append(writer.segment(source[start : max(start, end)], new))
        if at < len(marks):
            out.append(source[marks[at].start : marks[at].end] if markup is None else markup(marks[at]))
    return "".join(out)


def tracked_run(before: str, after: str, tracking: Tracking) -> str:
    """A new run with tracked changes from one plain text to another."""
    raw = f'<w:r><w:t xml:space="preserve">{escape_text(before)}</w:t></w:r>' if before else ""
    return _Tracker(tracking.tracked, tracking.first).segment(raw, after)


class _Tracker:
    """Writes insertions and deletions, each with a separate id."""

    def __init__(self, tracked: Tracked, first: int) -> None:
        self.by = f'w:author="{escape_value(tracked.author)}" w:date="{escape_value(tracked.at)}"'
        self.next = first

    def segment(self, raw: str, text: str) -> str:
        """Runs of one format with tracked changes."""
        from fanfold.apps.proofread.changes.compare import compare

        shown = "".join(unit.shown for unit in units(raw))
        if shown == text:
            return raw
        if not shown:
            return raw + self._inserted(text, "")
        spans = compare(shown, text)
        inserted = {span.end: span.after for span in spans if span.after}
        deleted = {at for span in spans for at in range(span.start, span.end)}
        out, at, done = [], 0, 0
        for run in _RUN.finditer(raw):
            made, done = self._run(run[0], done, inserted, deleted)
            out += [raw[at : run.start()], made]
            at = run.end()
        return "".join([*out, raw[at:]])

    def _run(self, raw: str, first: int, inserted: dict[int, str], deleted: set[int]) -> tuple[str, int]:
        """One run, divided where it changed, and the position after it."""
        own = units(raw)
        count = sum(bool(unit.shown) for unit in own)
        style = style_of(raw)
        lead = self._inserted(inserted.pop(0), style) if first == 0 and 0 in inserted else ""
        touched = any(first + at in deleted or first + at + 1 in inserted for at in range(count))
        if not touched:
            return lead + raw, first + count
        out = [lead]
        for gone, group in _groups(own, first, inserted, deleted):
            end = group[-1][0] + 1
            out.append(self._part([unit for _, unit in group], whole_style(raw), gone))
            if end in inserted:
                out.append(self._inserted(inserted.pop(end), style))
        return "".join(out), first + count

    def _part(self, own: Sequence[Unit], style: str, gone: bool) -> str:
        tag = "w:delText" if gone else "w:t"
        inside = "".join(
            unit.raw.replace("w:t>", f"{tag}>")
            if not unit.inside
            else f'<{tag} xml:space="preserve">{unit.raw}</{tag}>'
            for unit in own
        ).replace(f'</{tag}><{tag} xml:space="preserve">', "")
        run = f"<w:r>{style}{inside}</w:r>"
        return f"<w:del {self._id()}>{run}</w:del>" if gone else run

    def _inserted(self, text: str, style: str) -> str:
        if not text:
            return ""
        return f'<w:ins {self._id()}><w:r>{style}<w:t xml:space="preserve">{escape_text(text)}</w:t></w:r></w:ins>'

    def _id(self) -> str:
        self.next += 1
        return f'w:id="{self.next - 1}" {self.by}'


def _groups(
    own: Sequence[Unit], first: int, inserted: dict[int, str], deleted: set[int]
) -> Iterator[tuple[bool, list[tuple[int, Unit]]]]:
    """Groups of neighbouring characters that are all kept or all deleted; an insertion ends a group. Breaks are kept."""
    group: list[tuple[int, Unit]] = []
    gone, at = False, first
    for unit in own:
        stays = "" if unit.shown else staying(unit.raw)
        if not unit.shown and not stays:
            continue
        is_gone = not stays and at in deleted
        if group and (gone != is_gone or (not stays and at in inserted)):
            yield gone, group
            group = []
        gone = is_gone
        group.append((at - 1, Unit("", stays, inside=False)) if stays else (at, unit))
        at += not stays
    if group:
        yield gone, group
