"""A pool of child processes for work that may crash or hang: kept warm, monitored, and killed when they must end."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import wait
from multiprocessing.process import AuthenticationString  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any

from fanfold.engine.logs import current_fields, json_levels
from fanfold.engine.telemetry.telling import carrier
from fanfold.engine.worker.processes.child import (
    BEGUN,
    OUT_OF_MEMORY,
    ChildReply,
    ChildRequest,
    FunctionRequest,
    FunctionResult,
    serve,
)
from fanfold.engine.worker.processes.descendants import end_descendants
from fanfold.engine.worker.processes.main_script import Unguarded, hint, importable_main, main_path
from fanfold.engine.worker.processes.memory_use import Allowance
from fanfold.engine.worker.processes.told_clock import HELD
from fanfold.errors import ChildDied, Temporary
from fanfold.model.importing import CHILD_NAME, UNGUARDED_EXIT
from fanfold.model.money.questions import AttemptClock
from fanfold.model.text.sentences import Sentence, say
from fanfold.settings import Settings

if TYPE_CHECKING:
    from fanfold.engine.worker.attempt.caller import AnyCall, Ended

CALLS_PER_CHILD = 500
"""Calls after which a child is replaced, so that leaks of handlers do not accumulate."""
WATCH_SECONDS = 0.05
"""Interval at which a busy child's memory is checked. The fastest PDF bomb grew by 1.3 GB/s, so by 70 MB in between."""
SLOW_START_SECONDS = 5.0
"""Start time of a child after which its caller is notified, so that it can ask for more time."""
REAP_SECONDS = 5.0
_starting = threading.Lock()


def nothing() -> None:
    """Default callback."""


@contextmanager
def _may_have_children() -> Iterator[None]:
    """Make and start a child in this block, although this process may belong to a pool, as those of Celery do.

    multiprocessing forbids daemonic processes to have children, because these would outlive a parent that is killed. Ours end
    with it. The key in the configuration is of another class in Celery's processes, and cannot be sent to ours.
    """
    config: dict[str, Any] = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    with _starting:
        before = dict(config)
        config["authkey"] = AuthenticationString(before["authkey"])
        config.pop("daemon", None)
        try:
            yield
        finally:
            config.update(before)


class Child:
    """One child process, for one call at a time. The thread that waits for the answer owns the pipe; others may only kill it."""

    def __init__(self, settings: Settings, modules: Sequence[str] = (), allowance: Allowance | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        request = (theirs, settings, os.getpid(), modules, json_levels())
        # Ctrl-C reaches children too. Block it until they ignore it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with importable_main(), _may_have_children():
                self._process = context.Process(target=serve, args=request, daemon=True, name=CHILD_NAME)
                self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()
        self.calls = 0
        self._settings = settings
        self._start_seconds = settings.child_start_seconds
        self._allowance = allowance or Allowance(settings.child_memory_bytes)
        self._is_ready = self._has_begun = self._is_busy = self._is_over = False
        self._excess: str | None = None
        self._lock = threading.Lock()

    @property
    def is_over(self) -> bool:
        """Whether it has ended and cannot be used again."""
        return self._is_over

    def call(self, call: AnyCall, begun: Callable[[], None] = nothing, slow: Callable[[], None] = nothing) -> Ended:
        """Run the call in the child; ChildDied if the process ends without an answer.

        ``begun`` is called when the handler is called, ``slow`` if that takes long. Temporary, not counted, if the handler was
        never called, because the child did not start in time or died while starting.
        """
        settlement: Ended = self._ask(_request(call), begun, slow, call.time)
        return settlement

    def run(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        named: dict[str, Any],
        begun: Callable[[], None] = nothing,
        slow: Callable[[], None] = nothing,
    ) -> Any:
        """Run a plain function in the child; returns its result or raises its exception. Otherwise like ``call``."""
        module = sys.modules.get(function.__module__)
        file = getattr(module, "__file__", None)
        fields, trace = current_fields(), carrier(self._settings)
        errand = FunctionRequest(function.__module__, file, function.__qualname__, arguments, named, fields, trace)
        outcome: FunctionResult = self._ask(errand, begun, slow)
        return outcome.value

    def kill(self) -> None:
        """Kill it with the processes it has started. A thread that waits for its answer gets ChildDied."""
        with self._lock:
            self._end_processes()
            if self._is_busy:
                return  # The waiting thread notices and closes the pipe. Closing it here would break its read.
            self._is_busy = True
        self._bury()

    def _ask(
        self,
        request: ChildRequest | FunctionRequest,
        begun: Callable[[], None],
        slow: Callable[[], None],
        clock: AttemptClock | None = None,
    ) -> Any:
        packed = pickle.dumps(request)
        with self._lock:
            if self._is_busy:
                raise ChildDied(say("child_ended"))
            self._is_busy = True
        self.calls += 1
        self._has_begun = False
        try:
            reply = self._reply(packed, begun, slow, clock)
        except (EOFError, OSError):
            raise self._death(request.file) from None
        except BaseException:
            self._end_processes()
            self._bury()
            raise
        if reply.spent:
            self._end_processes()
            self._bury()
        else:
            self._is_busy = False
        answer = pickle.loads(reply.answer)
        if isinstance(answer, FunctionResult) and answer.error is not None:
            raise answer.error
        return answer

    def _reply(
        self, packed: bytes, begun: Callable[[], None], slow: Callable[[], None], clock: AttemptClock | None
    ) -> ChildReply:
        started = time.monotonic()
        if not self._is_ready:
            # Wait until the child is ready: it does not read before that, and a large request would block in the pipe.
            self._hear_start(started, slow)
            self._is_ready = True
        self._pipe.send_bytes(packed)
        said = self._hear_start(started, slow)
        if isinstance(said, ChildReply):
            return said  # The function was not found there.
        assert said == BEGUN
        self._has_begun = True
        begun()
        return self._heard(clock)

    def _heard(self, clock: AttemptClock | None) -> ChildReply:
        """The child's reply. Messages before it stop the time of the attempt, or let it run again."""
        while True:
            while not self._wait(WATCH_SECONDS):
                continue
            said = self._pipe.recv()
            if isinstance(said, ChildReply):
                return said
            if clock is not None:
                clock.hold() if said == HELD else clock.go_on()

    def _hear_start(self, started: float, slow: Callable[[], None]) -> Any:
        """The child's next message, within the time limit of its start."""
        is_slow = time.monotonic() > started + SLOW_START_SECONDS
        while not self._wait(WATCH_SECONDS):
            waited = time.monotonic() - started
            if waited > self._start_seconds:
                raise Temporary(
                    say("child_not_ready", seconds=self._start_seconds, hint=self._start_hint()),
                    code="child_start",
                    counts=False,
                )
            if waited > SLOW_START_SECONDS and not is_slow:
                is_slow = True
                slow()
        return self._pipe.recv()

    def _wait(self, seconds: float) -> bool:
        """Whether a message is there; EOFError if the child has ended. Checks its memory at intervals."""
        ready = wait([self._pipe, self._process.sentinel], seconds)
        if self._pipe in ready:
            return True
        # Even without EOF: a process that it started may keep the pipe open.
        if ready or self._process.exitcode is not None:
            if self._pipe.poll():
                return True
            raise EOFError
        if self._excess is None and (excess := self._allowance.note(self._process.pid or 0)) is not None:
            self._excess = excess
            self._end_processes()
        return False

    def _start_hint(self) -> str:
        return "" if self._is_ready else hint()

    def _death(self, file: str | None) -> Exception:
        """Why there is no answer. The process is gone afterwards."""
        self._end_processes()
        exit_code = self._bury()
        manner = _manner(exit_code)
        if self._excess is not None:
            return ChildDied(self._excess, code=OUT_OF_MEMORY)
        if exit_code == UNGUARDED_EXIT and not self._has_begun:
            return Unguarded((file if self._is_ready else main_path()) or "Its main script")
        if not self._has_begun:
            return Temporary(
                say("child_died_starting", manner=manner, hint=self._start_hint()),
                code="child_start",
                counts=False,
            )
        return ChildDied(say("child_died", manner=manner))

    def _end_processes(self) -> None:
        """Kill the process with everything it has started, in its group or outside."""
        pid = self._process.pid
        if pid is None or self._is_over:
            return
        if self._process.exitcode is None:
            os.kill(pid, signal.SIGSTOP)  # Stop it first, so that it starts no more processes while we search.
            end_descendants(pid)
        try:
            os.killpg(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):  # It has no process group yet, or is gone.
            self._process.kill()

    def _bury(self) -> int | None:
        """Wait for the process to end and close the pipe; returns its exit code."""
        self._is_over = True
        self._process.join(REAP_SECONDS)
        self._pipe.close()
        self._allowance.forget(self._process.pid or 0)
        return self._process.exitcode


class Children:
    """A pool of warm child processes, created on demand."""

    def __init__(self, settings: Settings, *, at_once: int | None = None, modules: Sequence[str] = ()) -> None:
        self.settings = settings
        self.at_once = at_once or settings.children or os.cpu_count() or 1
        """Maximum children that run functions at the same time, in addition to isolated handlers."""
        self._modules = tuple(modules)
        self._allowance = Allowance(settings.child_memory_bytes)
        self._idle: list[Child] = []
        self._all: set[Child] = set()
        self._closed = False

    def warm(self, count: int) -> None:
        """Start ``count`` children now: they come up while the parent is busy with other things."""
        for _ in range(min(count, self.at_once)):
            self._idle.append(self._new())

    def take(self) -> Child:
        """An idle child, or a new one."""
        return self._idle.pop() if self._idle else self._new()

    def _new(self) -> Child:
        if self._closed:
            raise ChildDied(say("child_stopping"))
        child = Child(self.settings, self._modules, self._allowance)
        self._all.add(child)
        return child

    def give_back(self, child: Child) -> None:
        """Return a child that has answered; old ones are ended."""
        if child.is_over or child.calls >= CALLS_PER_CHILD:
            self.discard(child)
        else:
            self._idle.append(child)

    def discard(self, child: Child) -> None:
        """End a child that must not be reused."""
        self._all.discard(child)
        child.kill()

    def close(self) -> None:
        """End all children and start no more."""
        self._closed = True
        for child in list(self._all):
            child.kill()
        self._all.clear()
        self._idle.clear()


def _request(call: AnyCall) -> ChildRequest:
    handler = call.stage.handler
    module = sys.modules.get(handler.__module__)
    file = getattr(module, "__file__", None)
    bare = replace(call.stage, handler=serve)
    name, fields, trace = handler.__qualname__, current_fields(), carrier(call.store.settings)
    with_arguments = call.parts[0].with_arguments
    claimed = tuple(part.claimed for part in call.parts)
    return ChildRequest(handler.__module__, file, name, bare, with_arguments, call.row, claimed, fields, trace)


def _manner(exit_code: int | None) -> Sentence:
    if exit_code is None or exit_code >= 0:
        return say("exit_code", code=exit_code)
    name = signal.Signals(-exit_code).name
    return (
        say("killed_for_memory", signal=name) if -exit_code == signal.SIGKILL else say("killed_by_signal", signal=name)
    )
