"""Writes blocks as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fanfold.apps.pdf.markdown import cleaning, inline
from fanfold.apps.pdf.markdown.blocks import Block, code_lines
from fanfold.apps.pdf.markdown.inline import BREAK, escaped
from fanfold.apps.pdf.markdown.pieces import Table

_START = re.compile(r"(#{1,6}(?=\s|$)|>|[-+](?=\s|$)|\d{1,9}(?=[.)](?:\s|$))|=+$|~~~)")
_ORDERED = re.compile(r"\(?(\d{1,3})[.)]")


def markdown(blocks: Sequence[Block], links: Sequence[str] = ()) -> str:
    """The page as Markdown; ``links`` are its addresses."""
    parts: list[str] = []
    edges: list[float] = []
    for before, block in zip([None, *blocks], blocks, strict=False):
        edges = _nesting(edges, block)
        written = _write(block, max(len(edges) - 1, 0), links)
        if not written:
            continue
        tight = block.kind == "item" and before is not None and before.kind == "item"
        parts.append(("\n" if tight else "\n\n") + written)
    return "".join(parts).strip("\n")


def plain(blocks: Sequence[Block]) -> str:
    """The page's text without markup."""
    parts: list[str] = []
    for block in blocks:
        if block.table is not None:
            parts.extend(" ".join(row) for row in block.table.rows)
        else:
            parts.append("\n".join(line.text for line in block.lines))
    return "\n\n".join(parts)


def _nesting(edges: list[float], block: Block) -> list[float]:
    """Left edges of the lists that contain this block, outermost first."""
    if block.kind != "item":
        return []
    line = block.lines[0]
    return [*(edge for edge in edges if edge < line.x0 - 0.7 * line.size), line.x0]


def _write(block: Block, depth: int, links: Sequence[str]) -> str:
    if block.kind == "table" and block.table is not None:
        return table(block.table)
    if block.kind == "code":
        return _fenced(code_lines(block.lines))
    if block.kind == "heading":
        return f"{'#' * block.level} {inline.written(inline.joined(block.lines), emphasis=False)}"
    if block.kind == "item":
        return _item(block, depth, links)
    return _guarded(inline.written(inline.joined(block.lines, block.breaks), links))


def _item(block: Block, depth: int, links: Sequence[str]) -> str:
    rich = inline.joined(block.lines).cut(len(block.marker))
    text = _guarded(inline.written(rich, links))
    number = _ORDERED.fullmatch(block.marker)
    marker = f"{number[1]}." if number else "-"
    if number is None and block.marker != "o" and any(character.isalnum() for character in block.marker):
        # "a)" and "(iv)" are not Markdown markers, so they stay part of the text.
        text = f"{block.marker} {text}"
    return f"{'   ' * depth}{marker} {text}"


def _guarded(text: str) -> str:
    """Escape the start of a paragraph or line that would read as a heading, list or quotation."""
    if BREAK in text:
        return BREAK.join(map(_guarded, text.split(BREAK)))
    match = _START.match(text)
    if match is None:
        return text
    return f"{match[1]}\\{text[match.end() :]}" if match[1].isdigit() else f"\\{text}"


def table(found: Table) -> str:
    """A table in GitHub-flavoured Markdown."""
    width = max(len(row) for row in found.rows)
    rows = [[_cell(text) for text in row] + [""] * (width - len(row)) for row in found.rows]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * width, *lines[1:]])


def _cell(text: str) -> str:
    if text.isascii() and text.isalnum():
        return text
    flat = escaped(cleaning.close_gaps(cleaning.characters(text.replace("\\", "")))).strip()
    return flat.replace("|", "\\|") if "|" in flat else flat


def _fenced(lines: list[str]) -> str:
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0))
    return "\n".join([fence, *lines, fence])
