"""Keeps the code of each reason beside its text, so that the page shows it in the reader's language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fanfold.apps.extract.asking.states import Cell
from fanfold.model.text.sentences import Sentence, kept


def cells_of(record: dict[str, Any]) -> Iterator[Cell]:
    """All cells of a record: those of the document, and those of its rows."""
    yield from record["fields"].values()
    for row in record.get("rows", ()):
        yield from row["fields"].values()


def keep_codes(record: dict[str, Any]) -> None:
    """Add ``said`` to cells and alternatives with a new reason. A cell of an earlier record has its own already."""
    for cell in cells_of(record):
        for one in (cell, *cell["alternatives"]):
            if isinstance(one["reason"], Sentence):
                one["said"] = kept(one["reason"])
