"""Places the files of a conversion and describes which engines made its pages."""

from __future__ import annotations

import zipfile
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.running.many_files.saving import Placed

SHORT = {"text layer": "text", "ocr": "OCR"}
NOT_READ = "not read"
FIGURES = "files"
"""Folder of the figures, beside the result."""


def markdown(result: Any) -> ff.File:
    """The Markdown among the files of a result."""
    found: ff.File = result["markdown"] if isinstance(result, dict) else result
    return found


def main(result: Any) -> ff.File:
    """The file in the format that was asked for."""
    parts = result if isinstance(result, dict) else {}
    found: ff.File = parts.get("html") or parts.get("json") or markdown(result)
    return found


def place(result: Any, target: Path) -> Placed:
    """The result at ``target``, with the report, the chunks, the page files and the figures beside it if requested."""
    parts = result if isinstance(result, dict) else {}
    report = target.with_suffix(".report.json" if "json" in parts else ".json")
    if "report" in parts and report == target:
        raise ff.BadInput(f"The report would overwrite {target}. Choose another name: -o {target.stem}.md")
    placed = Placed()
    placed.add(target, main(result))
    if "chunks" in parts:
        placed.add(target.with_suffix(".chunks.jsonl"), parts["chunks"])
    if "report" in parts:
        placed.add(report, parts["report"])
    if "pages" in parts:
        folder = target.with_name(f"{target.stem}-pages")
        with parts["pages"].open() as content, zipfile.ZipFile(content) as archive:
            for name in archive.namelist():
                placed.files[folder / Path(name).name] = partial(_unpacked, parts["pages"], name)
        placed.tidied.append((folder, "page-*.md"))  # Pages of an earlier range.
    if "figures" in parts:
        with parts["figures"].open() as content, zipfile.ZipFile(content) as archive:
            for name in archive.namelist():
                placed.files[target.parent / FIGURES / Path(name).name] = partial(_unpacked, parts["figures"], name)
    return placed


def _unpacked(pages: ff.File, name: str) -> bytes:
    with pages.open() as content, zipfile.ZipFile(content) as archive:
        return archive.read(name)


def has_more_files(options: dict[str, Any]) -> bool:
    """Whether a conversion with these options has more than one file."""
    more = ("per_page", "report", "chunks")
    return any(options.get(name) for name in more) or options.get("images") == "figures"


def engine(output: dict[str, Any]) -> str:
    """Engine that made a page: the text layer, OCR or a model."""
    return NOT_READ if output.get("note") == "no text layer" else str(output.get("engine", ""))


def kinds(engines: Counter[str]) -> str:
    """Pages per engine, if there is more than one engine."""
    if len(engines) < 2 and NOT_READ not in engines:
        return ""
    return f" ({', '.join(f'{many} {SHORT.get(kind, kind)}' for kind, many in engines.most_common())})"
