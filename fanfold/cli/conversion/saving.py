"""Where does a result go without anything being lost? Whole or not at all; a file that is not ours is kept beside it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.files import File


class Saving:
    """Writes results, and remembers what it wrote: what was edited since is never overwritten."""

    def __init__(self, data_folder: Path) -> None:
        self._ledger = data_folder / "written.json"

    def save(self, value: Any, target: Path) -> str | None:
        """Write a result to ``target``; returns where the file went that was there before, if it was not ours."""
        files: dict[str, File] = value if isinstance(value, dict) else {"markdown": value}
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            moved = self._put(files["markdown"], target)
            if "report" in files:
                moved = self._put(files["report"], target.with_suffix(".json")) or moved
            if "pages" in files:
                _unpack(files["pages"], target.with_name(f"{target.stem}-pages"))
        except OSError as error:
            raise BadInput(f"Can not write {error.filename or target}: {error.strerror or error}.") from None
        return moved

    def _put(self, file: File, target: Path) -> str | None:
        new = tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False)  # noqa: SIM115
        with new as sink, file.open() as source:
            shutil.copyfileobj(source, sink)
        written = Path(new.name)
        try:
            written.chmod(0o666 & ~_umask())
            moved = self._make_way(target, digest(written))
            written.replace(target)
        except BaseException:
            written.unlink(missing_ok=True)
            raise
        self._note(target)
        return moved

    def _make_way(self, target: Path, new: str) -> str | None:
        if not target.exists():
            return None
        there = digest(target)
        if there in (new, self._known().get(str(target.resolve()))):
            return None
        number = 1
        while (backup := target.with_name(f"{target.name}.{number}.bak")).exists():
            number += 1
        target.rename(backup)
        return str(backup)

    def _known(self) -> dict[str, str]:
        try:
            known: dict[str, str] = json.loads(self._ledger.read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return {}
        return known

    def _note(self, target: Path) -> None:
        known = self._known() | {str(target.resolve()): digest(target)}
        self._ledger.parent.mkdir(parents=True, exist_ok=True)
        half = self._ledger.with_suffix(f".{os.getpid()}")
        half.write_text(json.dumps(known, ensure_ascii=False, indent=0), encoding="utf-8")
        half.replace(self._ledger)


def digest(path: Path) -> str:
    """What a file says, in short."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _unpack(pages: File, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with pages.open() as source, zipfile.ZipFile(source) as archive:
        for name in archive.namelist():
            (folder / Path(name).name).write_bytes(archive.read(name))
