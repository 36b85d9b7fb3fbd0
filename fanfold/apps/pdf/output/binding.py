"""Binds pages into one document, in order, each after a page mark. Missing pages are marked and listed."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import fanfold as ff
from fanfold.apps.pdf.options import Options
from fanfold.apps.pdf.output import footnote_labels, stitching
from fanfold.apps.pdf.output.blocks_of_pages import blocks_of
from fanfold.apps.pdf.output.chunking import chunks_of
from fanfold.apps.pdf.output.document_facts import facts_of, front_matter
from fanfold.apps.pdf.output.web_page import web_page


def bind(task: ff.TaskWork, results: ff.Results, options: Options) -> ff.File | dict[str, ff.File]:
    """The Markdown file and any extra files the options ask for."""
    name = Path(task.input.name).stem.replace("\\", "_") or "document"
    whole = task.scratch / "whole.md"
    facts = facts_of(task, results) if options.wants_facts else {}
    with whole.open("w", encoding="utf-8", newline="\n") as sink:
        if options.front_matter:
            sink.write(front_matter(facts))
        write_pages(sink, results.all(), options)
    found = {"markdown": task.write(f"{name}.md", whole)}
    if options.to == "html":
        found["html"] = task.write(f"{name}.html", web_page(whole.read_text(encoding="utf-8"), task.input.name))
    if options.to == "json":
        found["json"] = task.write(f"{name}.json", _blocks(task.scratch / "blocks.json", facts, results))
    if options.chunks:
        found["chunks"] = task.write(f"{name}.chunks.jsonl", _chunks(task.scratch / "chunks.jsonl", results, options))
    if options.per_page:
        found["pages"] = task.write(f"{name}-pages.zip", _zipped(task.scratch / "pages.zip", results))
    if options.wants_figures and (figures := _figures(task.scratch / "figures.zip", results)) is not None:
        found["figures"] = task.write(f"{name}-files.zip", figures)
    if options.report:
        found["report"] = task.write(f"{name}.report.json", _reported(task.scratch / "report.json", task, results))
    return found if len(found) > 1 else found["markdown"]


def write_pages(sink: IO[str], results: Iterable[ff.Result], options: Options) -> None:
    """Write all pages in order, keeping at most two of them in memory."""
    missing: list[str] = []
    parts = footnote_labels.distinct(_noted(_pages(results), missing))
    if options.join:
        parts = _joined(parts)
    first = True
    for page, text in parts:
        if options.marks:
            sink.write(("" if first else "\n---\n\n") + f"<!-- Page {page} -->\n" + (f"\n{text}\n" if text else ""))
        elif text:
            sink.write(("" if first else "\n") + f"{text}\n")
        first = first and not (options.marks or text)
    if missing:
        sink.write(f"\n<!-- Missing pages: {'; '.join(missing)} -->\n")


def _pages(results: Iterable[ff.Result]) -> Iterator[tuple[int, str, str | None]]:
    """(page, text, reason if missing). The text of a missing page is a comment that says that it is missing."""
    for result in results:
        page = int(result.input["page"])
        if result.ok:
            yield page, result.output["markdown"].strip(), None
        else:
            reason = _harmless(result.error_message or "it was not converted")
            yield page, f"<!-- Page {page} is missing: {reason} -->", reason


def _noted(pages: Iterable[tuple[int, str, str | None]], missing: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the pages, collecting the missing ones in ``missing``."""
    for page, text, reason in pages:
        if reason is not None:
            missing.append(f"{page} ({reason})")
        yield page, text


def _harmless(reason: str) -> str:
    """A reason that cannot close the comment it is written into."""
    return re.sub(r"-{2,}", "-", " ".join(reason.split())[:300]).rstrip("-")


def _joined(parts: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The pages, with paragraphs and tables split by a page break joined."""
    held: tuple[int, str] | None = None
    # Pages whose whole text was moved to the one before them: what follows them may continue it.
    emptied: list[int] = []
    for page, text in parts:
        before, rest = stitching.join_pages(held[1], text) if held is not None and held[1] else ("", text)
        if held is not None and before and text and not rest:
            held = (held[0], before)
            emptied.append(page)
            continue
        if held is not None:
            yield held[0], before
        yield from ((number, "") for number in emptied)
        held, emptied = (page, rest), []
    if held is not None:
        yield held
    yield from ((number, "") for number in emptied)


def _zipped(path: Path, results: ff.Results) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for page, text, _ in _pages(results.all()):
            archive.writestr(f"page-{page:04}.md", text + "\n" if text else "")
    return path


def _figures(path: Path, results: ff.Results) -> Path | None:
    """The figures of all pages in one archive; None if there are none."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for result in results.all():
            for name, file in ((result.output or {}).get("figures") or {}).items():
                with file.open() as content:
                    archive.writestr(name, content.read())
        is_empty = not archive.namelist()
    return None if is_empty else path


def _reported(path: Path, task: ff.TaskWork, results: ff.Results) -> Path:
    """Write one JSON document, page by page."""
    with path.open("w", encoding="utf-8") as sink:
        sink.write(f'{{"source": {json.dumps(task.input.name, ensure_ascii=False)}, "task": "{task.id}", "pages": [')
        for position, result in enumerate(results.all()):
            sink.write((",\n" if position else "\n") + json.dumps(facts(result), ensure_ascii=False))
        sink.write("\n]}\n")
    return path


def _blocks(path: Path, facts: dict[str, str], results: ff.Results) -> Path:
    with path.open("w", encoding="utf-8") as sink:
        write_blocks(sink, facts, results.all())
    return path


def write_blocks(sink: IO[str], facts: dict[str, str], results: Iterable[ff.Result]) -> None:
    """Write one JSON document, block by block."""
    head = json.dumps(facts, ensure_ascii=False)
    sink.write(f'{head[:-1]}{", " if facts else ""}"blocks": [')
    for position, block in enumerate(blocks_of(results)):
        sink.write((",\n" if position else "\n") + json.dumps(block.as_json(), ensure_ascii=False))
    sink.write("\n]}\n")


def _chunks(path: Path, results: ff.Results, options: Options) -> Path:
    with path.open("w", encoding="utf-8") as sink:
        for chunk in chunks_of(blocks_of(results.all()), options.chunks):
            sink.write(json.dumps(chunk, ensure_ascii=False) + "\n")
    return path


def facts(result: ff.Result) -> dict[str, Any]:
    """Facts about one page: engine, cost, duration and text."""
    output = result.output or {}
    return {
        "page": result.input["page"],
        "state": "done" if result.ok else "failed",
        "error": result.error_message if not result.ok else None,
        "model": output.get("engine"),
        "degraded": result.degraded,
        "note": output.get("note"),
        "seconds": result.seconds,
        **{name: value for name, value in asdict(result.spending).items() if name != "model"},
        "cost": None if result.spending.unpriced and not result.spending.cost else result.spending.cost,
        "markdown": output.get("markdown"),
    }
