"""The documents of a task: where each was found, and the columns that its manifest carries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Source:
    """One future table row: a file, its name, and the columns carried from the manifest."""

    name: str
    path: Path
    sha256: str
    columns: dict[str, str] = field(default_factory=dict)
    origin: str = ""
    """Where it was found, for display: a path, or an archive and the name in it."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that cannot be a document, and why."""

    name: str
    reason: str
    columns: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Sources:
    """The documents found, in order, and the refused files."""

    found: list[Source] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    """Files in folders and archives that are not documents."""


def documents_of(sources: Iterable[Source]) -> list[dict[str, Any]]:
    """One entry per distinct content, in order of first appearance: identical files are one document with several rows."""
    entries: dict[str, dict[str, Any]] = {}
    for source in sources:
        entry = entries.setdefault(
            source.sha256, {"key": source.sha256, "name": source.name, "file": source.path, "rows": []}
        )
        entry["rows"].append({"name": source.name, "source": source.origin, "columns": source.columns})
    return list(entries.values())
