"""Handlers that do to their child process what no handler should."""

import asyncio
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fanfold as ff

unruly = ff.Pipeline("unruly")
cursed = ff.Pipeline("cursed")


def act(how: str) -> Any:
    """Misbehave, then return."""
    acts[how]()
    return how


def look() -> dict[str, Any]:
    """What the next handler finds."""
    return {
        "pid": os.getpid(),
        "folder": os.getcwd(),
        "mask": oct(_mask()),
        "interrupt": signal.getsignal(signal.SIGINT) == signal.SIG_IGN,
        "children": signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL,
        "alarm": signal.getitimer(signal.ITIMER_REAL)[0],
        "files": resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 64,
        "streams": [os.fstat(number).st_ino > 0 for number in range(3)],
    }


def _mask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _close_streams() -> None:
    for number in range(3):
        os.close(number)


def _print() -> None:
    for _ in range(40):
        print("x" * 100_000)
        print("y" * 100_000, file=sys.stderr)


def _start_threads() -> None:
    for _ in range(3):
        threading.Thread(target=time.sleep, args=(3_600,)).start()


def _change_folder() -> None:
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)


def _change_signals() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.alarm(1)
    os.umask(0)


def _lower_limits() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))


def _close_files() -> None:
    # A child's pipe has the number that it had in its parent, and a parent with many open files has high ones.
    os.closerange(3, 65_536)


acts = {
    "streams": _close_streams,
    "print": _print,
    "threads": _start_threads,
    "folder": _change_folder,
    "signals": _change_signals,
    "limits": _lower_limits,
}


@unruly.each(isolate=True, retry=ff.Retry(limit=0), concurrency=1)
def misbehave(item: Any) -> Any:
    """Misbehave as told, or look what others have left behind."""
    return look() if item.input == "look" else act(item.input)


def end(how: str) -> Any:
    """End in an odd way."""
    if how == "files":
        _close_files()
    if how == "surrogates":
        raise ValueError("\ud800 \udfff")
    if how in ("interrupt", "leave", "stop", "stop later", "generator"):
        raise {
            "interrupt": KeyboardInterrupt("odd"),
            "leave": SystemExit("odd"),
            "stop": StopIteration("odd"),
            "stop later": StopAsyncIteration("odd"),
            "generator": GeneratorExit("odd"),
        }[how]
    return {"text": "\ud800", "large": "x" * 120_000_000, "megabytes": "x" * 30_000_000}.get(how)


@cursed.each(isolate=True, retry=ff.Retry(limit=0), concurrency=1)
def curse(item: Any) -> Any:
    """End in an odd way."""
    return end(item.input)


@ff.task(isolate=True, retry=ff.Retry(limit=0))
async def interrupted_inside(task: Any) -> Any:
    """A task of the loop that ends the loop."""

    async def inner() -> None:
        raise KeyboardInterrupt("inside")

    await asyncio.gather(asyncio.create_task(inner()))


class Unreadable:
    """Can be pickled, but not read in another process."""

    def __init__(self, pid: int = 0) -> None:
        self.pid = pid or os.getpid()

    def __setstate__(self, state: dict[str, int]) -> None:
        if state["pid"] != os.getpid():
            raise AttributeError("this class is not known here")
        self.__dict__.update(state)


def take(value: Any) -> Any:
    """Whatever came."""
    return [type(value).__name__, os.getpid()]


def give_unreadable() -> Any:
    """A value that its receiver cannot read."""
    return Unreadable()


def numbers() -> Iterator[int]:
    """A value that cannot be pickled."""
    yield 1


def note_and_wait(note: str) -> None:
    """Say who runs it; never end."""
    Path(note).write_text(str(os.getpid()))
    time.sleep(3_600)
