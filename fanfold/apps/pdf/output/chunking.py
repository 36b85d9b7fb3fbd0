"""Cuts a document into chunks for a search index: at headings first, then by size, never within a table row or a word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from fanfold.apps.pdf.output.blocks_of_pages import OutputBlock

_CUTS = (re.compile(r"\n"), re.compile(r"(?<=[.!?。！？])\s*"), re.compile(r"\s"))


def chunks_of(blocks: Iterable[OutputBlock], size: int) -> Iterator[dict[str, Any]]:
    """Chunks of at most ``size`` characters, each with its headings and pages. A heading starts a new chunk.

    A heading with nothing below it is a chunk without text, so that it can be found too.
    """
    for number, (headings, held) in enumerate(_gathered(blocks, size), 1):
        pages = [one.page for one in held or headings[-1:]]
        yield {
            "chunk": number,
            "headings": [heading.text for heading in headings],
            "pages": [pages[0], pages[-1]],
            "text": "\n\n".join(one.text for one in held),
        }


def _gathered(blocks: Iterable[OutputBlock], size: int) -> Iterator[tuple[list[OutputBlock], list[OutputBlock]]]:
    """The headings above each chunk, and its blocks."""
    headings: list[OutputBlock] = []
    held: list[OutputBlock] = []
    is_bare = False
    for block in blocks:
        if block.kind == "heading":
            above = [heading for heading in headings if (heading.level or 1) < (block.level or 1)]
            if held or (is_bare and len(above) < len(headings)):
                yield headings, held
            headings, held, is_bare = [*above, block], [], True
        elif block.kind != "missing":
            for part in _cut(block, size):
                if held and sum(len(one.text) + 2 for one in held) + len(part.text) > size:
                    yield headings, held
                    held = []
                held.append(part)
                is_bare = False
    if held or is_bare:
        yield headings, held


def _cut(block: OutputBlock, size: int) -> Iterator[OutputBlock]:
    """The block in parts of at most ``size`` characters: cut between lines, else sentences, else words."""
    text = block.text
    while len(text) > size:
        ends = (max((found.end() for found in cut.finditer(text, 0, size) if found.end()), default=0) for cut in _CUTS)
        end = next((end for end in ends if end > size // 4), size)
        yield OutputBlock(block.page, block.kind, text[:end].strip(), box=block.box)
        text = text[end:].lstrip()
    if text:
        yield OutputBlock(block.page, block.kind, text, box=block.box)
