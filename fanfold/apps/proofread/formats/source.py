"""Opens the file of a book: its bytes, its digest and its actual file type."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import fanfold as ff
from fanfold.apps.proofread.formats.encodings import wide_encoding
from fanfold.apps.proofread.sentences import say_of_proofread

LARGEST_FILE = 500_000_000
SAMPLE = 100_000
"""Number of bytes examined to tell text from other files."""

ENDINGS = {
    ".txt": "txt",
    ".text": "txt",
    ".md": "md",
    ".markdown": "md",
    ".mdown": "md",
    ".epub": "epub",
    ".docx": "docx",
}
ZIP = "a ZIP archive"
_KINDS = (
    (b"%PDF-", "a PDF"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"\xd0\xcf\x11\xe0", "an old Word or Excel file"),
    (b"{\\rtf", "an RTF document"),
    (b"Rar!", "a RAR archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"BOOKMOBI", "a Kindle book"),
    (b"PK\x03\x04", ZIP),
)


@dataclass(frozen=True)
class Source:
    """The file of a book."""

    path: str
    data: bytes = field(repr=False)

    @property
    def name(self) -> str:
        """The name of the file, for messages."""
        return Path(self.path).name

    @property
    def digest(self) -> str:
        """SHA-256 of the file."""
        return hashlib.sha256(self.data).hexdigest()


def open_source(path: Path | str) -> Source:
    """Read a file. Raises Permanent with the reason if it cannot be read."""
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise ff.Permanent(
                say_of_proofread("too_large", file=path.name, size=size, limit=LARGEST_FILE),
                code="too_large",
            )
        data = path.read_bytes()
    except OSError as error:
        raise ff.Permanent(
            say_of_proofread("not_a_file", file=path.name, why=error.strerror or str(error)), code="not_a_file"
        ) from error
    if not data:
        raise ff.Permanent(say_of_proofread("empty_file", file=path.name), code="empty_file")
    return Source(str(path), data)


def kind_of(source: Source, encoding: str | None = None) -> str:
    """`txt`, `md`, `epub` or `docx`, by the extension. Raises Permanent if the content is something else."""
    ending = Path(source.path).suffix.casefold()
    kind = ENDINGS.get(ending)
    real = _archive_kind(source)
    if real and real != kind:
        name = {"epub": "an EPUB", "docx": "a Word document"}[real]
        wanted = str(Path(source.name).with_suffix(f".{real}"))
        raise ff.Permanent(
            say_of_proofread("wrong_ending", file=source.name, kind=name, ending=wanted), code="wrong_ending"
        )
    strange = _other_kind(source.data, encoding)
    if kind in ("epub", "docx") and not real:
        _refuse(source, kind, strange)
    if strange and not real:
        raise ff.Permanent(say_of_proofread("binary_file", file=source.name, kind=strange), code="binary_file")
    if kind is None:
        raise ff.Permanent(say_of_proofread("unknown_ending", file=source.name), code="unknown_ending")
    return kind


def _refuse(source: Source, kind: str, strange: str) -> NoReturn:
    """Raise Permanent about a file that is not the archive that its extension promises."""
    if strange == ZIP:
        raise ff.Permanent(
            say_of_proofread("damaged_archive", file=source.name, format=kind.upper()), code="damaged_archive"
        )
    if strange:
        raise ff.Permanent(say_of_proofread("binary_file", file=source.name, kind=strange), code="binary_file")
    wanted = str(Path(source.name).with_suffix(".txt"))
    raise ff.Permanent(
        say_of_proofread("wrong_ending", file=source.name, kind="a text file", ending=wanted), code="wrong_ending"
    )


def _archive_kind(source: Source) -> str:
    """`epub` or `docx` if the file is one, regardless of its extension."""
    if not source.data.startswith(b"PK"):
        return ""
    try:
        with zipfile.ZipFile(Path(source.path)) as archive:
            names = set(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return ""
    if "word/document.xml" in names:
        return "docx"
    return "epub" if "META-INF/container.xml" in names or any(name.endswith(".opf") for name in names) else ""


def _other_kind(data: bytes, encoding: str | None) -> str:
    """The kind of a file that is not text; empty for text."""
    known = next((name for mark, name in _KINDS if data.startswith(mark) or mark in data[60:68]), "")
    if known:
        return known
    sample = data[:SAMPLE]
    if wide := wide_encoding(sample, encoding):  # Half of the bytes of a character may look like a control character.
        sample = sample.decode(wide, "ignore").encode()
    controls = sum(sample.count(bytes([one])) for one in (*range(1, 9), *range(14, 27), 28, 29, 30, 31))
    return "a binary file" if controls > max(8, len(sample) // 100) else ""
