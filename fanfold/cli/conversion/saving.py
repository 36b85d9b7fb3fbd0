"""Where does a result go without anything being lost? Whole or not at all; a file that is not ours is kept beside it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from io import BytesIO
from pathlib import Path
from typing import IO, Any

from fanfold.errors import BadInput
from fanfold.model.files import File
from fanfold.store.private import private_folder


class Saving:
    """Writes results, and remembers what it wrote from which source: what was edited since, or is another's, is kept."""

    def __init__(self, data_folder: Path) -> None:
        self._ledger = data_folder / "written.json"

    def save(self, value: Any, target: Path, source: Path) -> list[str]:
        """Write a result to ``target``; returns where files went that were there before and were not ours."""
        files: dict[str, File] = value if isinstance(value, dict) else {"markdown": value}
        report = target.with_suffix(".json")
        if "report" in files and report == target:
            raise BadInput(f"The report would overwrite {target}. Name the Markdown otherwise: -o {target.stem}.md")
        moved = []
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with files["markdown"].open() as content:
                moved.append(self._put(content, target, source))
            if "report" in files:
                with files["report"].open() as content:
                    moved.append(self._put(content, report, source))
            if "pages" in files:
                moved += self._unpack(files["pages"], target.with_name(f"{target.stem}-pages"), source)
        except OSError as error:
            raise BadInput(f"Can not write {error.filename or target}: {error.strerror or error}.") from None
        return [str(place) for place in moved if place is not None]

    def _unpack(self, pages: File, folder: Path, source: Path) -> list[Path | None]:
        folder.mkdir(parents=True, exist_ok=True)
        with pages.open() as content, zipfile.ZipFile(content) as archive:
            names = [Path(name).name for name in archive.namelist()]
            moved = [self._put(BytesIO(archive.read(name)), folder / name, source) for name in names]
        known = self._known()
        for left in sorted(folder.glob("page-*.md")):
            if left.name not in names and known.get(str(left.resolve())) == _entry(left, source):
                left.unlink()  # Of an earlier range of pages, and untouched since.
        return moved

    def _put(self, content: IO[bytes], target: Path, source: Path) -> Path | None:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:80]}.")
        written = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as sink:
                shutil.copyfileobj(content, sink)
            written.chmod(0o666 & ~_umask())
            moved = self._make_way(target, written, source)
            written.replace(target)
        except BaseException:
            written.unlink(missing_ok=True)
            raise
        self._note(target, source)
        return moved

    def _make_way(self, target: Path, written: Path, source: Path) -> Path | None:
        if not target.exists() or digest(target) == digest(written):
            return None
        if self._known().get(str(target.resolve())) == _entry(target, source):
            return None
        number = 1
        while (backup := target.with_name(f"{target.name}.{number}.bak")).exists():
            number += 1
        return target.rename(backup)

    def _known(self) -> dict[str, str]:
        try:
            known: dict[str, str] = json.loads(self._ledger.read_text(encoding="utf-8"))
        except (FileNotFoundError, json.JSONDecodeError):
            return {}
        return known

    def _note(self, target: Path, source: Path) -> None:
        known = self._known() | {str(target.resolve()): _entry(target, source)}
        private_folder(self._ledger.parent)
        half = self._ledger.with_suffix(f".{os.getpid()}")
        half.write_text(json.dumps(known, indent=0), encoding="utf-8")
        half.replace(self._ledger)


def _entry(target: Path, source: Path) -> str:
    return f"{digest(target)} {source.resolve()}"


def digest(path: Path) -> str:
    """What a file says, in short."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
