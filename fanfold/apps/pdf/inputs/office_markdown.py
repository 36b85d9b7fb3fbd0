"""Converts Word, PowerPoint and Excel files to Markdown, if the extra ``fanfold[office]`` is installed."""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.pdf.inputs.markdown_text import compact, escaped, table
from fanfold.apps.pdf.sentences import say_of_pdf

MOST_BYTES = 512 * 1024 * 1024
"""Unpacked size of a file; a larger one may be a zip bomb."""
MOST_CELLS = 2_000_000
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_LIBRARIES = {"docx": "docx", "pptx": "pptx", "xlsx": "openpyxl"}


def office_parts(path: Path, kind: str, name: str) -> tuple[list[str], dict[str, str]]:
    """The Markdown of each part (a document, a slide, a sheet), and what the file says about itself."""
    if importlib.util.find_spec(_LIBRARIES[kind]) is None:
        raise ff.Permanent(say_of_pdf("needs_office", file=name), code="needs_office")
    check_size(path, name)
    read: Callable[[Path], tuple[list[str], Any]] = {"docx": _word, "pptx": _slides, "xlsx": _sheets}[kind]
    try:
        parts, properties = read(path)
    except Exception as error:  # These libraries raise any exception of their parts for a damaged file.
        if isinstance(error, MemoryError):
            raise
        raise ff.Permanent(say_of_pdf("document_damaged", file=name), code="broken_document") from error
    known = {"title": getattr(properties, "title", ""), "author": getattr(properties, "author", "")}
    author = known["author"] or getattr(properties, "creator", "")
    return parts, {"title": known["title"] or "", "author": author or ""}


def check_size(path: Path, name: str) -> None:
    """Raise Permanent for an archive that unpacks to too much, or is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, OSError) as error:
        raise ff.Permanent(say_of_pdf("document_damaged", file=name), code="broken_document") from error
    if size > MOST_BYTES:
        limit = MOST_BYTES // 1024**2
        raise ff.Permanent(say_of_pdf("document_too_large", file=name, limit=limit), code="too_large")


def _word(path: Path) -> tuple[list[str], Any]:
    import docx

    document = docx.Document(str(path))
    links = {key: one.target_ref for key, one in document.part.rels.items() if one.is_external}
    found = [_word_block(block, links) for block in document.iter_inner_content()]
    text = "\n".join(f"{one}\n" if one else "" for one in found)
    # Entries of a list follow each other without an empty line.
    return [compact(text)], document.core_properties


def _word_block(block: Any, links: dict[str, str]) -> str:
    if hasattr(block, "rows"):
        # A merged cell is listed once for each column that it spans.
        rows = [
            [_runs(cell, links).strip() for cell in dict.fromkeys(one._tc for one in row.cells)] for row in block.rows
        ]
        return table(rows)
    text = _runs(block._p, links).strip()
    style = ((block.style.name or "") if block.style is not None else "").lower()
    if not text:
        return ""
    if style == "title":
        return f"# {text}"
    level = style.removeprefix("heading ").removeprefix("标题 ")
    if level != style and level.isdigit():
        return f"{'#' * min(int(level), 6)} {text}"
    if (marker := _list_marker(block, style)) is not None:
        return marker + text
    return text


def _list_marker(block: Any, style: str) -> str | None:
    """The mark of a list's entry, indented by its level; None for other paragraphs."""
    numbering = block._p.find(f"{_WORD}pPr/{_WORD}numPr")
    if numbering is None and not style.startswith("list "):
        return None
    level = numbering.find(f"{_WORD}ilvl") if numbering is not None else None
    depth = int(level.get(f"{_WORD}val", 0)) if level is not None else 0
    return "    " * min(depth, 8) + ("1. " if "number" in style else "- ")


def _runs(element: Any, links: dict[str, str]) -> str:
    """The text of a paragraph or cell, with emphasis and links; inserted text is included, deleted text is not."""
    parts: list[str] = []
    for child in element:
        if child.tag == f"{_WORD}r":
            parts.append(_run(child))
        elif child.tag == f"{_WORD}hyperlink":
            text, target = _runs(child, links), links.get(child.get(_RELATION, ""))
            parts.append(f"[{text}]({target})" if target and text.strip() else text)
        elif isinstance(child.tag, str) and child.tag not in (_FALLBACK, f"{_WORD}pPr", f"{_WORD}del"):
            parts.append(_runs(child, links))
            if child.tag == f"{_WORD}p":
                parts.append("\n")
    return "".join(parts)


def _run(run: Any) -> str:
    text = "".join(_run_text(run))
    properties = run.find(f"{_WORD}rPr")
    if properties is None or not text.strip():
        return text
    core = text.strip()
    for tag, mark in (("b", "**"), ("i", "*"), ("strike", "~~")):
        found = properties.find(f"{_WORD}{tag}")
        if found is not None and found.get(f"{_WORD}val") not in ("0", "false"):
            core = f"{mark}{core}{mark}"
    raised = properties.find(f"{_WORD}vertAlign")
    kind = {"superscript": "sup", "subscript": "sub"}.get(raised.get(f"{_WORD}val") if raised is not None else "")
    if kind:
        core = f"<{kind}>{core}</{kind}>"
    return text[: len(text) - len(text.lstrip())] + core + text[len(text.rstrip()) :]


def _run_text(run: Any) -> Iterator[str]:
    for child in run:
        if child.tag == f"{_WORD}t":
            yield escaped(child.text or "")
        elif child.tag == f"{_WORD}tab":
            yield " "
        elif child.tag in (f"{_WORD}br", f"{_WORD}cr"):
            yield "  \n"
        elif child.tag == f"{_WORD}noBreakHyphen":
            yield "-"
        elif isinstance(child.tag, str) and child.tag not in (_FALLBACK, f"{_WORD}rPr", f"{_WORD}delText"):
            yield _runs(child, {}) if len(child) else ""


def _slides(path: Path) -> tuple[list[str], Any]:
    import pptx

    shown = pptx.Presentation(str(path))
    return [_slide(slide) for slide in shown.slides], shown.core_properties


def _slide(slide: Any) -> str:
    title = slide.shapes.title
    blocks: list[str] = []
    if title is not None and (text := " ".join(title.text_frame.text.split())):
        blocks.append(f"# {escaped(text)}")
    for shape in sorted(_shapes(slide.shapes), key=lambda one: (one.top or 0, one.left or 0)):
        if title is None or shape.shape_id != title.shape_id:
            blocks += _shape(shape)
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None and notes.text.strip():
        blocks += ["> " + escaped(line) for line in notes.text.splitlines() if line.strip()]
    return compact("\n\n".join(blocks))


def _shapes(shapes: Any) -> Iterator[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        else:
            yield shape


def _shape(shape: Any) -> list[str]:
    if getattr(shape, "has_table", False):
        rows = [[escaped(cell.text) for cell in row.cells] for row in shape.table.rows]
        return [made] if (made := table(rows)) else []
    if not getattr(shape, "has_text_frame", False):
        return []
    paragraphs = [one for one in shape.text_frame.paragraphs if one.text.strip()]
    is_list = len(paragraphs) > 1 or any(one.level for one in paragraphs)
    texts = (escaped(" ".join(one.text.split())) for one in paragraphs)
    return ["    " * one.level + ("- " if is_list else "") + text for one, text in zip(paragraphs, texts, strict=True)]


def _sheets(path: Path) -> tuple[list[str], Any]:
    import openpyxl

    book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    try:
        left = MOST_CELLS
        parts = []
        for sheet in book.worksheets:
            rows: list[list[str]] = []
            for row in sheet.iter_rows(values_only=True):
                left -= len(row)
                if left < 0:
                    raise ValueError("too many cells")
                rows.append([_cell(value) for value in row])
            parts.append(f"# {escaped(sheet.title)}\n\n{table(_trimmed(rows))}".rstrip())
        return parts, book.properties
    finally:
        book.close()


def _trimmed(rows: list[list[str]]) -> list[list[str]]:
    """Rows without the empty columns at their end."""
    width = max(
        (len(row) - next((n for n, cell in enumerate(reversed(row)) if cell), len(row)) for row in rows), default=0
    )
    return [row[:width] for row in rows]


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return escaped(str(value.date()) if hasattr(value, "date") and str(value).endswith(" 00:00:00") else str(value))
