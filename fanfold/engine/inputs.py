"""What was given? Inputs of a task: files are copied in, values are kept as they are, both get a fingerprint."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from fanfold.errors import BadInput, NotFound
from fanfold.model import serial
from fanfold.model.files import File
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
    except OSError:  # Such a name can not be: somebody gave the text itself.
        is_folder = exists = False
    if is_folder:
        raise BadInput(f"{value} is a folder. Name the files in it.")
    if not exists:
        raise NotFound(
            f"There is no file {str(value)[:200]}. An input that is not a file goes into an option: --option NAME=VALUE"
        )
    return value


def fingerprint(pipeline: str, inputs: Sequence[Any], options: dict[str, Any]) -> str:
    """The same for the same pipeline, content and options: how `run` finds the task it should go on with."""
    digest = hashlib.sha256(f"{pipeline}\0{serial.dump(sorted(options.items()), 'options')}".encode())
    for value in inputs:
        if isinstance(value, Path):
            digest.update(b"\0file " + os.fsencode(value.name) + b"\0")
            with value.open("rb") as source:
                digest.update(hashlib.file_digest(source, "sha256").digest())
        else:
            digest.update(f"\0value {serial.dump(_plain(value), 'input')}".encode())
    return digest.hexdigest()


def copy_in(store: Store, task_id: str, inputs: Sequence[Any], files: list[File]) -> list[Any]:
    """Inputs as they are kept with the task; each blob that is written for them is noted in ``files`` at once."""
    kept: list[Any] = []
    for value in inputs:
        if isinstance(value, Path | Upload):
            value = _keep(store, task_id, value)
            files.append(value)
        kept.append(value)
    return kept


def _keep(store: Store, task_id: str, value: Path | Upload) -> File:
    if isinstance(value, Upload):
        return store.keep(task_id, value.name, value.data)
    try:
        with value.open("rb") as source:
            return store.keep(task_id, shown_name(value), source)
    except PermissionError:
        raise BadInput(f"{value} can not be read: permission denied.") from None


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
