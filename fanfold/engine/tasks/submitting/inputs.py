"""Takes the inputs of a task: copies files, stores values unchanged, and computes a fingerprint of both."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, cast

from fanfold.errors import BadInput, NotFound
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.model.values.files import File
from fanfold.store.store import Store


@dataclass(frozen=True)
class Upload:
    """A named file whose content is given as bytes or as a readable stream."""

    name: str
    data: bytes | BinaryIO


def check(inputs: Sequence[Any], *, text_is_path: bool) -> list[Any]:
    """Inputs with paths recognised and checked; nothing is read or written yet."""
    return [_check_one(value, text_is_path) for value in inputs]


def _check_one(value: Any, text_is_path: bool) -> Any:
    if isinstance(value, str) and text_is_path:
        value = Path(value)
    if not isinstance(value, Path):
        return value
    try:
        is_folder, exists = value.is_dir(), value.exists()
    except OSError:  # No file can have such a name, so it is plain text.
        is_folder = exists = False
    if is_folder:
        raise BadInput(say("is_folder", path=value))
    if not exists:
        raise NotFound(say("no_such_file", path=str(value)[:200]))
    return value


def fingerprint(pipeline: str, inputs: Sequence[Any], options: dict[str, Any]) -> str:
    """A key that is equal for the same pipeline, content and options: `run` uses it to find the task to continue."""
    serial.dump(options, "The options")  # Before sorting: keys that clash cannot be sorted.
    digest = hashlib.sha256(f"{pipeline}\0{serial.dump(sorted(options.items(), key=_named), 'options')}".encode())
    for value in inputs:
        if isinstance(value, Path):
            digest.update(b"\0file " + os.fsencode(value.name) + b"\0")
            with value.open("rb") as source:
                digest.update(hashlib.file_digest(source, "sha256").digest())
        else:
            digest.update(f"\0value {serial.dump(_plain(value), 'input')}".encode())
    return digest.hexdigest()


def _named(option: tuple[Any, Any]) -> str:
    return str(option[0])


class SubmissionDigest:
    """Fingerprint of a submission: equal if pipeline, options, items and the content of the inputs are equal."""

    def __init__(self, pipeline: str, options: dict[str, Any]) -> None:
        self._digest = hashlib.sha256(f"{pipeline}\0{_canonical(options)}".encode())

    def add_file(self, name: str, content: str) -> None:
        """Add a file by the hash of its content, whether it was given as a path, bytes or a stream."""
        self._digest.update(f"\0file {_canonical(name)} {content}".encode())

    def add_value(self, value: Any) -> None:
        """Add an input that is stored unchanged."""
        self._digest.update(f"\0value {_canonical(value)}".encode())

    def fingerprint(self, items: str | None) -> str:
        """The fingerprint, given the digest of the items."""
        digest = self._digest.copy()
        digest.update(f"\0items {items}".encode())
        return digest.hexdigest()


def describe(described: SubmissionDigest, inputs: Sequence[Any]) -> None:
    """Add inputs to the fingerprint without storing them."""
    for value in inputs:
        if isinstance(value, Path | Upload):
            with _opened(value) as (name, source):
                hashed = _Hashed(source)
                while hashed.read(1 << 20):
                    pass
                described.add_file(name, hashed.digest.hexdigest())
                if isinstance(value, Upload):
                    source.seek(0)
        else:
            described.add_value(value)


def copy_in(
    store: Store, task_id: str, inputs: Sequence[Any], files: list[File], described: SubmissionDigest | None = None
) -> list[Any]:
    """Inputs as stored with the task; each blob written for them is added to ``files`` at once.

    Files are hashed for ``described`` while they are copied.
    """
    kept: list[Any] = []
    for value in inputs:
        if isinstance(value, Path | Upload):
            with _opened(value) as (name, source):
                hashed = _Hashed(source)
                value = store.keep(task_id, name, source if described is None else cast("BinaryIO", hashed))
            files.append(value)
            if described is not None:
                described.add_file(name, hashed.digest.hexdigest())
        elif described is not None:
            described.add_value(value)
        kept.append(value)
    return kept


def size_of(value: Path | Upload) -> tuple[str, int]:
    """The name and size of a given file."""
    with _opened(value) as (name, source):
        size = source.seek(0, os.SEEK_END)
        source.seek(0)
        return name, size


class _Hashed:
    """A stream that hashes what is read from it."""

    def __init__(self, source: BinaryIO) -> None:
        self.source = source
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self.source.read(size)
        self.digest.update(data)
        return data


@contextmanager
def _opened(value: Path | Upload) -> Iterator[tuple[str, BinaryIO]]:
    """The name and content of a given file."""
    if isinstance(value, Upload):
        yield value.name, BytesIO(value.data) if isinstance(value.data, bytes) else value.data
        return
    try:
        with value.open("rb") as source:
            yield shown_name(value), source
    except PermissionError:
        raise BadInput(say("file_not_allowed", path=value)) from None


def _canonical(value: Any) -> str:
    """The value as text; equal for equal values, whatever the order of their names."""
    return json.dumps(json.loads(serial.dump(value, "What was submitted")), sort_keys=True, ensure_ascii=False)


def shown_name(path: Path) -> str:
    """A file's name as text. A name may be arbitrary bytes, which no database stores."""
    return os.fsencode(path.name).decode("utf-8", "replace")


def _plain(value: Any) -> Any:
    if not isinstance(value, Upload):
        return value
    if isinstance(value.data, bytes):
        return [value.name, hashlib.sha256(value.data).hexdigest()]
    digest = hashlib.sha256()
    for chunk in iter(partial(value.data.read, 1 << 20), b""):
        digest.update(chunk)
    value.data.seek(0)
    return [value.name, digest.hexdigest()]
