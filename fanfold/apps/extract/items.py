"""Makes the items of a task from its submitted files: one item per distinct content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.extract.documents import manifests
from fanfold.apps.extract.documents.finding import sources
from fanfold.apps.extract.documents.sources import Sources, documents_of
from fanfold.apps.extract.sentences import say_of_extract

DOCUMENTS = "documents"
"""Name of the input in which the command lists the documents it found and their rows; files are referred to by position."""


def unpack(inputs: Sequence[Any], folder: Path) -> list[Any]:
    """The inputs with archives unpacked, and with the rows of a manifest; both may be uploaded."""
    if any(isinstance(one, dict) and DOCUMENTS in one for one in inputs):
        return list(inputs)  # The command has found its documents.
    files = [one for one in inputs if isinstance(one, Path)]
    manifest = next((one for one in files if one.name.lower().endswith(manifests.ENDINGS)), None)
    others = [one for one in files if one != manifest]
    found = sources(map(str, others), manifest=manifest, folder=folder, beside=False)
    given = {str(one): one.name for one in others}
    found.found = [replace(one, origin=given.get(one.origin, one.origin)) for one in found.found]
    if not (found.found or found.refused):
        raise ff.Permanent(say_of_extract("no_documents", paths=[one.name for one in files]), code="no_documents")
    return [*(one for one in inputs if not isinstance(one, Path)), *inputs_of(found)]


def inputs_of(found: Sources) -> list[Any]:
    """The inputs of a task: the files, and a list of documents with their rows. Refused files become rows as well."""
    entries = documents_of(found.found)
    for one in found.refused:
        row = {"name": one.name, "source": one.name, "columns": one.columns}
        key = ff.part_key(one.name, one.columns)
        entries.append({"key": f"refused-{key}", "name": one.name, "refused": str(one.reason), "rows": [row]})
    files = [entry["file"] for entry in entries if "file" in entry]
    positions = {path: position for position, path in enumerate(files)}
    told = [entry | ({"file": positions[entry["file"]]} if "file" in entry else {}) for entry in entries]
    return [*files, {DOCUMENTS: told}]


def items(inputs: Sequence[Any], options: dict[str, Any]) -> Iterator[ff.NewItem]:
    """An item per document. Identical files are one item with several rows."""
    files = [one for one in inputs if isinstance(one, ff.File)]
    told = next((one[DOCUMENTS] for one in inputs if isinstance(one, dict) and DOCUMENTS in one), None)
    entries = told if told is not None else list(_entries(files))
    each: list[Any] = entries if isinstance(entries, list) else [None]
    for entry in each:
        key, at = (entry.get("key"), entry.get("file")) if isinstance(entry, dict) else (None, None)
        if not isinstance(key, str) or not (at is None or (isinstance(at, int) and at in range(len(files)))):
            raise ff.Permanent(say_of_extract("bad_documents", name=DOCUMENTS), code="bad_documents")
        rest = {name: value for name, value in entry.items() if name not in ("key", "file")}
        yield ff.NewItem(key, rest if at is None else rest | {"file": files[at]})


def rows_of_input(given: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The rows of a document, from the input of its item. A program may have submitted anything as its rows."""
    told = given.get("rows")
    rows = [
        {"name": str(row["name"]), "source": str(row.get("source") or ""), "columns": dict(row.get("columns") or {})}
        for row in (told if isinstance(told, list) else ())
        if isinstance(row, dict) and row.get("name") and isinstance(row.get("columns") or {}, dict)
    ]
    return rows or [{"name": name, "source": name, "columns": {}}]


def _entries(files: Sequence[ff.File]) -> Iterator[dict[str, Any]]:
    """The documents of plain files, by their content."""
    known: dict[str, dict[str, Any]] = {}
    for position, file in enumerate(files):
        key = _digest(file)
        entry = known.setdefault(key, {"key": key, "name": file.name, "file": position, "rows": []})
        entry["rows"].append({"name": file.name, "source": file.name, "columns": {}})
    yield from known.values()


def _digest(file: ff.File) -> str:
    made = hashlib.sha256()
    with file.open() as source:
        while part := source.read(1 << 20):
            made.update(part)
    return made.hexdigest()
