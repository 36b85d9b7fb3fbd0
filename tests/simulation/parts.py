"""Replacements for the engine's clocks, threads and loops, controlled by the schedule."""

from __future__ import annotations

import asyncio
import selectors
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from typing import Any
from weakref import WeakKeyDictionary

from fanfold.engine.handlers.files.file_records import FileRecorder
from tests.simulation.schedule import Actor, Process, ProcessDied, Schedule


class Stage:
    """Where the simulation plays: the schedule of the run that is under way."""

    schedule: Schedule


STAGE = Stage()


class Time:
    """Stands for the module `time`."""

    @staticmethod
    def monotonic() -> float:
        """The schedule's clock."""
        return 1_000.0 + STAGE.schedule.now

    @staticmethod
    def time() -> float:
        """Far in the past: files made now are never old."""
        return STAGE.schedule.now

    @staticmethod
    def sleep(seconds: float) -> None:
        """Let time pass."""
        STAGE.schedule.sleep(seconds)


class Event:
    """Stands for `threading.Event`."""

    def __init__(self) -> None:
        self._is_set = False

    def is_set(self) -> bool:
        """Whether it was set."""
        return self._is_set

    def set(self) -> None:
        """Set it."""
        self._is_set = True

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, or for this long."""
        return STAGE.schedule.pause("an event", self.is_set, timeout)


class Lock:
    """Stands for `threading.Lock`: whoever waits for it lets others run."""

    def __init__(self) -> None:
        self._is_held = False

    def __enter__(self) -> None:
        if self._is_held:
            STAGE.schedule.pause("a lock", lambda: not self._is_held)
        self._is_held = True

    def __exit__(self, *_error: object) -> None:
        self._is_held = False


class Thread:
    """Stands for `threading.Thread`."""

    def __init__(
        self,
        *,
        target: Callable[..., object],
        args: tuple[Any, ...] = (),
        name: str = "thread",
        daemon: bool = True,
    ) -> None:
        self.name = name
        self.daemon = daemon
        self._run = lambda: target(*args)
        self._actor: Actor | None = None

    def start(self) -> None:
        """Begin, as soon as the schedule says so."""
        process = STAGE.schedule.current.process
        self._actor = STAGE.schedule.spawn(f"{process.name}/{self.name.rpartition('-')[2]}", self._run)

    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._actor is not None and not self._actor.ended

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""
        STAGE.schedule.pause("a thread's end", lambda: not self.is_alive(), timeout)


class Threading:
    """Stands for the module `threading`."""

    Thread = Thread
    Event = Event
    Lock = threading.Lock

    @staticmethod
    def active_count() -> int:
        """How many threads the process has."""
        schedule = STAGE.schedule
        return sum(actor.process is schedule.current.process for actor in schedule.actors)

    @staticmethod
    def get_ident() -> int:
        """A number of its own for each thread."""
        return threading.get_ident()

    @staticmethod
    def current_thread() -> object:
        """Never the main one, so that nobody installs signal handlers."""
        return None

    @staticmethod
    def main_thread() -> object:
        """See ``current_thread``."""
        return STAGE


class NoWatchdog:
    """Stands for the watchdog of a worker: here only one actor runs at a time, so no loop is ever blocked."""

    def __init__(self, *_: Any) -> None:
        pass

    def start(self) -> None:
        """Watch nothing."""

    def stop(self) -> None:
        """Nothing was watched."""


class Queue:
    """Stands for `queue.SimpleQueue`."""

    def __init__(self) -> None:
        self._values: deque[Any] = deque()

    def __class_getitem__(cls, _: Any) -> type[Queue]:
        return cls

    def put(self, value: Any) -> None:
        """Add one."""
        self._values.append(value)

    def get(self) -> Any:
        """Wait for one."""
        if not self._values:
            STAGE.schedule.pause("a job", lambda: bool(self._values))
        return self._values.popleft()


class LocksInTurn:
    """Stands for the module `threading` where a lock is held during a transaction."""

    Lock = Lock


class Recorders:
    """Stands for the recorders of a process: all processes of a run share one store, but not their threads."""

    def __init__(self) -> None:
        self._of: WeakKeyDictionary[Process, FileRecorder] = WeakKeyDictionary()

    def __call__(self, _store: object) -> FileRecorder:
        """The recorder of the process that runs now."""
        return self._of.setdefault(STAGE.schedule.current.process, FileRecorder())


class Executor:
    """Stands for `ThreadPoolExecutor(1)`: one thread that does one thing after the other."""

    def __init__(self, _workers: int = 1, thread_name_prefix: str = "executor", **_rest: Any) -> None:
        self._name = thread_name_prefix
        self._jobs = Queue()
        self._started = False

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Run it when it is its turn."""
        if STAGE.schedule.current.process.dead:
            raise ProcessDied(self._name)
        if not self._started:
            self._started = True
            Thread(target=self._serve, name=self._name).start()
        future: Future[Any] = Future()
        self._jobs.put((future, function, arguments))
        return future

    def shutdown(self, wait: bool = True) -> None:
        """Let the thread go."""
        self._jobs.put(None)

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, function, arguments = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = function(*arguments)
            except ProcessDied:
                raise
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)


class Selector(selectors.BaseSelector):
    """Selects nothing: a loop wakes at its next time, or when another thread calls."""

    def __init__(self) -> None:
        self.woken = False

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Nothing is watched."""
        return selectors.SelectorKey(fileobj, 0, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """Nothing is watched."""
        return selectors.SelectorKey(fileobj, 0, 0, None)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """Nothing is watched."""
        return {}

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        """Nothing is watched."""
        raise KeyError(fileobj)

    def close(self) -> None:
        """Nothing to close."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait in the schedule."""
        if timeout is None or timeout > 0:
            STAGE.schedule.pause("the loop", lambda: self.woken, timeout)
        elif STAGE.schedule.current.process.dead:
            raise ProcessDied("the loop")
        self.woken = False
        return []


class Loop(asyncio.SelectorEventLoop):
    """An event loop on the schedule's clock."""

    def __init__(self) -> None:
        self._waker = Selector()
        super().__init__(self._waker)
        self._helpers = Executor(1, "helper")
        self.set_exception_handler(lambda _loop, _context: None)

    def time(self) -> float:
        """The schedule's clock."""
        return Time.monotonic()

    def _write_to_self(self) -> None:
        self._waker.woken = True

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        """In the given executor, or in a helper's thread."""
        return asyncio.wrap_future((executor or self._helpers).submit(func, *args), loop=self)

    def abandon(self) -> None:
        """The process died: no coroutine continues, and none may do anything while it is thrown away."""
        for task in asyncio.all_tasks(self):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            coroutine = task.get_coro()
            assert isinstance(coroutine, Coroutine)
            for _ in range(50):
                try:
                    coroutine.throw(ProcessDied("abandoned"))
                except BaseException:
                    break


class Asyncio:
    """Stands for the module `asyncio`: everything as it is, but run in a loop of ours."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    @staticmethod
    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run it to its end, or to the end of the process."""
        loop = Loop()
        try:
            found = loop.run_until_complete(coroutine)
            if left := sorted(asyncio.all_tasks(loop), key=lambda task: int(task.get_name().rpartition("-")[2])):
                for task in left:  # As `asyncio.run` does.
                    task.cancel()
                loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            loop._helpers.shutdown()
            return found
        except ProcessDied:
            loop.abandon()
            raise
        finally:
            loop._ready.clear()  # type: ignore[attr-defined]
            loop.close()
