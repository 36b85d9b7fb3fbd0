"""Stores blobs in a bucket of any service with the S3 protocol, through obstore's blocking functions.

An object is created only if its key is free (``If-None-Match: *``). Objects that need several parts cannot be created so, because
no client offers that condition for them: their key is taken first, with a small object, which the complete upload then replaces.
"""

from __future__ import annotations

import io
import logging
import secrets
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

from fanfold.errors import BadInput, DatabaseProblem
from fanfold.model.text.sentences import say
from fanfold.model.values.files import content_type
from fanfold.store.files.address import S3Address
from fanfold.store.files.bucket_errors import truncated, unsafe
from fanfold.store.files.bucket_reader import BucketReader
from fanfold.store.files.file_store import FILES_UNSAFE, BlobDamaged, BlobGone, Listed
from fanfold.store.files.folder import SourceUnreadable, read_some
from fanfold.store.files.local_copies import LocalCopies
from fanfold.store.files.objects import PAGE, Objects
from fanfold.store.files.private import opener

log = logging.getLogger("fanfold.sweep")
BLOBS, MARKS, CHECKS = "blobs", "databases", "checks"
"""Prefixes of blobs, of the marks of databases, and of what checks write."""
PART_BYTES = 8 << 20
PARTS_AT_ONCE = 3
"""An upload holds this many parts and the next one in memory."""
COPY_BYTES = 1 << 20
MOST_PARTS = 10_000


class Bucket:
    """Blobs as objects of one bucket, below a prefix."""

    listed_at_once: int | None = 10 * PAGE

    def __init__(self, address: S3Address, copies: LocalCopies) -> None:
        self.s3 = address
        self.address = str(address)
        self.copies = copies
        self._objects = Objects(address)

    def __getstate__(self) -> dict[str, Any]:
        """Without the client: another process makes its own."""
        return {"s3": self.s3, "address": self.address, "copies_in": (self.copies.folder, self.copies.most_bytes)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Made in another process."""
        self.__init__(state["s3"], LocalCopies(*state["copies_in"]))  # type: ignore[misc]

    def put(self, key: str, source: BinaryIO, name: str = "") -> int:
        """Create an object from a stream, in one request or in parts; nobody sees it before it is complete."""
        try:
            first = read_block(source)
            if len(first) < PART_BYTES:
                self._create(f"{BLOBS}/{key}", first, described(name))
                return len(first)
            self._take_key(key)
            return self._upload(key, first, source, name)
        except SourceUnreadable as problem:
            raise problem.error from None

    def _create(self, path: str, content: bytes, attributes: dict[str, str] | None = None) -> None:
        """Create an object. One with exactly this content is fine: an earlier try got through, and its answer got lost."""
        if not self._objects.is_created(path, content, attributes) and self._objects.content(path) != content:
            raise DatabaseProblem(say("files_key_taken", place=f"{self.s3.place}/{path}"), code=FILES_UNSAFE)

    def _take_key(self, key: str) -> None:
        """Take a key that is free, for an upload in parts. Its content is random, so that nobody takes it twice."""
        self._create(f"{BLOBS}/{key}", secrets.token_bytes(16))

    def _upload(self, key: str, first: bytes, source: BinaryIO, name: str) -> int:
        """Upload in parts, and check that all of it has arrived."""
        size, is_read = 0, False

        def blocks() -> Iterator[bytes]:
            nonlocal size, first, is_read
            block, first = first, b""
            while block:
                size += len(block)
                if size > PART_BYTES * MOST_PARTS:
                    raise BadInput(say("file_too_large_for_bucket", gigabytes=PART_BYTES * MOST_PARTS / 1e9))
                yield block
                block = read_block(source)
            is_read = True

        parts = {"use_multipart": True, "chunk_size": PART_BYTES, "max_concurrency": PARTS_AT_ONCE}
        try:
            self._objects.replace(f"{BLOBS}/{key}", blocks(), described(name), **parts)
        except DatabaseProblem:
            # The last request may have got through although its answer was lost, and its repetition then finds no upload.
            if not is_read or self.size(key) != size:
                raise
        if self.size(key) != size:
            raise truncated(self.s3)
        return size

    def replace(self, key: str, source: BinaryIO, name: str) -> int:
        """Write an object whose content is known to be the right one, over whatever is there: for moving files only."""
        try:
            first = read_block(source)
            if len(first) == PART_BYTES:
                return self._upload(key, first, source, name)
        except SourceUnreadable as problem:
            raise problem.error from None
        self._objects.replace(f"{BLOBS}/{key}", first, described(name), use_multipart=False)
        return len(first)

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        """Open for reading; BlobGone if it is missing, BlobDamaged if it does not have the expected size."""
        path = f"{BLOBS}/{key}"
        try:
            first, found = self._objects.first(path, size)
        except FileNotFoundError:
            raise BlobGone(key, self.s3.place) from None
        if size is not None and found != size:
            raise BlobDamaged(key, self.s3.place, found, size)
        return io.BufferedReader(BucketReader(found, first, partial(self._part, key)), COPY_BYTES)

    def _part(self, key: str, start: int, length: int) -> bytes:
        try:
            return self._objects.range(f"{BLOBS}/{key}", start, length)
        except FileNotFoundError:
            raise BlobGone(key, self.s3.place) from None

    def size(self, key: str) -> int | None:
        """The size of the object; None if there is none."""
        return self._objects.size(f"{BLOBS}/{key}")

    def path(self, key: str, size: int | None = None) -> Path:
        """A copy in the cache of this machine."""
        return self.copies.get(key, lambda target: self._fetch(key, target, size))

    def local(self, key: str) -> Path | None:
        """It is elsewhere."""
        return None

    def copy_to(self, key: str, target: Path, size: int | None = None) -> None:
        """A copy that is independent of the cache."""
        self.copies.put_at(key, target, lambda copy: self._fetch(key, copy, size))

    def _fetch(self, key: str, target: Path, expected: int | None) -> None:
        with self.open(key, expected) as source, open(target, "wb", opener=opener) as sink:
            while block := source.read(COPY_BYTES):
                sink.write(block)
            size, written = source.seek(0, io.SEEK_END), sink.tell()
        if written != size:
            raise truncated(self.s3)

    def link(self, key: str, seconds: float) -> str | None:
        """A presigned URL. The object itself carries its name and type."""
        return self._objects.sign(f"{BLOBS}/{key}", seconds)

    def where(self, key: str) -> str:
        """Its address in the bucket."""
        return f"{self.s3.place}/{BLOBS}/{key}"

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects, many in one request; what cannot be removed now is an orphan for the next cleanup."""
        left = iter(keys)
        while some := [f"{BLOBS}/{key}" for key in islice(left, PAGE)]:
            try:
                self._objects.delete(some)
            except (DatabaseProblem, FileNotFoundError) as problem:
                log.warning("[sweep] Could not remove %d files: %s The cleanup removes them later", len(some), problem)

    def listed(self, after: str = "") -> Iterator[Listed]:
        """All objects, page by page."""
        for one in self._objects.listed(BLOBS, f"{BLOBS}/{after}" if after else ""):
            yield Listed(one["path"].removeprefix(f"{BLOBS}/"), one["size"], one["last_modified"].timestamp())

    def now(self) -> float:
        """The clock of the service, read off an object that is created and removed."""
        path = f"{CHECKS}/{secrets.token_hex(8)}"
        self._create(path, b"now")
        found = self._objects.head(path)
        self._objects.delete([path])
        if found is None:
            raise truncated(self.s3)
        return float(found["last_modified"].timestamp())

    def mark(self, name: str, database: str) -> None:
        """Create the mark of a database; the second try to create it must be refused, or the service ignores conditions.

        A mark that is already there is proof enough, so that a process usually needs one request.
        """
        path, content = f"{MARKS}/{name}", f"{database}\n".encode()
        if self._objects.is_created(path, content) and self._objects.is_created(path, content):
            raise unsafe(self.s3)

    def marks(self) -> dict[str, str]:
        """The marks of the databases that keep files here."""
        found = [one["path"] for one in self._objects.listed(MARKS)]
        return {path.partition("/")[2]: self._objects.content(path).decode().strip() for path in found}

    def probe(self) -> None:
        """Ask for an object that is not there."""
        self._objects.head(f"{CHECKS}/probe")


def read_block(source: BinaryIO) -> bytes:
    """The next part of a stream: complete, unless the stream ends."""
    block = read_some(source, PART_BYTES)
    if len(block) in (0, PART_BYTES):
        return block
    parts, length = [block], len(block)
    while length < PART_BYTES and (more := read_some(source, PART_BYTES - length)):
        parts.append(more)
        length += len(more)
    return b"".join(parts)


def described(name: str) -> dict[str, str] | None:
    """What a download tells about an object: its type, and its name. It is never displayed, because it may contain anything."""
    if not name:
        return None
    disposition = f"attachment; filename*=utf-8''{quote(name, safe='')}"
    return {"Content-Type": content_type(name), "Content-Disposition": disposition}
