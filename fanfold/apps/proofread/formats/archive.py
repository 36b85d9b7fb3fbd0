"""Opens ZIP archives with limits, and writes them again with some members changed and the others untouched."""

from __future__ import annotations

import copy
import io
import shutil
import zipfile
from collections.abc import Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import fanfold as ff
from fanfold.apps.proofread.formats.source import Source
from fanfold.apps.proofread.sentences import say_of_proofread

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_MEMBERS = 20_000
LARGEST_MEMBER = 100_000_000
"""Largest unpacked size of a member that is read as text."""
LARGEST_TOTAL = 2_000_000_000
MOST_PACKED = 200
"""A large member with a higher compression ratio than this is refused as a zip bomb; text has about 3 to 10."""
LARGE = 10_000_000


@contextmanager
def opened(source: Source) -> Iterator[zipfile.ZipFile]:
    """Open the archive. Raises Permanent if it cannot be opened or is a zip bomb."""
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            _check(archive, source)
            yield archive
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError, OSError) as error:
        raise ff.Permanent(
            say_of_proofread("damaged_archive", file=source.name, format=_ending(source)), code="damaged_archive"
        ) from error


def read_member(archive: zipfile.ZipFile, name: str, source: Source) -> bytes:
    """The content of one member. Raises Permanent if it is missing, damaged or encrypted."""
    import zlib

    if name in archive.NameToInfo and archive.NameToInfo[name].file_size > LARGEST_MEMBER:
        raise ff.Permanent(
            say_of_proofread("zip_bomb", file=source.name, size=LARGEST_MEMBER // 1_000_000), code="zip_bomb"
        )
    try:
        return archive.read(name)
    except (KeyError, RuntimeError, zlib.error, zipfile.BadZipFile, EOFError) as error:
        raise ff.Permanent(
            say_of_proofread("damaged_member", file=source.name, member=name), code="damaged_member"
        ) from error


def rewrite(source: Source, changed: Mapping[str, bytes]) -> bytes:
    """Write the archive with changed members. A member named ``mimetype`` comes first and uncompressed, as EPUB requires."""
    out = io.BytesIO()
    with opened(source) as archive, zipfile.ZipFile(out, "w") as result:
        result.comment = archive.comment
        for info in sorted(archive.infolist(), key=lambda one: one.filename != "mimetype"):
            made = copy.copy(info)
            made.file_size = len(changed[info.filename]) if info.filename in changed else info.file_size
            if info.filename == "mimetype":
                made.compress_type = zipfile.ZIP_STORED
            with result.open(made, "w", force_zip64=made.file_size > 1_000_000_000) as target:
                if info.filename in changed:
                    target.write(changed[info.filename])
                elif not info.is_dir():
                    with archive.open(info) as member:
                        shutil.copyfileobj(member, target, 1 << 20)
    return out.getvalue()


def _check(archive: zipfile.ZipFile, source: Source) -> None:
    infos = archive.infolist()
    total = sum(info.file_size for info in infos)
    bomb = len(infos) > MOST_MEMBERS or total > LARGEST_TOTAL or any(map(_is_bomb, infos))
    if bomb or len({info.filename for info in infos}) < len(infos):
        size = max(total // 1_000_000, 1)
        raise ff.Permanent(say_of_proofread("zip_bomb", file=source.name, size=size), code="zip_bomb")
    if any(info.flag_bits & 1 for info in infos):
        raise ff.Permanent(say_of_proofread("locked_archive", file=source.name), code="locked_archive")


def _is_bomb(info: zipfile.ZipInfo) -> bool:
    return info.file_size > LARGE and info.file_size > MOST_PACKED * max(info.compress_size, 1)


def _ending(source: Source) -> str:
    return source.name.rpartition(".")[2].upper()
