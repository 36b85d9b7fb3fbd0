"""Files as one attempt reads them. The path of a file that is not on this machine is a copy in the attempt's scratch folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from fanfold.model.values.files import File
from fanfold.store.files.local_copies import named
from fanfold.store.files.private import private_folder

if TYPE_CHECKING:
    from fanfold.engine.handlers.work import Work

FOLDER = "files"


class AttemptFiles:
    """The places of files, with copies that live as long as the attempt."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._shelf = work._store.shelf

    def __reduce__(self) -> Any:
        """In a child process: the places themselves, with copies in the cache of the machine."""
        return self._shelf.__reduce__()

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        """The bytes of a file, wherever it is."""
        return self._shelf.open(key, size)

    def path(self, key: str, size: int | None = None) -> Path:
        """The file itself if it is here; otherwise a copy, made once, and removed when the attempt ends."""
        if (here := self._shelf.local(key)) is not None:
            return here
        folder = self._work.scratch / FOLDER
        private_folder(folder)
        target = folder / named(key)
        if not target.exists():
            self._shelf.copy_to(key, target, size)
        return target

    def local(self, key: str) -> Path | None:
        """Its path if it is on this machine anyway."""
        return self._shelf.local(key)

    def link(self, key: str) -> str | None:
        """A URL for a download, if there is one."""
        return self._shelf.link(key)

    def where(self, key: str) -> str:
        """Where it is, for people."""
        return self._shelf.where(key)


def bound(work: Work, file: File) -> File:
    """The file, made readable for this attempt."""
    return File(file.key, file.name, file.size, AttemptFiles(work))
