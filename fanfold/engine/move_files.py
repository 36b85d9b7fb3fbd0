"""Brings the files of the data folder to a bucket while the installation runs.

Files are copied, read back and compared. Meanwhile each process finds a file in either place. The files in the folder are removed
only on request, when no process with the old setting is left. Whatever interrupts it, it can be run again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import BinaryIO

from fanfold.errors import BadInput
from fanfold.model.text.sentences import say
from fanfold.store.files.bucket import Bucket
from fanfold.store.files.file_store import BlobGone
from fanfold.store.store import Store

BATCH = 500
COPY_BYTES = 1 << 20


@dataclass(frozen=True)
class FilesMoved:
    """What a move has done so far."""

    place: str
    """The bucket."""
    copied: int = 0
    """Files that were copied now."""
    copied_bytes: int = 0
    present: int = 0
    """Files that were already there, and were compared."""
    removed: int = 0
    """Files that were removed from the data folder, after their copy was compared."""
    unreferenced: int = 0
    """Files that belong to no task: being written now, or left over. The cleanup of the folder removes old ones."""


def move_files(
    store: Store,
    to: str | None = None,
    *,
    remove: bool = False,
    on_moved: Callable[[FilesMoved], None] | None = None,
) -> FilesMoved:
    """Copy all files that a task references, and compare the copies; with ``remove``, remove the originals."""
    bucket = destination(store, to)
    store.add_place(bucket)  # From now on, every process looks for files there too.
    told = FilesMoved(bucket.address)
    for key, name in referenced(store):
        if name is None:
            told = replace(told, unreferenced=told.unreferenced + 1)
            continue
        told = _moved(store, bucket, key, name, remove, told)
        if on_moved is not None:
            on_moved(told)
    return told


def destination(store: Store, to: str | None) -> Bucket:
    """The bucket named, or that of the settings."""
    if to is None and not isinstance(store.shelf.home, Bucket):
        raise BadInput(say("no_bucket_to_move_to"), code="files_address")
    return store.shelf.bucket(to if to is not None else store.settings.files)


def referenced(store: Store) -> Iterator[tuple[str, str | None]]:
    """The keys in the data folder, each with the name that its row has; None without a row."""
    found = store.shelf.folder.listed()
    while page := list(islice(found, BATCH)):
        with store.read() as tx:
            names = tx.blobs.names([one.key for one in page])
        yield from ((one.key, names.get(one.key)) for one in page)


def _moved(store: Store, bucket: Bucket, key: str, name: str, remove: bool, told: FilesMoved) -> FilesMoved:
    """Copy one file unless an equal one is there; a file that was deleted meanwhile is skipped."""
    folder = store.shelf.folder
    try:
        with folder.open(key) as source:
            size, wanted = _digest(source)
            if not _is_equal(bucket, key, size, wanted):
                source.seek(0)
                bucket.replace(key, source, name)
                if not _is_equal(bucket, key, size, wanted):
                    raise BadInput(say("copy_differs", file=key, place=bucket.address), code="copy_differs")
                told = replace(told, copied=told.copied + 1, copied_bytes=told.copied_bytes + size)
            else:
                told = replace(told, present=told.present + 1)
    except BlobGone:
        return told
    if remove:
        folder.delete([key])
        told = replace(told, removed=told.removed + 1)
    return told


def _is_equal(bucket: Bucket, key: str, size: int, wanted: str) -> bool:
    """Whether the bucket has exactly this content; reads all of it."""
    if bucket.size(key) != size:
        return False
    with bucket.open(key) as copy:
        return _digest(copy) == (size, wanted)


def _digest(source: BinaryIO) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    while block := source.read(COPY_BYTES):
        digest.update(block)
        size += len(block)
    return size, digest.hexdigest()
