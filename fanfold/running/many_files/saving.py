"""Writes results to files atomically. A file that Fanfold did not write is kept under another name."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.values.files import File
from fanfold.store.files.private import private_folder

_STAMP = "result at "
"""Prefix of ledger entries that record which result was written to a path."""


@dataclass
class Saved:
    """What happened to files that already existed."""

    moved: list[str] = field(default_factory=list)
    """New names of files that were in the way."""
    left: list[str] = field(default_factory=list)
    """Files left as they are because a person edited them."""


@dataclass
class Placed:
    """The files of a result."""

    files: dict[Path, Callable[[], bytes]] = field(default_factory=dict)
    """Content by path, read only when it is written."""
    tidied: list[tuple[Path, str]] = field(default_factory=list)
    """Folders and name patterns to search for files of an earlier result that this one no longer has."""

    def add(self, place: Path, content: File) -> None:
        """Write ``content`` to ``place``."""
        self.files[place] = partial(_read, content)


def whole(value: Any, target: Path) -> Placed:
    """A result that is one file or one text."""
    placed = Placed()
    if isinstance(value, File):
        placed.add(target, value)
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        placed.files[target] = text.encode
    return placed


def _read(content: File) -> bytes:
    with content.open() as source:
        return source.read()


class Saving:
    """Writes results and records what was written from which source, so that edited and foreign files are kept."""

    def __init__(self, data_folder: Path) -> None:
        self._ledger = data_folder / "written.json"
        self._known: dict[str, str] = {}
        self._stamp: tuple[int, int, int] | None = None
        self._unwritten: dict[str, str] | None = None
        """Entries of the block in progress, which are written together at its end."""

    def owner(self, target: Path) -> str | None:
        """The source whose result is at ``target``; None if there is no file or Fanfold did not write it."""
        if not target.exists():
            return None
        return self._written().get(str(target.resolve()), "").partition(" ")[2] or None

    def places_of(self, task_id: str) -> dict[Path, Path]:
        """Existing result files of a task, each with its source."""
        known = self._written()
        stamped = [name.removeprefix(_STAMP) for name, stamp in known.items() if _is_stamp(name, stamp, task_id)]
        sources = {place: known.get(place, "").partition(" ")[2] for place in stamped}
        return {Path(place): Path(source) for place, source in sources.items() if source and Path(place).exists()}

    def is_of(self, target: Path, stamp: str) -> bool:
        """Whether the result with this stamp was the last one written to ``target``."""
        return self._written().get(_STAMP + str(target.resolve())) == stamp

    def stands(self, target: Path, source: Path, stamp: str) -> bool:
        """Whether ``target`` still holds the result with this stamp, unchanged."""
        known, place = self._written(), str(target.resolve())
        return known.get(_STAMP + place) == stamp and known.get(place) == _standing(target, source)

    def save(self, placed: Placed, target: Path, source: Path, *, again: bool = False, stamp: str = "") -> Saved:
        """Write the files of a result. With ``again``, it was written before, so files edited since then are left alone.

        ``stamp`` identifies the result, so that it is recognised later without being read.
        """
        saved = Saved()
        try:
            for place, read in placed.files.items():
                place.parent.mkdir(parents=True, exist_ok=True)
                self._put(read(), place, source, again, saved)
            self._tidy(placed, source)
        except OSError as error:
            raise BadInput(f"Cannot write {error.filename or target}: {error.strerror or error}.") from None
        place_key = _STAMP + str(target.resolve())
        if stamp and not saved.left and self._written().get(place_key) != stamp:
            with self._alone():
                self._note(place_key, stamp)
        return saved

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write the ledger once for all results saved in this block.

        If the process dies in between, its files are recognised by their content when they are saved again.
        """
        with self._alone():
            self._unwritten = {}
            try:
                yield
            finally:
                noted, self._unwritten = self._unwritten, None
                if noted:
                    self._write(noted)

    def _tidy(self, placed: Placed, source: Path) -> None:
        """Remove files of an earlier result that this one no longer has, unless they were edited."""
        known = self._written()
        for folder, pattern in placed.tidied:
            for left in sorted(folder.glob(pattern)):
                if left not in placed.files and known.get(str(left.resolve())) == _entry(digest(left), source):
                    left.unlink()

    def _put(self, content: bytes, target: Path, source: Path, again: bool, saved: Saved) -> None:
        """Write a file atomically, under a lock so that two commands cannot take the same path."""
        wanted = _entry(hashlib.sha256(content).hexdigest(), source)
        if self._written().get(str(target.resolve())) == wanted == _standing(target, source):
            return
        with self._alone():
            there = _standing(target, source)
            noted = self._written().get(str(target.resolve()))
            is_ours = noted is not None and noted.partition(" ")[2] == str(source.resolve())
            if there is not None and there not in (wanted, noted):
                if again and is_ours:
                    saved.left.append(str(target))
                    return
                saved.moved.append(str(_make_way(target)))
            _replace(target, content)
            self._note(str(target.resolve()), wanted)

    def _written(self) -> dict[str, str]:
        """The ledger of written files, read again if another command has changed it."""
        if self._unwritten:
            return self._known  # Nobody else writes it during a block.
        try:
            found = self._ledger.stat()
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if stamp != self._stamp:
                self._known = json.loads(self._ledger.read_text(encoding="utf-8"))
                self._stamp = stamp
        except (FileNotFoundError, json.JSONDecodeError):
            return {}
        return self._known

    def _note(self, name: str, entry: str) -> None:
        if self._unwritten is None:
            self._write({name: entry})
            return
        self._known = self._written()
        self._unwritten[name] = self._known[name] = entry

    def _write(self, noted: dict[str, str]) -> None:
        known = self._written() | noted
        half = self._ledger.with_suffix(f".{os.getpid()}")
        half.write_text(json.dumps(known, indent=0), encoding="utf-8")
        half.replace(self._ledger)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other commands of this data folder from writing at the same time."""
        if self._unwritten is not None:
            yield  # The block in progress holds the lock.
            return
        private_folder(self._ledger.parent)
        with self._ledger.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _is_stamp(name: str, stamp: str, task_id: str) -> bool:
    return name.startswith(_STAMP) and stamp.startswith(f"{task_id} ")


def _make_way(target: Path) -> Path:
    """Rename a foreign or edited file so that it is kept."""
    number = 1
    while (backup := target.with_name(f"{target.name}.{number}.bak")).exists():
        number += 1
    return target.rename(backup)


def _replace(target: Path, content: bytes) -> None:
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:80]}.")
    written = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as sink:
            sink.write(content)
        written.chmod(0o666 & ~_umask())
        written.replace(target)
    except BaseException:
        written.unlink(missing_ok=True)
        raise


def _standing(target: Path, source: Path) -> str | None:
    """Ledger entry of the file at ``target`` as if made from ``source``; None if there is no file."""
    return _entry(digest(target), source) if target.exists() else None


def _entry(content: str, source: Path) -> str:
    return f"{content} {source.resolve()}"


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
