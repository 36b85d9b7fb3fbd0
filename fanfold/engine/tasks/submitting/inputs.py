"""What was given? Inputs of a task: files are copied in, values are kept as they are, both get a fingerprint."""

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
    """A file's content given as bytes, or as something to read them from, under a name."""

    name: str
    data: bytes | BinaryIO


def check(inputs: Sequence[Any], *, text_is_path: bool) -> list[Any]:
    """Inputs with paths recognised and looked at; nothing is read or written yet."""
    return [_check_one(value, text_is_path) for value in inputs]


def _check_one(value: Any, text_is_path: bool) -> Any:
    if isinstance(value, str) and text_is_path:
        value = Path(value)
    if not isinstance(value, Path):
        return value
    try:
        is_folder, exists = value.is_dir(), value.exists()
    except OSError:  # Such a name cannot exist: somebody gave the text itself.
        is_folder = exists = False
    if is_folder:
        raise BadInput(say("is_folder", path=value))
    if not exists:
        raise NotFound(say("no_such_file", path=str(value)[:200]))
    return value


def fingerprint(pipeline: str, inputs: Sequence[Any], options: dict[str, Any]) -> str:
    """The same for the same pipeline, content and options: how `run` finds the task it should go on with."""
    serial.dump(options, "The options")  # Before they are sorted: keys that clash cannot be.
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


class Described:
    """What was submitted, as a fingerprint: the same for the same pipeline, options, items and content of the inputs."""

    def __init__(self, pipeline: str, options: dict[str, Any]) -> None:
        self._digest = hashlib.sha256(f"{pipeline}\0{_canonical(options)}".encode())

    def add_file(self, name: str, content: str) -> None:
        """A file by the hash of its content, whatever way it came."""
        self._digest.update(f"\0file {_canonical(name)} {content}".encode())

    def add_value(self, value: Any) -> None:
        """An input that is kept as it is."""
        self._digest.update(f"\0value {_canonical(value)}".encode())

    def fingerprint(self, items: str | None) -> str:
        """The fingerprint, given the digest of the items."""
        digest = self._digest.copy()
        digest.update(f"\0items {items}".encode())
        return digest.hexdigest()


def describe(described: Described, inputs: Sequence[Any]) -> None:
    """Add inputs to the description without keeping them."""
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
    store: Store, task_id: str, inputs: Sequence[Any], files: list[File], described: Described | None = None
) -> list[Any]:
    """Inputs as they are kept with the task; each blob that is written for them is noted in ``files`` at once.

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
    """The name and the size of a file that was given."""
    with _opened(value) as (name, source):
        size = source.seek(0, os.SEEK_END)
        source.seek(0)
        return name, size


class _Hashed:
    """A source of bytes that hashes what is read from it."""

    def __init__(self, source: BinaryIO) -> None:
        self.source = source
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self.source.read(size)
        self.digest.update(data)
        return data


@contextmanager
def _opened(value: Path | Upload) -> Iterator[tuple[str, BinaryIO]]:
    """The name and the content of a file that was given."""
    if isinstance(value, Upload):
        yield value.name, BytesIO(value.data) if isinstance(value.data, bytes) else value.data
        return
    try:
        with value.open("rb") as source:
            yield shown_name(value), source
    except PermissionError:
        raise BadInput(say("file_not_allowed", path=value)) from None


def _canonical(value: Any) -> str:
    """Equal values as equal text, in whatever order their names stand."""
    return json.dumps(json.loads(serial.dump(value, "What was submitted")), sort_keys=True, ensure_ascii=False)


def shown_name(path: Path) -> str:
    """A file's name as text; a name may be any bytes, which no database keeps."""
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
