"""Divides converted pages into blocks with page, kind, text and box: what people feed to a search index."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import fanfold as ff

Placed = Sequence[Any]
"""A line of a page: its text, then left, top, width and height in fractions of the page."""
_KINDS = {
    "heading_open": "heading", "paragraph_open": "paragraph", "bullet_list_open": "list", "ordered_list_open": "list",
    "table_open": "table", "fence": "code", "code_block": "code", "blockquote_open": "quote", "html_block": "html",
}  # fmt: skip
_LETTERS = re.compile(r"[\W_]+")


@dataclass
class OutputBlock:
    """One block of a page."""

    page: int
    kind: str
    """`heading`, `paragraph`, `list`, `table`, `code`, `quote`, `html` or `missing`."""
    text: str
    """Markdown; of a heading, its text alone."""
    level: int | None = None
    """Of a heading: from 1."""
    box: list[float] | None = None
    """Left, top, width and height in fractions of the page; None if the place is not known."""

    def as_json(self) -> dict[str, Any]:
        """Its fields, without a level if it has none."""
        found = asdict(self)
        if self.level is None:
            del found["level"]
        return found


def blocks_of(results: Iterable[ff.Result]) -> Iterator[OutputBlock]:
    """The blocks of all pages in order. A page without a result is a block of the kind `missing`, with the reason."""
    for result in results:
        page = int(result.input["page"])
        if not result.ok:
            yield OutputBlock(page, "missing", str(result.error_message or "it was not converted"))
            continue
        found = list(_divided(page, result.output["markdown"]))
        _place(found, result.output.get("lines") or ())
        yield from found


def _divided(page: int, markdown: str) -> Iterator[OutputBlock]:
    from markdown_it import MarkdownIt

    lines = markdown.split("\n")
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(markdown)
    for position, token in enumerate(tokens):
        kind = _KINDS.get(token.type)
        if token.level or kind is None or token.map is None:
            continue
        text = "\n".join(lines[token.map[0] : token.map[1]]).strip("\n")
        if kind == "heading":
            yield OutputBlock(page, kind, tokens[position + 1].content, int(token.tag[1:]))
        elif text.strip():
            yield OutputBlock(page, "table" if text.startswith("<table>") else kind, text)


def _place(blocks: Sequence[OutputBlock], lines: Sequence[Placed]) -> None:
    """Give each block the box around its lines. They are mostly in the same order, so look near the last match first."""
    letters = [_LETTERS.sub("", block.text).lower() for block in blocks]
    at = 0
    for text, *box in lines:
        wanted = _LETTERS.sub("", text).lower()
        if not wanted:
            continue
        order = [*range(at, len(blocks)), *range(at)]
        found = next((n for n in order if wanted in letters[n]), None)
        if found is not None:
            at = found
            blocks[found].box = _around(blocks[found].box, [float(side) for side in box])


def _around(known: list[float] | None, box: list[float]) -> list[float]:
    if known is None:
        return box
    left, top = min(known[0], box[0]), min(known[1], box[1])
    right, bottom = max(known[0] + known[2], box[0] + box[2]), max(known[1] + known[3], box[1] + box[3])
    return [round(side, 4) for side in (left, top, right - left, bottom - top)]
