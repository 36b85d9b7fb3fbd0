"""The life of a child process: it imports what it needs, says so, and answers one request at a time until its parent is gone."""

from __future__ import annotations

import importlib
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
from fanfold.errors import BadPipeline, ChildDied, DatabaseProblem, Permanent
from fanfold.model.item import Claimed
from fanfold.model.pipeline import Pipeline, Stage, TaskFunction
from fanfold.model.shortage import shortage
from fanfold.model.task import TaskRow
from fanfold.settings import Settings

if TYPE_CHECKING:
    from fanfold.engine.settlement import Settlement

READY = "ready"
"""Said once, when the process has started."""
BEGUN = "begun"
"""Said for each request, when the function was found and is called now: from here on its time counts."""
OUT_OF_MEMORY = "memory"
"""The code of an error for want of memory."""


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


def serve(pipe: Connection, settings: Settings, parent: int, modules: Sequence[str] = ()) -> None:
    """Answer requests until the parent is gone."""
    _settle_in(parent)
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception:
            # Only to save time later. Whoever needs it imports it again, and is told why it cannot be imported.
            continue
    open_store = cache(lambda: _store(settings))

    def begun() -> None:
        pipe.send(BEGUN)

    try:
        pipe.send(READY)
        while True:
            request = pipe.recv()
            pipe.send_bytes(
                _run_errand(request, begun)
                if isinstance(request, Errand)
                else pickle.dumps(_settlement(open_store, request, begun))
            )
    except (EOFError, OSError):  # The parent is gone.
        return


def _settle_in(parent: int) -> None:
    """Make this process one that can be ended at any time, with all that it has started."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setpgid(0, 0)  # A group of its own: what handlers start ends with it.
    _go_first()
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _store(settings: Settings) -> Any:
    """Only for handlers: a child that runs plain functions need not know of any database."""
    from fanfold.store.store import Store

    return Store(settings)


def _settlement(open_store: Callable[[], Any], request: Request, begun: Callable[[], None]) -> Settlement:
    """How the attempt ended. Errors before the handler is called are those of its stage, or of the database."""
    from fanfold.engine.settlement import failed

    try:
        handler = find_handler(request.module, request.file, request.qualname)
    except BaseException as error:
        reason = _not_found(f"The stage {request.stage.name}", request.module, error, f"fanfold retry {request.row.id}")
        return failed(request.claimed, request.stage, reason)
    try:
        store = open_store()
    except DatabaseProblem as problem:
        return failed(request.claimed, request.stage, problem)
    run = _prepared(store, replace(request.stage, handler=handler), request)
    begun()
    return run()


def _prepared(store: Any, stage: Stage, request: Request) -> Callable[[], Settlement]:
    """The call of the handler, with everything imported that it takes."""
    import asyncio

    from fanfold.engine.calling import Call

    pipeline = Pipeline(request.row.pipeline)
    pipeline.calls_with_arguments = request.with_arguments
    call = Call(store, pipeline, stage, request.row, request.claimed)
    return (lambda: asyncio.run(call.run_async())) if stage.runs_in_loop else call.run_sync


def _run_errand(errand: Errand, begun: Callable[[], None]) -> bytes:
    """The outcome, as bytes: a result that cannot travel becomes an error that can."""
    try:
        function = find_handler(errand.module, errand.file, errand.qualname)
    except BaseException as error:
        return pickle.dumps(Outcome(error=_not_found(errand.qualname, errand.module, error, "")))
    begun()
    try:
        return pickle.dumps(Outcome(function(*errand.arguments, **errand.named)))
    except MemoryError as error:
        # A process that got no more memory is not to be used again.
        return pickle.dumps(Outcome(error=ChildDied(f"The memory was used up: {error}", code=OUT_OF_MEMORY)))
    except BaseException as error:
        try:
            travelling = pickle.dumps(Outcome(error=error))
            pickle.loads(travelling)
        except Exception:
            return pickle.dumps(Outcome(error=RuntimeError(f"{type(error).__name__}: {error}")))
        return travelling


def _not_found(what: str, module: str, error: BaseException, again: str) -> BaseException:
    """An error of the code or of where it runs, not of the item, as a sentence that says so."""
    if isinstance(error, OSError) or shortage(error) is not None:
        return error  # No more files or disk space: that may pass.
    why = (
        str(error)
        if isinstance(error, BadPipeline)
        else f"importing {module} there raised {type(error).__name__}: {error}"
    )
    then = f" Mend that, then: {again}" if again else ""
    reason = Permanent(
        f"{what} cannot run in a child process: {why.rstrip('.')}. Nothing is wrong with this item.{then}",
        code="not_isolated",
    )
    reason.__cause__ = error
    return reason


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
    """End with the parent, also when it was killed and could not say so; what was started here ends, too."""
    while os.getppid() == parent:
        time.sleep(1)
    os.killpg(0, signal.SIGKILL)
