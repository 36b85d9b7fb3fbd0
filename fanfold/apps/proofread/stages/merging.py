"""The stage `merge`: writes the book from its chunks and people's decisions, and reports what was done. No model is asked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.proofread.formats import write_book
from fanfold.apps.proofread.formats.book import Book, Brackets
from fanfold.apps.proofread.options import KEEP, Options
from fanfold.apps.proofread.sentences import say_of_proofread
from fanfold.apps.proofread.stages.paragraphs import final_text
from fanfold.apps.proofread.stages.validating import book_of, named_file

MOST_BOOKS = 2
"""Books that a process keeps for a repeated merge."""
_BOOKS: dict[tuple[str, str, str], Book] = {}
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

    def report(self) -> dict[str, Any]:
        """The counts as JSON values."""
        return {
            "chunks": self.chunks,
            "failed_chunks": self.failed,
            "changes": {state: count for state, count in self.changes.items() if count},
            **{name: dict(counted.most_common()) for name, counted in self.counts.items()},
            "gaps": self.gaps,
            "warnings": self.warnings,
            "calls": self.calls,
            "cached": self.cached,
            "cost": self.cost,
            "unpriced_calls": self.unpriced,
        }


def _read_once(key: str, path: Path, options: Options) -> Book:
    """The book, read once by this process: reading takes half of the time of a repeated merge.

    Writing compares the digest of the file, so a book from the cache is never written from another file.
    """
    wanted = (key, options.source_encoding, options.paragraphs)
    book = _BOOKS.get(wanted)
    if book is None:
        book = _BOOKS[wanted] = book_of(path, options)
        while len(_BOOKS) > MOST_BOOKS:
            _BOOKS.pop(next(iter(_BOOKS)), None)
    return replace(book, source=str(path))


def texts(results: ff.Results, tally: Tally, usual: str) -> Iterator[tuple[str, str]]:
    """The block and final text of every part, in order. A chunk that failed keeps its source, after the rules."""
    for result in results.all():
        tally.see(result)
        given: Any = result.input
        brackets = Brackets(*given["brackets"])
        if not result.ok:
            for entry in given["entries"]:
                tally.gaps += [{"chunk": result.key, "paragraph": entry["id"], "why": result.error_message or ""}]
                yield entry.get("block", entry["id"]), entry.get("ruled", entry["before"])
            continue
        for paragraph in result.output["paragraphs"]:
            text, applied = final_text(paragraph, result.decisions, usual, brackets)
            if not applied:
                why = str(say_of_proofread("decisions_torn"))
                tally.gaps.append({"chunk": result.key, "paragraph": paragraph["id"], "why": why})
            yield paragraph.get("block", paragraph["id"]), text


def merged(task: ff.TaskWork, results: ff.Results, options: Options) -> dict[str, Any]:
    """The result: the book in the format of its source, a report, and a summary."""
    path = named_file(task)
    book = _read_once(f"{task.id} {task.input.key}", path, options)
    tally = Tally()
    changed: dict[str, str] = {}
    for block, text in texts(results, tally, options.undecided):
        changed[block] = changed.get(block, "") + text
    name = path.name
    stem = Path(name).stem
    target = task.scratch / f"out-{name}"
    encoding = None if options.encoding == KEEP or book.kind in ("epub", "docx") else options.encoding
    write_book(book, changed, target, encoding=encoding, language=options.to or None)
    report = {
        "source": name,
        "mode": options.mode,
        "encoding": encoding or book.encoding,
        "notes": [str(note) for note in book.reports],
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
