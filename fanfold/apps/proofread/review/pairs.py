"""Every paragraph of a book before and after, with people's decisions applied, read chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import fanfold as ff
from fanfold.apps.proofread.changes import Pair
from fanfold.apps.proofread.formats.book import Brackets
from fanfold.apps.proofread.stages.paragraphs import final_text

STAGE = "process"


class Paired(NamedTuple):
    """A paragraph before and after, the block that it belongs to, its brackets, and what its markers stand for."""

    pair: Pair
    block: str
    brackets: Brackets
    shown: tuple[tuple[str, str], ...] = ()


def pairs(results: ff.Results[Any, Any], usual: str) -> Iterator[Paired]:
    """Every paragraph of the book before and after, with the decisions applied. A chunk that failed keeps its source."""
    for result in results.all():
        given: Any = result.input
        brackets = Brackets(*given["brackets"])
        shown = {entry["id"]: entry.get("shown", ()) for entry in given["entries"]}
        if not result.ok:
            for entry in given["entries"]:
                pair = Pair(entry["id"], entry["before"], entry.get("ruled", entry["before"]))
                yield Paired(pair, entry.get("block", entry["id"]), brackets, shown[entry["id"]])
            continue
        for paragraph in result.output["paragraphs"]:
            text, _ = final_text(paragraph, result.decisions, usual, brackets)
            pair = Pair(paragraph["id"], paragraph["before"], text, model=paragraph.get("model", ""))
            yield Paired(pair, paragraph.get("block", paragraph["id"]), brackets, shown.get(paragraph["id"], ()))
