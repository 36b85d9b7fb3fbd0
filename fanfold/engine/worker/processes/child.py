"""The code of a child process: imports what it needs, reports ready, and answers one request at a time until its parent ends."""

from __future__ import annotations

import importlib
import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanfold.engine.discovery import load_file
from fanfold.engine.logs import LogFields, LogLevels, log_json, logged_as
from fanfold.engine.telemetry.telling import carried_on
from fanfold.engine.worker.processes.descendants import adopt_orphans, end_descendants
from fanfold.engine.worker.processes.forks import end_copy
from fanfold.engine.worker.processes.process_state import ProcessState
from fanfold.engine.worker.processes.told_clock import ToldClock
from fanfold.errors import BadPipeline, ChildDied, DatabaseProblem, Permanent
from fanfold.model import importing
from fanfold.model.item import Claimed
from fanfold.model.money.questions import AttemptClock
from fanfold.model.pipelines.pipeline import FunctionPipeline, Pipeline, Stage, TaskFunction
from fanfold.model.shortage import shortage
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.settings import Settings

if TYPE_CHECKING:
    from fanfold.engine.worker.attempt.caller import Ended

READY = "ready"
"""Sent once, when the process has started."""
BEGUN = "begun"
"""Sent for each request when the function is called: its time counts from here."""
OUT_OF_MEMORY = "memory"
"""Error code: out of memory."""
NOT_ISOLATED = "not_isolated"
"""Error code: the function, or its environment, does not allow running it in a child."""


@dataclass(frozen=True)
class ChildRequest:
    """An attempt sent to a child: the handler by name, everything else by value."""

    module: str
    file: str | None
    qualname: str
    stage: Stage
    with_arguments: bool
    row: TaskRow
    claimed: tuple[Claimed, ...]
    """One item; in a batch stage several."""
    log_fields: LogFields | None = None
    carrier: dict[str, str] | None = None


@dataclass(frozen=True)
class FunctionRequest:
    """A plain function sent to a child: by name, with its arguments."""

    module: str
    file: str | None
    qualname: str
    arguments: tuple[Any, ...]
    named: dict[str, Any]
    log_fields: LogFields | None = None
    carrier: dict[str, str] | None = None


@dataclass(frozen=True)
class FunctionResult:
    """The result of a function, or its error."""

    value: Any = None
    error: BaseException | None = None


@dataclass(frozen=True)
class ChildReply:
    """The pickled answer to a request. ``spent``: this process must not be reused, and everything it started must end."""

    answer: bytes
    spent: bool = False


def serve(
    pipe: Connection, settings: Settings, parent: int, modules: Sequence[str] = (), log_levels: LogLevels | None = None
) -> None:
    """Answer requests until the parent is gone; with ``log_levels`` log lines are JSON, as the parent's are."""
    _settle_in(parent)
    if log_levels is not None:
        log_json(logging.StreamHandler(), log_levels)
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception:
            # This import only saves time later. A request that needs the module imports it again and reports the error.
            continue
    _Server(pipe, settings).run()


class _Server:
    """Answers requests, one after the other."""

    def __init__(self, pipe: Connection, settings: Settings) -> None:
        self._pipe = pipe
        self._settings = settings
        self._store: Any = None
        self._process_state = ProcessState()
        # Only this process talks to the parent, not its forks or programs that it starts.
        os.set_inheritable(pipe.fileno(), False)
        os.register_at_fork(after_in_child=self._leave_to_parent)

    def run(self) -> None:
        """Answer until the parent is gone."""
        try:
            self._pipe.send(READY)
            while True:
                request = self._pipe.recv_bytes()
                answer = self._answer(request)
                self._pipe.send(ChildReply(answer, spent=not self._process_state.put_back()))
        except (EOFError, OSError):  # The parent is gone.
            return

    def _answer(self, packed: bytes) -> bytes:
        importing.note(importing.IN_MAIN_THREAD)
        try:
            request = pickle.loads(packed)
        except BaseException as error:
            return pickle.dumps(FunctionResult(error=_not_readable(error)))
        with logged_as(request.log_fields), carried_on(request.carrier):
            if isinstance(request, FunctionRequest):
                return _run_function(request, self._begun)
            clock = ToldClock(self._pipe.send)
            try:
                return pickle.dumps(_settlement(self._open_store, request, self._begun, clock))
            finally:
                clock.close()

    def _begun(self) -> None:
        importing.note(importing.NOT_AT_ALL)
        self._pipe.send(BEGUN)

    def _open_store(self) -> Any:
        if self._store is None:
            self._store = _store(self._settings)
        return self._store

    def _leave_to_parent(self) -> None:
        """End a fork of this process that a handler made."""
        self._pipe.close()
        if self._store is not None:
            self._store.leave_connections()


def _settle_in(parent: int) -> None:
    """Set this process up so that it can be killed at any time, with everything it has started."""
    importing.note(importing.NOT_AT_ALL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setpgid(0, 0)  # Its own process group: what handlers start ends with it.
    adopt_orphans()
    multiprocessing.current_process().daemon = False  # Daemonic processes could not use multiprocessing.
    _go_first()
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _store(settings: Settings) -> Any:
    """The store, only for handlers: a child that runs plain functions needs no database."""
    from fanfold.store.store import Store

    return Store(settings)


def _settlement(
    open_store: Callable[[], Any], request: ChildRequest, begun: Callable[[], None], clock: AttemptClock
) -> Ended:
    """How the attempt ended. Errors before the handler is called belong to its stage or to the database."""
    from fanfold.engine.worker.attempt.attempt_result import failed

    def all_failed(error: BaseException) -> Ended:
        ends = [failed(claimed, request.stage, error) for claimed in request.claimed]
        return ends[0] if request.stage.batch is None else ends

    try:
        handler = find_handler(request.module, request.file, request.qualname)
    except BaseException as error:
        reason = _not_found(error, request.module, stage=request.stage.name, task=request.row.id)
        return all_failed(reason)
    try:
        store = open_store()
    except DatabaseProblem as problem:
        return all_failed(problem)
    run = _prepared(store, replace(request.stage, handler=handler), request, clock)
    begun()
    try:
        return run()
    except BaseException as error:
        # Outside the handler: no file descriptors for an event loop, or a task in it that raises SystemExit.
        return all_failed(error)


def _prepared(store: Any, stage: Stage, request: ChildRequest, clock: AttemptClock) -> Callable[[], Ended]:
    """The handler's call, with everything it needs imported."""
    import asyncio

    from fanfold.engine.worker.attempt.batch_call import BatchCall
    from fanfold.engine.worker.attempt.call import Call

    first = Call(store, _pipeline(stage, request), stage, request.row, request.claimed[0])
    first.work._clock = clock
    call: Any = first if stage.batch is None else BatchCall(first, request.claimed[1:])

    def run() -> Ended:
        ended: Ended = asyncio.run(call.run_async()) if stage.runs_in_loop else call.run_sync()
        return ended

    return run


def _pipeline(stage: Stage, request: ChildRequest) -> Pipeline:
    """The pipeline that the handler's module defines, for the types of its other stages; else one of this stage only."""
    for value in list(vars(sys.modules[stage.handler.__module__]).values()):
        found = value.pipeline if isinstance(value, TaskFunction) else value
        if isinstance(found, Pipeline) and found.name == request.row.pipeline and found.find(stage.name) is not None:
            return found
    pipeline = (FunctionPipeline if request.with_arguments else Pipeline)(request.row.pipeline)
    pipeline.stages[stage.name] = stage
    return pipeline


def _run_function(request: FunctionRequest, begun: Callable[[], None]) -> bytes:
    """The pickled outcome. A result that cannot be pickled becomes an error that can."""
    try:
        function = find_handler(request.module, request.file, request.qualname)
    except BaseException as error:
        return pickle.dumps(FunctionResult(error=_not_found(error, request.module, function=request.qualname)))
    begun()
    home = os.getpid()
    try:
        value = function(*request.arguments, **request.named)
        end_copy(home)
        return pickle.dumps(FunctionResult(value))
    except MemoryError as error:
        end_copy(home, error)
        # A process that ran out of memory must not be reused.
        return pickle.dumps(
            FunctionResult(error=ChildDied(say("child_out_of_memory", error=str(error)), code=OUT_OF_MEMORY))
        )
    except BaseException as error:
        end_copy(home, error)
        return _travelling(error)


def _travelling(error: BaseException) -> bytes:
    """A pickled error: the original, unless raising it in the parent would end a loop or the process."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration | StopAsyncIteration):
        try:
            travelling = pickle.dumps(FunctionResult(error=error))
            pickle.loads(travelling)
        except Exception:
            pass
        else:
            return travelling
    return pickle.dumps(FunctionResult(error=RuntimeError(f"{type(error).__name__}: {error}")))


def _not_readable(error: BaseException) -> BaseException:
    """The request cannot be unpickled, usually because a class is not found here."""
    reason = Permanent(say("not_unpickled", error=f"{type(error).__name__}: {error}"), code=NOT_ISOLATED)
    return error if isinstance(error, OSError) or shortage(error) is not None else reason


def _not_found(
    error: BaseException, module: str, *, function: str = "", stage: str = "", task: str = ""
) -> BaseException:
    """An error of the code or its environment, not of the item, with a sentence that says so."""
    if isinstance(error, OSError) or shortage(error) is not None:
        return error  # Out of files or disk space, which may pass.
    raised = say("import_raised", module=module, error=f"{type(error).__name__}: {error}")
    why = error.message if isinstance(error, BadPipeline) else raised
    of_stage = say("stage_not_in_child", stage=stage, why=why, task=task)
    reason = Permanent(
        of_stage if stage else say("function_not_in_child", function=function, why=why), code=NOT_ISOLATED
    )
    reason.__cause__ = error
    return reason


def find_handler(module_name: str, file: str | None, qualname: str) -> Any:
    """Find the handler by module (or file) and qualified name."""
    found: Any = _module(module_name, file)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    if isinstance(found, TaskFunction):
        return found.function
    if found is None:
        raise BadPipeline(say("handler_not_found", name=qualname, module=module_name))
    return found


def _module(name: str, file: str | None) -> Any:
    if name in sys.modules:
        return sys.modules[name]
    try:
        return importlib.import_module(name)
    except ImportError:
        if file is None:
            raise
        return load_file(Path(file), name)


def _go_first() -> None:
    """Make the system kill this process first when memory runs out, not the worker, which would lose everything else."""
    try:
        Path("/proc/self/oom_score_adj").write_text("500")
    except OSError:  # Not Linux, or not allowed: the system chooses.
        return


def _follow(parent: int) -> None:
    """End with the parent, even if it was killed, together with everything started here."""
    while os.getppid() == parent:
        time.sleep(1)
    end_descendants(os.getpid())
    os.killpg(0, signal.SIGKILL)
