"""Applies secrets of a task, such as a document's password, to its input files at once, in a child process; never stores them."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fanfold.engine.tasks.submitting.inputs import Upload, shown_name
from fanfold.engine.worker.processes.children import Children
from fanfold.errors import BadOption, ChildDied, DatabaseProblem, HandlerError
from fanfold.model.pipelines.options import SECRET, Option
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import Sentence, say
from fanfold.model.values import serial
from fanfold.model.values.decoding import AS_KEPT
from fanfold.model.values.files import File
from fanfold.model.values.secrets import is_secret
from fanfold.store.files.private import private_folder
from fanfold.store.store import Store

SECONDS = 60.0
"""Time limit for applying a secret to one file; then the child is killed."""


@dataclass(frozen=True)
class Secrets:
    """The given secrets, by option. Never shown, not even in a traceback or debugger."""

    values: Mapping[str, str]
    options: Mapping[str, Option]

    def __repr__(self) -> str:
        return f"Secrets({', '.join(self.values)})"

    def __bool__(self) -> bool:
        return bool(self.values)


def taken_out(pipeline: Pipeline | None, options: Mapping[str, Any] | None) -> tuple[dict[str, Any], Secrets]:
    """The options to store, and the secrets among them, which are not stored."""
    plain = dict(options or {})
    if pipeline is None and (unsure := [name for name, value in plain.items() if value and is_secret(name)]):
        raise BadOption(say("secret_not_stored", option=unsure[0]), field=unsure[0])
    known = {} if pipeline is None else {name: one for name, one in pipeline.declared.items() if one.kind == SECRET}
    given = {name: plain.pop(name) for name in known if name in plain}
    for name, value in given.items():
        if value is not None and not isinstance(value, str):
            raise BadOption(say("option_not_text", option=name), field=name)
    return plain, Secrets({name: value for name, value in given.items() if value}, known)


@contextmanager
def applied(store: Store, secrets: Secrets, inputs: Sequence[Any]) -> Iterator[list[Any]]:
    """The inputs with the secrets applied to every file; the copies are removed at the end."""
    if not secrets:
        yield list(inputs)
        return
    if not any(isinstance(value, Path | Upload | File) for value in inputs):
        name = next(iter(secrets.values))
        raise BadOption(say("option_for_file", option=name), field=name)
    private_folder(store.scratch)
    with ExitStack() as used:
        home = Path(used.enter_context(tempfile.TemporaryDirectory(prefix="unlocked-", dir=store.scratch)))
        children = Children(store.settings, at_once=1)
        used.callback(children.close)
        made: list[Any] = []
        for number, value in enumerate(inputs):
            if isinstance(value, Path | Upload | File):
                folder = home / str(number)
                folder.mkdir(0o700)
                made.append(_usable(children, secrets, value, folder, used))
            else:
                made.append(value)
        yield made


def _usable(children: Children, secrets: Secrets, value: Any, folder: Path, used: ExitStack) -> Upload:
    """One file with all secrets applied."""
    name = shown_name(value) if isinstance(value, Path) else value.name
    source = on_disk(value, folder / "given")
    for number, (option, secret) in enumerate(secrets.values.items()):
        target = folder / f"made-{number}"
        _apply(children, secrets.options[option], secret, source, target, name)
        source = target
    return Upload(name, used.enter_context(source.open("rb")))


def on_disk(value: Path | Upload | File, target: Path) -> Path:
    """Path of a given file. An upload is written to ``target`` first."""
    if isinstance(value, Path | File):
        return value if isinstance(value, Path) else value.path
    if isinstance(value.data, bytes):
        target.write_bytes(value.data)
        return target
    with target.open("wb") as sink:
        shutil.copyfileobj(value.data, sink)
    value.data.seek(0)
    return target


def _apply(children: Children, option: Option, secret: str, source: Path, target: Path, name: str) -> None:
    assert option.apply is not None, "a declared secret has an apply function"
    child = children.take()
    patience = threading.Timer(SECONDS, child.kill)
    patience.start()
    try:
        child.run(option.apply, (source, secret, target), {"name": name})
    except ChildDied as error:
        children.discard(child)
        raise _refused(option, say("not_opened_here", file=name, why=error.message), error.code) from None
    except HandlerError as error:
        children.give_back(child)
        raise _refused(option, error.message, error.code) from None
    except Exception as error:
        # Raised by the application's code. Its text may contain the secret.
        children.give_back(child)
        raise _refused(option, say("not_opened", file=name, why=type(error).__name__), "bad_option") from None
    finally:
        patience.cancel()
    children.give_back(child)
    if not target.is_file():
        raise _refused(option, say("not_opened", file=name, why=say("no_copy_made")), "bad_option")


def _refused(option: Option, message: str, code: str) -> BadOption:
    is_whole = isinstance(message, Sentence) or message.endswith((".", "!", "?"))
    return BadOption(message if is_whole else f"{message}.", field=option.name, code=code)


@dataclass
class NewInputs:
    """Inputs that a retry substitutes for the task's own; ``before`` is what they were made from."""

    before: str | None
    inputs: str
    files: list[File]


@contextmanager
def renewed(store: Store, row: TaskRow, secrets: Secrets) -> Iterator[NewInputs | None]:
    """The task's inputs with secrets applied, stored as blobs; the blobs are removed if the block raises."""
    if not secrets:
        yield None
        return
    inputs = serial.load(row.input, store.bind, AS_KEPT) or []
    files: list[File] = []
    try:
        with applied(store, secrets, inputs) as usable:
            kept: list[Any] = []
            for value in usable:
                if isinstance(value, Upload):
                    value = store.keep(row.id, value.name, value.data)
                    files.append(value)
                kept.append(value)
        yield NewInputs(row.input, serial.dump(kept, "The input"), files)
    except BaseException:
        _remove_unnamed(store, [file.key for file in files])
        raise


def _remove_unnamed(store: Store, keys: list[str]) -> None:
    """Remove blobs that no row references. If the error came after the commit, the task has them and they stay."""
    with suppress(OSError, DatabaseProblem):
        with store.read() as tx:
            named = tx.blobs.known(keys)
        store.shelf.delete(key for key in keys if key not in named)
