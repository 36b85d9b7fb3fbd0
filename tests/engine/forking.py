"""Handlers that fork, or leave processes behind."""

import multiprocessing
import os
import stat
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import fanfold as ff
from tests.waiting import eventually

NEVER = "import time; time.sleep(3600)"


def run(how: str, note: str = "") -> Any:
    """Fork as the input says; the copy's result must never appear."""
    if how == "plain":
        return ["plain", os.getpid()]
    if how == "multiprocessing":
        context = multiprocessing.get_context("fork")
        with context.Pool(2) as pool:
            return ["parent", pool.map(abs, [-1, -2])]
    if how == "inherit":
        Path(note).write_text(str(_start(close_fds=False)))
        return "parent"
    if how == "session":
        Path(note).write_text(str(_start(start_new_session=True)))
        return "parent"
    copy = os.fork()
    if copy:
        if how == "stay":
            Path(note).write_text(str(copy))
            return "parent"
        _, status = os.waitpid(copy, 0)
        if how == "orphan":
            eventually(lambda: Path(note).exists() and Path(note).read_text())
            return "parent"
        return ["parent", os.waitstatus_to_exitcode(status)]
    return _as_copy(how, note)


def _start(**how: Any) -> int:
    return subprocess.Popen([sys.executable, "-c", NEVER], **how).pid


def _as_copy(how: str, note: str) -> Any:
    if how == "raise":
        raise ValueError("of the copy")
    if how == "exit":
        sys.exit(5)
    if how == "large":
        return "x" * 2_000_000
    if how == "stay":
        time.sleep(3_600)
    if how == "orphan":
        os.setsid()
        if os.fork() == 0:
            Path(note).write_text(str(os.getpid()))
            time.sleep(3_600)
    return "copy"


def pipelines(isolate: bool) -> tuple[ff.Pipeline, ...]:
    """The same stages in a child process and in the worker."""
    where = "child" if isolate else "worker"
    plain, later, splits = (ff.Pipeline(f"{name}-{where}") for name in ("forks", "forks-later", "fork-splits"))
    once = ff.Retry(limit=0)
    plain.each(isolate=isolate, retry=once, concurrency=1)(work)
    later.each(isolate=isolate, retry=once, concurrency=1)(work_later)
    splits.split(isolate=isolate, retry=once)(split)
    splits.each(same)
    later_splits = ff.Pipeline(f"fork-later-splits-{where}")
    later_splits.split(isolate=isolate, retry=once)(split_later)
    later_splits.each(same)
    return plain, later, splits, later_splits


def work(item: Any) -> Any:
    """Fork in a plain handler."""
    return run(*item.input)


async def work_later(item: Any) -> Any:
    """Fork in a coroutine."""
    return run(*item.input)


def split(task: Any) -> Iterator[Any]:
    """Fork between two items."""
    yield 1
    yield run("return")[0]
    yield 3


async def split_later(task: Any) -> AsyncIterator[Any]:
    """Fork between two items, in a coroutine."""
    yield 1
    yield run("return")[0]
    yield 3


def same(item: Any) -> Any:
    """What came in."""
    return item.input


large_splits = ff.Pipeline("large-fork-splits")


@large_splits.split(isolate=True, retry=ff.Retry(limit=0))
def split_large(task: Any) -> Iterator[Any]:
    """Fork between two items; the copy's item would need a file."""
    said = run("large")
    yield said if isinstance(said, str) else said[0]


large_splits.each(same)


CHILD, WORKER = pipelines(True), pipelines(False)


@ff.task(isolate=True, retry=ff.Retry(limit=0))
def speak(task: Any, note: str) -> Any:
    """Use the task in a copy: it has the database to itself."""
    copy = os.fork()
    if copy:
        _, status = os.waitpid(copy, 0)
        return [os.waitstatus_to_exitcode(status), task.memory]
    before = list(task._store.database._inherited)
    task.remember(copy=True)
    Path(note).write_text(f"{len(before)} left")
    return "copy"


def wait_for_session(note: str) -> None:
    """Start a process in a session of its own, and wait for it."""
    started = subprocess.Popen([sys.executable, "-c", NEVER], start_new_session=True)
    Path(note).write_text(str(started.pid))
    started.wait()


def sockets() -> list[int]:
    """How many sockets there are here, in a copy, and in a program that inherits what it can."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, bytes([_sockets()]))
        os._exit(0)
    os.wait()
    count = "from tests.engine.forking import _sockets; print(_sockets())"
    ran = subprocess.run([sys.executable, "-c", count], close_fds=False, capture_output=True, text=True, check=True)
    found = [_sockets(), os.read(read, 1)[0], int(ran.stdout)]
    os.close(read)
    os.close(write)
    return found


def _sockets() -> int:
    return sum(_is_socket(number) for number in range(256))


def _is_socket(number: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:
        return False
