"""Where does work run that may crash or hang? In child processes, kept warm, killed without mercy when they must end."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanfold.engine.discovery import load_file
from fanfold.errors import BadPipeline, ChildDied, Permanent
from fanfold.model.item import Claimed
from fanfold.model.pipeline import Pipeline, Stage, TaskFunction
from fanfold.model.task import TaskRow
from fanfold.settings import Settings

if TYPE_CHECKING:
    from fanfold.engine.calling import Call
    from fanfold.engine.settlement import Settlement

CALLS_PER_CHILD = 500
"""A child is replaced after so many calls, so that what handlers leak does not pile up."""


@dataclass(frozen=True)
class Request:
    """An attempt on its way to a child: the handler by its name, everything else by value."""

    module: str
    file: str | None
    qualname: str
    stage: Stage
    with_arguments: bool
    row: TaskRow
    claimed: Claimed


@dataclass(frozen=True)
class Errand:
    """A plain function on its way to a child, by its name, with its arguments."""

    module: str
    file: str | None
    qualname: str
    arguments: tuple[Any, ...]
    named: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What came of an errand."""

    value: Any = None
    error: BaseException | None = None


class Child:
    """One child process, one call at a time."""

    def __init__(self, settings: Settings, modules: Sequence[str] = ()) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=serve, args=(theirs, settings, os.getpid(), modules), daemon=True, name="fanfold-child"
        )
        # Ctrl-C goes to the children as well: until they can ignore it they must not hear it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        self.calls = 0

    def call(self, call: Call) -> Settlement:
        """Run the call in the child; ChildDied when the process ends instead of answering."""
        settlement: Settlement = self._ask(_request(call))
        return settlement

    def run(self, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Run a plain function in the child and give back what it returns, or raise what it raises."""
        module = sys.modules.get(function.__module__)
        errand = Errand(function.__module__, getattr(module, "__file__", None), function.__qualname__, arguments, named)
        outcome: Outcome = self._ask(errand)
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    def _ask(self, request: Any) -> Any:
        self.calls += 1
        try:
            self._pipe.send(request)
            return self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(5)
            raise ChildDied(f"The process that ran it died ({_manner(self._process.exitcode)}).") from None

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.join(5)
        self._pipe.close()


class Children:
    """Warm child processes, made as they are needed."""

    def __init__(self, settings: Settings, *, at_once: int | None = None, modules: Sequence[str] = ()) -> None:
        self.settings = settings
        self.at_once = at_once or settings.children or os.cpu_count() or 1
        """How many run functions at the same time; handlers that are isolated come on top."""
        self._modules = tuple(modules)
        self._idle: list[Child] = []
        self._all: set[Child] = set()
        self._closed = False

    def warm(self, count: int) -> None:
        """Start so many now: they come up while their parent is still busy with other things."""
        for _ in range(min(count, self.at_once)):
            self._idle.append(self._new())

    def take(self) -> Child:
        """An idle child, or a new one."""
        return self._idle.pop() if self._idle else self._new()

    def _new(self) -> Child:
        if self._closed:
            raise ChildDied("The worker is stopping.")
        child = Child(self.settings, self._modules)
        self._all.add(child)
        return child

    def give_back(self, child: Child) -> None:
        """A child that has answered; old ones are let go."""
        if child.calls >= CALLS_PER_CHILD:
            self.discard(child)
        else:
            self._idle.append(child)

    def discard(self, child: Child) -> None:
        """End one that must not be used again."""
        self._all.discard(child)
        child.kill()

    def close(self) -> None:
        """End them all, and start no more."""
        self._closed = True
        for child in self._all:
            child.kill()
        self._all.clear()
        self._idle.clear()


def _request(call: Call) -> Request:
    handler = call.stage.handler
    module = sys.modules.get(handler.__module__)
    file = getattr(module, "__file__", None)
    bare = replace(call.stage, handler=serve)
    return Request(handler.__module__, file, handler.__qualname__, bare, call.with_arguments, call.row, call.claimed)


def _manner(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        likely = ", as the system does when memory runs out" if -exit_code == signal.SIGKILL else ""
        return f"killed by signal {signal.Signals(-exit_code).name}{likely}"
    return f"exit code {exit_code}"


def serve(pipe: Connection, settings: Settings, parent: int, modules: Sequence[str] = ()) -> None:
    """The life of a child: answer requests until the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _go_first()
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    for module in modules:
        importlib.import_module(module)
    open_store = cache(lambda: _store(settings))
    while True:
        try:
            request = pipe.recv()
        except (EOFError, OSError):
            return
        if isinstance(request, Errand):
            pipe.send_bytes(_run_errand(request))
            continue
        from fanfold.engine.settlement import failed

        try:
            settlement = _answer(open_store(), request)
        except Exception as error:  # The handler was not found here, or its module can not be imported.
            reason = Permanent(f"{type(error).__name__}: {error}", code="not_isolated")
            settlement = failed(request.claimed, request.stage, reason)
        pipe.send(settlement)


def _store(settings: Settings) -> Any:
    """Only for handlers: a child that runs plain functions need not know of any database."""
    from fanfold.store.store import Store

    return Store(settings)


def _answer(store: Any, request: Request) -> Settlement:
    import asyncio

    from fanfold.engine.calling import Call

    stage = replace(request.stage, handler=find_handler(request.module, request.file, request.qualname))
    pipeline = Pipeline(request.row.pipeline)
    pipeline.calls_with_arguments = request.with_arguments
    call = Call(store, pipeline, stage, request.row, request.claimed)
    return asyncio.run(call.run_async()) if stage.runs_in_loop else call.run_sync()


def _run_errand(errand: Errand) -> bytes:
    """The outcome, as bytes: a result that can not travel becomes an error that can."""
    try:
        value = find_handler(errand.module, errand.file, errand.qualname)(*errand.arguments, **errand.named)
        return pickle.dumps(Outcome(value))
    except BaseException as error:
        try:
            travelling = pickle.dumps(Outcome(error=error))
            pickle.loads(travelling)
        except Exception:
            return pickle.dumps(Outcome(error=RuntimeError(f"{type(error).__name__}: {error}")))
        return travelling


def find_handler(module_name: str, file: str | None, qualname: str) -> Any:
    """The handler, by the name of its module (or its file) and its own."""
    module = sys.modules.get(module_name)
    if module is None:
        try:
            module = importlib.import_module(module_name)
        except ImportError:
            if file is None:
                raise
            module = load_file(Path(file), module_name)
    found: Any = module
    for part in qualname.split("."):
        found = getattr(found, part, None)
    if isinstance(found, TaskFunction):
        return found.function
    if found is None:
        raise BadPipeline(
            f"The child process does not find {qualname} in {module_name}; is the pipeline made under `if __name__ == ...`?"
        )
    return found


def _go_first() -> None:
    """When memory runs out, have the system end this process and not the worker, with which everything else would be lost."""
    try:
        Path("/proc/self/oom_score_adj").write_text("500")
    except OSError:  # Not Linux, or not allowed here: then the system chooses as it likes.
        return


def _follow(parent: int) -> None:
    """End with the parent, also when it was killed and could not say so."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
