"""Checks that every item ran: handlers count themselves in shared memory, and a fan-in records what it saw."""

from __future__ import annotations

import mmap
import os
import struct
import threading
import time
from dataclasses import dataclass
from pathlib import Path

FOLDER_VARIABLE = "ENGINES_TALLY"
LAYOUT = struct.Struct("qqq")
NANOSECONDS = 1e9


@dataclass(frozen=True)
class Counted:
    """How many handlers have started in all processes, and when the first and the last of them did."""

    count: int = 0
    first_at: float = 0.0
    last_at: float = 0.0


@dataclass(frozen=True)
class FanIn:
    """When a fan-in ran, and how many results it was given."""

    at: float
    seen: int


class _Page:
    """The count of one process, in a file that others read while it is written."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.count = self.first = 0
        path = folder() / f"{self.process}.count"
        path.write_bytes(bytes(LAYOUT.size))
        with path.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), LAYOUT.size)

    def add(self) -> None:
        """One more, now."""
        now = time.monotonic_ns()
        self.first = self.first or now
        self.count += 1
        LAYOUT.pack_into(self.memory, 0, self.count, self.first, now)


_page: _Page | None = None
_lock = threading.Lock()


def folder() -> Path:
    """Where the notes of this run lie."""
    return Path(os.environ[FOLDER_VARIABLE])


def started() -> None:
    """A handler of an item has started. A forked process begins a page of its own."""
    global _page  # noqa: PLW0603  # one page per process is the point of it
    with _lock:
        if _page is None or _page.process != os.getpid():
            _page = _Page()
        _page.add()


def fanned_in(seen: int) -> None:
    """A fan-in has started with this number of results."""
    note("fan-in", seen)


def note(name: str, value: float | str) -> None:
    """Append the time and a value to the notes of this name, in one write."""
    line = f"{time.monotonic_ns()} {value}\n".encode()
    descriptor = os.open(folder() / f"{name}.notes", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, line)
    finally:
        os.close(descriptor)


def notes(name: str) -> list[tuple[float, str]]:
    """The notes of this name so far, each with its time in seconds."""
    path = folder() / f"{name}.notes"
    whole = path.read_text().rpartition("\n")[0] if path.exists() else ""
    pairs = (line.split(" ", 1) for line in whole.splitlines())
    return [(int(at) / NANOSECONDS, value) for at, value in pairs]


def fan_ins() -> list[FanIn]:
    """What fan-ins have seen so far."""
    return [FanIn(at, int(seen)) for at, seen in notes("fan-in")]


def forget(name: str = "fan-in") -> None:
    """Drop the notes of a warm-up."""
    (folder() / f"{name}.notes").unlink(missing_ok=True)


def counted() -> Counted:
    """All counts together."""
    pages = [LAYOUT.unpack(path.read_bytes()) for path in folder().glob("*.count") if path.stat().st_size]
    pages = [page for page in pages if page[0]]
    if not pages:
        return Counted()
    first, last = min(page[1] for page in pages), max(page[2] for page in pages)
    return Counted(sum(page[0] for page in pages), first / NANOSECONDS, last / NANOSECONDS)
