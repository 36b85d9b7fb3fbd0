"""Replaces input files that contain others, such as an archive of documents, before a task is stored."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fanfold.engine.tasks.submitting.inputs import Upload, shown_name
from fanfold.engine.tasks.submitting.unlock import on_disk
from fanfold.errors import BadInput, HandlerError
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.values.files import File
from fanfold.store.files.private import private_folder
from fanfold.store.store import Store


def unpacks(pipeline: Pipeline, name: str) -> bool:
    """Whether a file of this name is replaced at submit by what it contains."""
    return bool(pipeline.unpacked_endings) and name.lower().endswith(pipeline.unpacked_endings)


@contextmanager
def unpacked(store: Store, pipeline: Pipeline, inputs: Sequence[Any]) -> Iterator[list[Any]]:
    """The inputs, replaced by the pipeline's ``unpack`` function if one of them has an ending it declares.

    What it unpacks is in the data folder until the end: if this process dies, workers remove old scratch files there.
    """
    if not any(unpacks(pipeline, name) for name in map(_name, inputs) if name):
        yield list(inputs)
        return
    assert pipeline.unpacker is not None, "only a pipeline with an unpack function declares endings"
    private_folder(store.scratch)
    with tempfile.TemporaryDirectory(prefix="unpacked-", dir=store.scratch) as home:
        given = [_given(value, Path(home) / str(number)) for number, value in enumerate(inputs)]
        target = Path(home) / "unpacked"
        target.mkdir()
        try:
            made = list(pipeline.unpacker(given, target))
        except HandlerError as problem:
            raise BadInput(problem.message, code=problem.code) from problem
        yield made


def _name(value: Any) -> str | None:
    if isinstance(value, Path):
        return shown_name(value)
    return value.name if isinstance(value, Upload | File) else None


def _given(value: Any, folder: Path) -> Any:
    """A file as a path with its own name; any other value unchanged."""
    name = _name(value)
    if name is None or isinstance(value, Path):
        return value
    folder.mkdir()
    target = folder / name
    source = on_disk(value, target)
    if source != target:
        target.symlink_to(source)
    return target
