"""Unpacks the documents of a ZIP archive, and refuses harmful entries: path traversal, links, and zip bombs.

Paths in the archive are never used on disk: each file is named after the hash of its content.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from fanfold.apps.extract.documents import manifests
from fanfold.apps.extract.documents.document_sentences import say_of_document
from fanfold.apps.extract.documents.sources import Refused, Source

MOST_FILES = 20_000
MOST_BYTES = 4 * 1024**3
MOST_BYTES_OF_ONE = 512 * 1024**2
MOST_BYTES_OF_MANIFEST = 32 * 1024**2
# Text and old PDFs may compress to less than a tenth of their size, but hardly ever to a hundredth.
MOST_RATIO = 200
_HARMLESS = 4 * 1024**2
FULL = (errno.ENOSPC, errno.EDQUOT)
_PART = 1024 * 1024
_TRICKS = re.compile(r"^[/\\]|^[A-Za-z]:|(?:^|[/\\])\.\.(?:[/\\]|$)|\x00")

Wanted = Callable[[str], bool]


def is_archive(path: Path) -> bool:
    """Whether a file is a ZIP archive of documents, and not a Word document or another file in ZIP format."""
    if path.suffix.lower() != ".zip":
        return False
    with path.open("rb") as file:
        return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def unpacked(path: Path, folder: Path, wanted: Wanted) -> Iterator[Source | Refused]:
    """Unpack the documents of an archive into the folder, in name order. Each refused entry has a reason."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if len(members) > MOST_FILES:
                reason = say_of_document("archive_too_many", file=path.name, count=len(members), limit=MOST_FILES)
                yield Refused(path.name, reason)
                return
            yield from _Unpacking(archive, path, folder).each(members, wanted)
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        if isinstance(error, OSError) and (error.errno in FULL or not path.exists()):
            raise
        yield Refused(path.name, say_of_document("archive_damaged", file=path.name))


def manifest_in(path: Path, folder: Path) -> Path | Refused | None:
    """Unpack the manifest of an archive: the file called manifest, or else its only table that names files.

    Only the outermost folder with such files is looked at: tables deeper inside are data that belongs to documents.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = [(_name(member), member) for member in archive.infolist() if not member.is_dir()]
            tables = [one for one in members if _is_table(one[0])]
            depth = min((name.count("/") for name, _ in tables), default=0)
            outer = [one for one in tables if one[0].count("/") == depth]
            named = [one for one in outer if PurePosixPath(one[0]).stem.lower() == manifests.NAMED]
            if len(named or outer) != 1:
                return None
            [(name, member)] = named or outer
            reason = _objection(name, member, MOST_BYTES_OF_MANIFEST)
            found = (
                Refused(name, reason) if reason is not None else _Unpacking(archive, path, folder).taken(name, member)
            )
    except (zipfile.BadZipFile, NotImplementedError):
        return None  # The archive is refused as a whole.
    if isinstance(found, Refused):
        return found if named else None
    return found.path if named or manifests.names_files(found.path) else None


def _is_table(name: str) -> bool:
    parts = name.split("/")
    return name.lower().endswith(manifests.ENDINGS) and parts[0] != "__MACOSX" and not parts[-1].startswith(".")


class _Unpacking:
    """One archive, and how many bytes of it have been unpacked."""

    def __init__(self, archive: zipfile.ZipFile, path: Path, folder: Path) -> None:
        self.archive = archive
        self.path = path
        self.folder = folder
        self.bytes = 0

    def each(self, members: list[zipfile.ZipInfo], wanted: Wanted) -> Iterator[Source | Refused]:
        for name, member in sorted(((_name(member), member) for member in members), key=lambda one: one[0]):
            if not wanted(name):
                continue
            reason = _objection(name, member)
            if reason is not None:
                yield Refused(name, reason)
                continue
            # Reading stops at the size that an entry declares, so an entry cannot unpack to more than that.
            self.bytes += member.file_size
            if self.bytes > MOST_BYTES:
                limit = MOST_BYTES // 1024**2
                yield Refused(self.path.name, say_of_document("archive_too_large", file=self.path.name, limit=limit))
                return
            yield self.taken(name, member)

    def taken(self, name: str, member: zipfile.ZipInfo) -> Source | Refused:
        partial = self.folder / f"partial-{os.getpid()}"
        try:
            sha256 = self._write(member, partial)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
            partial.unlink(missing_ok=True)
            return Refused(name, say_of_document("member_damaged", file=name))
        target = self.folder / f"{sha256}{PurePosixPath(name).suffix.lower()[:10]}"
        partial.replace(target)
        return Source(PurePosixPath(name).name, target, sha256, origin=f"{self.path.name}/{name}")

    def _write(self, member: zipfile.ZipInfo, target: Path) -> str:
        """Unpack one file and return its hash."""
        digest = hashlib.sha256()
        with self.archive.open(member) as content, target.open("wb") as file:
            while part := content.read(_PART):
                digest.update(part)
                file.write(part)
        return digest.hexdigest()


def _objection(name: str, member: zipfile.ZipInfo, most: int = MOST_BYTES_OF_ONE) -> str | None:
    """Why a file is refused before it is unpacked."""
    if _TRICKS.search(member.filename) or _TRICKS.search(name):
        return say_of_document("member_path", file=name)
    if stat.S_ISLNK(member.external_attr >> 16):
        return say_of_document("member_link", file=name)
    if member.flag_bits & 1:
        return say_of_document("member_encrypted", file=name)
    if PurePosixPath(name).suffix.lower() == ".zip":
        return say_of_document("member_archive", file=name)
    if member.file_size > most:
        return say_of_document("member_too_large", file=name, limit=most // 1024**2)
    ratio = member.file_size // max(member.compress_size, 1)
    if member.file_size > _HARMLESS and ratio > MOST_RATIO:
        return say_of_document("member_bomb", file=name, ratio=ratio)
    return None


def _name(member: zipfile.ZipInfo) -> str:
    """The name of a file in the archive. Chinese Windows writes names in GBK without declaring it."""
    if member.flag_bits & 0x800 or member.filename.isascii():
        return member.filename
    try:
        written = member.filename.encode("cp437")
    except UnicodeEncodeError:
        return member.filename
    for encoding in ("utf-8", "gb18030"):
        try:
            return written.decode(encoding)
        except UnicodeDecodeError:
            continue
    return member.filename
