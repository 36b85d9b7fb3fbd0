"""The stage `merge`: writes the book from its chunks and people's decisions, and reports what was done. No model is asked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import fanfold as ff
from fanfold.apps.proofread.formats import write_book
from fanfold.apps.proofread.formats.book import Brackets
from fanfold.apps.proofread.options import KEEP, Options
from fanfold.apps.proofread.sentences import say_of_proofread
from fanfold.apps.proofread.stages.open_books import OpenBook, open_book
from fanfold.apps.proofread.stages.paragraphs import final_text
from fanfold.apps.proofread.stages.validating import named_file

COUNTED = ("rules", "steps", "cleanings", "defects", "models")


@dataclass
class Tally:
    """Counts what happened to the chunks while the book is put together."""

    chunks: int = 0
    changes: Counter[str] = field(default_factory=Counter)
    counts: dict[str, Counter[str]] = field(default_factory=lambda: {name: Counter() for name in COUNTED})
    gaps: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[dict[str, Any]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    already: int = 0
    """Paragraphs of a translation that were in the target language already."""
    cost: float = 0.0
    unpriced: int = 0
    calls: int = 0
    cached: int = 0

    def see(self, result: ff.Result[Any, Any]) -> None:
        """Count a chunk."""
        self.chunks += 1
        spent = result.spending
        self.cost += spent.cost
        self.unpriced += spent.unpriced
        self.calls += spent.calls
        self.cached += spent.cached
        if not result.ok:
            self.failed.append(result.key)
            return
        for name, counted in self.counts.items():
            counted.update(result.output[name])
        self.already += result.output.get("already_translated", 0)
        for paragraph in result.output["paragraphs"]:
            self._see_paragraph(result, paragraph)

    def _see_paragraph(self, result: ff.Result[Any, Any], paragraph: Mapping[str, Any]) -> None:
        where = {"chunk": result.key, "paragraph": paragraph["id"]}
        if "gap" in paragraph:
            self.gaps.append(where | {"why": paragraph["gap"]})
        if "warnings" in paragraph:
            self.warnings.append(where | {"why": "; ".join(paragraph["warnings"])})
        changes = paragraph.get("changes", ())
        if not result.decisions:
            self.changes["open"] += len(changes)
            return
        for change in changes:
            made = result.decisions.get(change["key"])
            self.changes[str(made.verdict) if made is not None else "open"] += 1

    def add(self, other: Tally) -> None:
        """Add the counts of further chunks."""
        self.changes.update(other.changes)
        for name, counted in self.counts.items():
            if other.counts[name]:
                counted.update(other.counts[name])
        for name in ("gaps", "warnings", "failed"):
            getattr(self, name).extend(getattr(other, name))
        for name in ("chunks", "already", "cost", "unpriced", "calls", "cached"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def report(self) -> dict[str, Any]:
        """The counts as JSON values."""
        return {
            "chunks": self.chunks,
            "failed_chunks": self.failed,
            "changes": {state: count for state, count in self.changes.items() if count},
            **{name: dict(counted.most_common()) for name, counted in self.counts.items()},
            "gaps": self.gaps,
            "warnings": self.warnings,
            "already_translated": self.already,
            "calls": self.calls,
            "cached": self.cached,
            "cost": self.cost,
            "unpriced_calls": self.unpriced,
        }


class Piece(NamedTuple):
    """What a chunk contributes to the book: the final texts of its blocks, and its counts."""

    texts: list[tuple[str, str]]
    tally: Tally


def piece_of(result: ff.Result[Any, Any], usual: str) -> Piece:
    """The block and final text of every part of a chunk, in order. A chunk that failed keeps its source, after the rules."""
    tally = Tally()
    tally.see(result)
    given: Any = result.input
    if not result.ok:
        why = result.error_message or ""
        tally.gaps += [{"chunk": result.key, "paragraph": entry["id"], "why": why} for entry in given["entries"]]
        return Piece(
            [(one.get("block", one["id"]), one.get("ruled", one["before"])) for one in given["entries"]], tally
        )
    brackets = Brackets(*given["brackets"])
    texts = []
    for paragraph in result.output["paragraphs"]:
        text, applied = final_text(paragraph, result.decisions, usual, brackets)
        if not applied:
            why = str(say_of_proofread("decisions_torn"))
            tally.gaps.append({"chunk": result.key, "paragraph": paragraph["id"], "why": why})
        texts.append((paragraph.get("block", paragraph["id"]), text))
    return Piece(texts, tally)


def _check_source(result: ff.Result[Any, Any], opened: OpenBook[Piece]) -> None:
    """Raise Permanent if the blocks of a chunk are not those of the book, as after an upgrade that reads more of a file.

    Otherwise its texts would be written into the wrong paragraphs.
    """
    for entry in result.input["entries"]:
        text = opened.texts.get(entry.get("block", entry["id"]))
        if text is None or (text != entry["before"] if "block" not in entry else entry["before"] not in text):
            raise ff.Permanent(
                say_of_proofread("read_differently", file=Path(opened.book.source).name), code="book_changed"
            )


def put_together(results: ff.Results[Any, Any], opened: OpenBook[Piece], usual: str) -> tuple[dict[str, str], Tally]:
    """The final text of every block of the book, and what happened to its chunks."""
    changed: dict[str, str] = {}
    tally = Tally()

    def made(result: ff.Result[Any, Any]) -> Piece:
        _check_source(result, opened)
        return piece_of(result, usual)

    for piece in results.remembered(made, opened.pieces):
        tally.add(piece.tally)
        for block, text in piece.texts:
            changed[block] = changed[block] + text if block in changed else text
    return changed, tally


def merged(task: ff.TaskWork, results: ff.Results, options: Options) -> dict[str, Any]:
    """The result: the book in the format of its source, a report, and a summary."""
    path = named_file(task)
    opened = open_book(f"{task.id} {task.input.key}", path, options)
    book = replace(opened.book, source=str(path))
    changed, tally = put_together(results, opened, options.undecided)
    name = path.name
    stem = Path(name).stem
    target = task.scratch / f"out-{name}"
    encoding = None if options.encoding == KEEP or book.kind in ("epub", "docx") else options.encoding
    write_book(book, changed, target, encoding=encoding, language=options.to or None)
    report = {
        "source": name,
        "mode": options.mode,
        "encoding": encoding or book.encoding,
        "notes": [str(note) for note in (*book.reports, *book.notes)],
        **tally.report(),
    }
    return {
        "file": task.write(f"{stem}.{options.to or 'proofread'}{Path(name).suffix}", target),
        "source": task.input,
        "report": task.write(f"{stem}.report.json", json.dumps(report, ensure_ascii=False, indent=1)),
        "chunks": tally.chunks,
        "changes": sum(tally.changes.values()),
        "gaps": len(tally.gaps),
    }
