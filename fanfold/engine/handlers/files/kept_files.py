"""Stores files of an attempt with its task: written first, then recorded under the lease, or removed again."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO

from fanfold.engine.handlers.files.attempt_files import bound
from fanfold.engine.handlers.files.file_records import FileRecord, recorder_of
from fanfold.errors import DatabaseProblem, Temporary
from fanfold.model.values import serial
from fanfold.model.values.files import File

if TYPE_CHECKING:
    from fanfold.engine.handlers.work import Work


def keep(work: Work, name: str, source: BinaryIO) -> File:
    """Store a file; LeaseLost, and no file, if another worker has the item now."""
    store, row, claimed = work._store, work._row, work._claimed
    try:
        file = store.keep(row.id, name, source, claimed.id, claimed.lease)
    except DatabaseProblem as problem:  # A full disk, a missing folder or a silent bucket is not the item's fault.
        raise Temporary(problem.message, code=problem.code, counts=False) from problem
    held = recorder_of(store).record(store, FileRecord(file, row.number, claimed))
    if not held:
        store.shelf.delete([file.key])
    work._still(held)
    return bound(work, file)


def folded(work: Work, name: str, text: str, limit: int | None = None) -> str:
    """The text itself, or a reference to the blob if it is too large for the database."""
    limit = work._store.settings.inline_bytes if limit is None else limit
    if len(text) * 4 <= limit or len(text.encode()) <= limit:
        return text
    return serial.dump({"$large": keep(work, name, BytesIO(text.encode()))}, name)
