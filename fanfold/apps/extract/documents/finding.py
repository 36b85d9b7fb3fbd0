"""Finds the documents of a task: files, folders, patterns, archives, and a manifest."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fanfold.apps.extract.documents import manifests
from fanfold.apps.extract.documents.archives import FULL, is_archive, manifest_in, unpacked
from fanfold.apps.extract.documents.document_sentences import say_of_document
from fanfold.apps.extract.documents.read_document import KINDS, hash_of
from fanfold.apps.extract.documents.sources import Refused, Source, Sources


def sources(
    paths: Iterable[str | Path] = (),
    *,
    patterns: Sequence[str] = (),
    manifest: Path | None = None,
    folder: Path,
    beside: bool = True,
) -> Sources:
    """All documents in order: those of the manifest first, then the files, folders, patterns and archives.

    ``patterns`` choose files in folders and archives by name. A file that is given explicitly is always taken: if it
    cannot be read, its row says why. ``folder`` is where archives are unpacked. ``beside`` is whether the manifest may name
    files that are not among the given ones: never if it was uploaded, because it could name any file of the server.
    """
    finder = _Finder(patterns, folder)
    for path in paths:
        finder.add(str(path))
    return finder.found if manifest is None else _described(finder.found, manifest, beside=beside)


class _Finder:
    """Collects documents and refused files."""

    def __init__(self, patterns: Sequence[str], folder: Path) -> None:
        self.found = Sources()
        self.patterns = patterns
        self.folder = folder

    def add(self, path: str) -> None:
        given = Path(path).expanduser()
        if given.is_dir():
            for file in _files(given):
                self._add_from(file, file.relative_to(given).as_posix())
        elif given.exists():
            self._add_file(given, path)
        elif matches := sorted(glob.glob(str(given), recursive=True)):
            for match in matches:
                if not Path(match).is_dir():
                    self._add_file(Path(match), match)
        else:
            self.found.refused.append(Refused(path, say_of_document("document_missing", file=path)))

    def _add_from(self, file: Path, name: str) -> None:
        """A file of a folder: only documents, unless a pattern asks for others."""
        if self._wanted(name):
            self._add_file(file, str(file))
        elif file.suffix.lower() not in KINDS:
            self.found.ignored.append(str(file))

    def _add_file(self, file: Path, origin: str) -> None:
        try:
            if is_archive(file):
                self.folder.mkdir(parents=True, exist_ok=True)
                self._add_archive(file)
            else:
                self.found.found.append(Source(file.name, file, hash_of(file), origin=origin))
        except OSError as error:
            if error.errno in FULL:
                raise
            why = error.strerror or str(error)
            self.found.refused.append(Refused(origin, say_of_document("document_unreadable", file=origin, why=why)))

    def _add_archive(self, file: Path) -> None:
        inner = Sources()
        for one in unpacked(file, self.folder, self._wanted_member):
            if isinstance(one, Source):
                inner.found.append(one)
            else:
                inner.refused.append(one)
        manifest = manifest_in(file, self.folder)
        if isinstance(manifest, Refused):
            inner.refused.append(manifest)
        elif manifest is not None:
            inner = _described(inner, manifest, beside=False)
        self.found.found += inner.found
        self.found.refused += inner.refused

    def _wanted(self, name: str) -> bool:
        if self.patterns:
            base = name.rsplit("/", 1)[-1]
            return any(fnmatch.fnmatch(one, pattern) for pattern in self.patterns for one in (name, base))
        return Path(name).suffix.lower() in {*KINDS, ".zip"}

    def _wanted_member(self, name: str) -> bool:
        parts = name.replace("\\", "/").split("/")
        if parts[0] == "__MACOSX" or parts[-1].startswith((".", "~$")):
            return False
        if self._wanted(name):
            return True
        self.found.ignored.append(name)
        return False


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder and its subfolders, by name, without hidden files and Word lock files."""
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__MACOSX")))
        for name in sorted(files):
            if not name.startswith((".", "~$")):
                yield Path(root) / name


def _described(given: Sources, manifest: Path, *, beside: bool) -> Sources:
    """The rows of the manifest, in its order, then the documents that it does not name."""
    result = Sources(refused=list(given.refused), ignored=list(given.ignored))
    by_name: dict[str, Source] = {}
    for source in given.found:
        for name in (source.name, source.origin, source.origin.split("/", 1)[-1]):
            by_name.setdefault(name, source)
    used: set[Path] = set()
    for number, row in enumerate(manifests.rows(manifest), 1):
        described = _source_of(row, manifest if beside else None, by_name)
        if described is None:
            reason = (
                say_of_document("document_missing", file=row.source)
                if row.source
                else say_of_document("manifest_no_file", row=number)
            )
            result.refused.append(Refused(row.name or row.source, reason, row.columns))
            continue
        used.add(described.path)
        result.found.append(described)
    result.found.extend(source for source in given.found if source.path not in used)
    return result


def _source_of(row: manifests.Row, manifest: Path | None, by_name: dict[str, Source]) -> Source | None:
    """The document of a row: a given one with this name, or a file beside the manifest, if there is one to look beside."""
    known = by_name.get(row.source)
    if known is not None:
        return replace(known, name=row.name or known.name, columns=row.columns)
    if manifest is None:
        return None
    path = manifest.parent / Path(row.source).expanduser()
    if not row.source or not path.is_file():
        return None
    return Source(row.name or path.name, path, hash_of(path), row.columns, row.source)
