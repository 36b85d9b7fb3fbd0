"""Writes results to files without losing anything: whole or not at all, and a file that is not ours is kept beside it."""

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
"""Before a place in the ledger: which result was written there."""


@dataclass
class Saved:
    """What became of files that were there already."""

    moved: list[str] = field(default_factory=list)
    """Where files went that stood in the way."""
    left: list[str] = field(default_factory=list)
    """Files that a person has edited, and that were left as they are."""


@dataclass
class Placed:
    """The files that a result becomes."""

    files: dict[Path, Callable[[], bytes]] = field(default_factory=dict)
    """What to write at each place; read when its turn comes."""
    tidied: list[tuple[Path, str]] = field(default_factory=list)
    """Folders and patterns of names under which files of an earlier result may stand that this one does not have."""

    def add(self, place: Path, content: File) -> None:
        """A file of the result goes to ``place``."""
        self.files[place] = partial(_read, content)


def whole(value: Any, target: Path) -> Placed:
    """A result that is one file, or one text."""
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
    """Writes results, and remembers what it wrote from which source: what was edited since, or is another's, is kept."""

    def __init__(self, data_folder: Path) -> None:
        self._ledger = data_folder / "written.json"
        self._known: dict[str, str] = {}
        self._stamp: tuple[int, int, int] | None = None

    def owner(self, target: Path) -> str | None:
        """The source whose result stands at ``target``; None when nothing is there, or it is not ours."""
        if not target.exists():
            return None
        return self._written().get(str(target.resolve()), "").partition(" ")[2] or None

    def places_of(self, task_id: str) -> dict[Path, Path]:
        """Where results of a task were written that are still there, each with the source it was made from."""
        known = self._written()
        stamped = [name.removeprefix(_STAMP) for name, stamp in known.items() if _is_stamp(name, stamp, task_id)]
        sources = {place: known.get(place, "").partition(" ")[2] for place in stamped}
        return {Path(place): Path(source) for place, source in sources.items() if source and Path(place).exists()}

    def stands(self, target: Path, source: Path, stamp: str) -> bool:
        """Whether the result with this stamp stands at ``target``, as it was written."""
        known, place = self._written(), str(target.resolve())
        return known.get(_STAMP + place) == stamp and known.get(place) == _standing(target, source)

    def save(self, placed: Placed, target: Path, source: Path, *, again: bool = False, stamp: str = "") -> Saved:
        """Write the files of a result. ``again``: it was written before, so a file that was edited since is left alone.

        ``stamp`` names the result, so that it is known again without being read.
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

    def _tidy(self, placed: Placed, source: Path) -> None:
        """Remove files of an earlier result that this one no longer has, unless somebody has touched them."""
        known = self._written()
        for folder, pattern in placed.tidied:
            for left in sorted(folder.glob(pattern)):
                if left not in placed.files and known.get(str(left.resolve())) == _entry(digest(left), source):
                    left.unlink()

    def _put(self, content: bytes, target: Path, source: Path, again: bool, saved: Saved) -> None:
        """Write a file whole or not at all; one command at a time, so that none takes a place that another just took."""
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
        """What was written where; read again when another command has changed it."""
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
        known = self._written() | {name: entry}
        half = self._ledger.with_suffix(f".{os.getpid()}")
        half.write_text(json.dumps(known, indent=0), encoding="utf-8")
        half.replace(self._ledger)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other commands of this data folder from writing at the same time."""
        private_folder(self._ledger.parent)
        with self._ledger.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _is_stamp(name: str, stamp: str, task_id: str) -> bool:
    return name.startswith(_STAMP) and stamp.startswith(f"{task_id} ")


def _make_way(target: Path) -> Path:
    """Keep a file that is not ours, or was edited, under another name."""
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
    """What stands at a place, as if it had been made from this source; None when nothing does."""
    return _entry(digest(target), source) if target.exists() else None


def _entry(content: str, source: Path) -> str:
    return f"{content} {source.resolve()}"


def digest(path: Path) -> str:
    """What a file says, in short."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
