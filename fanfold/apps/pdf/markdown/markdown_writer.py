"""Writes blocks as Markdown."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Sequence

from fanfold.apps.pdf.markdown import cleaning, inline
from fanfold.apps.pdf.markdown.blocks import Block
from fanfold.apps.pdf.markdown.code_lines import code_lines
from fanfold.apps.pdf.markdown.inline import BREAK, escaped
from fanfold.apps.pdf.markdown.pieces import Table

_START = re.compile(r"(#{1,6}(?=\s|$)|>|[-+](?=\s|$)|\d{1,9}(?=[.)](?:\s|$))|=+$|~~~)")
# Emphasis, escapes, and the characters that HTML would read, outside of the tags that are written for superscripts.
_STARS = re.compile(r"(?<!\\)\*{1,3}")
_ESCAPED = re.compile(r"\\([\\*`_<\[])")
_CODE = re.compile(r"`([^`]*)`")
_BARE = re.compile(r"<(?!/?(?:su[bp]|br)>)|&|(?<!su[bp])(?<!br)>")
_ORDERED = re.compile(r"\(?(\d{1,3})[.)]")


def markdown(blocks: Sequence[Block], links: Sequence[str] = ()) -> str:
    """The page as Markdown; ``links`` are its addresses."""
    parts: list[str] = []
    entries: list[Block] = []
    notes = {block.marker for block in blocks if block.kind == "note"}
    for before, block in zip([None, *blocks], blocks, strict=False):
        entries = _nesting(entries, block)
        written = _write(block, max(len(entries) - 1, 0), links, notes)
        if not written:
            continue
        tight = block.kind in ("item", "note") and before is not None and before.kind == block.kind
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


def _nesting(above: list[Block], block: Block) -> list[Block]:
    """The last entries of the lists that contain this block, outermost first, and the block itself if it is an entry."""
    if block.kind != "item":
        return []
    lowest = max((line.y0 for line in above[-1].lines), default=0.0) if above else 0.0
    if above and block.lines[0].y0 < lowest - block.lines[0].size:
        # In the next column, an entry is known by its mark.
        depth = next((at for at in range(len(above) - 1, -1, -1) if _follows(above[at].marker, block.marker)), 0)
        return [*above[:depth], block]
    return [*(entry for entry in above if _edge(entry) < _edge(block) - 0.7 * block.lines[0].size), block]


def _edge(entry: Block) -> float:
    """Where an entry begins; from right to left, that is its right edge."""
    line = entry.lines[0]
    return -line.x1 if cleaning.is_right_to_left(line.text) else line.x0


def _follows(above: str, below: str) -> bool:
    """Whether a mark is the one after another, or the same bullet."""
    one, other = above.strip("()."), below.strip("().")
    if one.isdigit() and other.isdigit():
        return int(other) == int(one) + 1
    return above == below or (len(one) == len(other) == 1 and ord(other) - ord(one) == 1)


def _write(block: Block, depth: int, links: Sequence[str], notes: Collection[str]) -> str:
    if block.kind == "table" and block.table is not None:
        return table(block.table)
    if block.kind in ("figure", "formula"):
        return block.marker
    if block.kind == "code":
        return _fenced(code_lines(block.lines))
    if block.kind == "heading":
        return f"{'#' * block.level} {inline.written(inline.joined(block.lines), emphasis=False)}"
    if block.kind == "item":
        return _item(block, depth, links, notes)
    if block.kind == "note":
        return f"[^{block.marker}]: {inline.written(_without_mark(block), links)}"
    return _guarded(inline.written(inline.joined(block.lines, block.breaks), links, notes=notes))


def _without_mark(block: Block) -> inline.Rich:
    """The text of a note without its mark, and without the point or bracket behind the mark."""
    rich = inline.joined(block.lines).cut(len(block.marker))
    return rich.cut(1) if rich.text[:2] in (". ", ") ") else rich


def _item(block: Block, depth: int, links: Sequence[str], notes: Collection[str]) -> str:
    rich = inline.joined(block.lines).cut(len(block.marker))
    text = _guarded(inline.written(rich, links, notes=notes))
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
    """A table in GitHub-flavoured Markdown, or in HTML if cells cover several rows or columns."""
    rows = found.marked or [[_marked(text) for text in row] for row in found.rows]
    if found.spans:
        return _html(found, rows)
    width = max(len(row) for row in rows)
    lines = ["| " + " | ".join([*map(_cell, row), *[""] * (width - len(row))]) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * width, *lines[1:]])


def _html(found: Table, rows: list[list[str]]) -> str:
    """A table as HTML; its cells hold Markdown, which Markdown's readers do not interpret there, so marks are left out."""
    covered = {
        (row + down, column + across)
        for (row, column), (height, width) in found.spans.items()
        for down in range(height)
        for across in range(width)
        if down or across
    }
    lines = ["<table>"]
    for number, row in enumerate(rows):
        tag = "th" if number < found.heads else "td"
        cells = []
        for column, text in enumerate(row):
            if (number, column) in covered:
                continue
            height, width = found.spans.get((number, column), (1, 1))
            size = (f' rowspan="{height}"' if height > 1 else "") + (f' colspan="{width}"' if width > 1 else "")
            cells.append(f"<{tag}{size}>{_plain_html(text)}</{tag}>")
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return "\n".join([*lines, "</table>"])


def _plain_html(text: str) -> str:
    """A cell for HTML: without the stars and escapes of Markdown, with its own tags kept."""
    text = _CODE.sub(r"\1", _ESCAPED.sub(r"\1", _STARS.sub("", text)))
    return _BARE.sub(lambda match: html.escape(match[0]), text)


def _marked(text: str) -> str:
    """A cell of the layout engine, whose own escapes are dropped."""
    if text.isascii() and text.isalnum():
        return text
    return escaped(cleaning.close_gaps(cleaning.characters(text.replace("\\", "")))).strip()


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace(BREAK, " ") if "|" in text or "\n" in text else text


def _fenced(lines: list[str]) -> str:
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in re.findall(r"`+", line)), default=0))
    return "\n".join([fence, *lines, fence])
