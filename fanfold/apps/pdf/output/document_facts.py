"""What a document says about itself, for front matter and JSON: title, author, source and hash."""

from __future__ import annotations

import ctypes
import hashlib
import json
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.pdf.reading.document import opened

_FINE = 100_000
"""Steps into which a page is divided to convert its coordinates to fractions."""


def pdf_facts(path: Path) -> dict[str, str]:
    """The title and author in a PDF's properties. Call it in a child process."""
    with opened(path) as document:
        known = document.get_metadata_dict(skip_empty=True)
    return {"title": known.get("Title", ""), "author": known.get("Author", "")}


def line_boxes(path: Path, page: int) -> list[list[Any]]:
    """The lines of a page's text layer with their boxes in fractions of the displayed page. Call it in a child process."""
    import pypdfium2.raw as raw

    found: list[list[Any]] = []
    with opened(path) as document:
        shown = document[page - 1]
        text = shown.get_textpage()
        for number in range(text.count_rects()):
            left, bottom, right, top = text.get_rect(number)
            said = text.get_text_bounded(left, bottom, right, top).strip()
            across, down = ctypes.c_int(), ctypes.c_int()
            corners = []
            for x, y in ((left, top), (right, bottom)):
                raw.FPDF_PageToDevice(shown, 0, 0, _FINE, _FINE, 0, x, y, across, down)
                corners.append((across.value / _FINE, down.value / _FINE))
            (x0, y0), (x1, y1) = corners
            box = (min(x0, x1), min(y0, y1), abs(x1 - x0), abs(y1 - y0))
            if said:
                found.append([said, *(round(side, 4) for side in box)])
    return found


def facts_of(task: ff.TaskWork, results: ff.Results) -> dict[str, str]:
    """Title, author, source and hash of a task's document; empty ones are left out."""
    known: dict[str, str] = {}
    for result in results.all():
        kept = result.input.get("parts") or result.input.get("survey")
        read = kept if isinstance(kept, dict | None) else json.loads(kept.read_text())
        known = (read or {}).get("facts") or {}
        break
    with task.input.open() as source:
        digest = hashlib.file_digest(source, "sha256").hexdigest()
    named = {"title": known.get("title", ""), "author": known.get("author", ""), "source": task.input.name}
    return {name: value for name, value in named.items() if value} | {"sha256": digest}


def front_matter(facts: dict[str, str]) -> str:
    """The facts as YAML, which most programs that read Markdown take from its start."""
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in facts.items()]
    return "\n".join(["---", *lines, "---", "", ""])
