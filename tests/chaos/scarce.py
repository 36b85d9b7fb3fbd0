"""Pipelines whose handlers need open files, temporary files, child processes, blobs, and connections."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fanfold as ff
from tests.acceptance.work import note

wanting = ff.Pipeline("wanting")
"""Each item opens something in its own way; no retry is allowed, so a single counted failure fails the task."""


def by_tempfile(item: ff.ItemWork) -> None:
    """A temporary file."""
    with tempfile.NamedTemporaryFile("w") as sink:
        sink.write("x" * 20_000)
        sink.flush()


def by_folder(item: ff.ItemWork) -> None:
    """A temporary folder with a file in it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "page.txt").write_text("x" * 20_000)


def by_wrapping(item: ff.ItemWork) -> None:
    """The error of the system, inside an error of a library's own."""
    try:
        by_tempfile(item)
    except OSError as error:
        raise RuntimeError("The renderer could not start") from error


def by_socket(item: ff.ItemWork) -> None:
    """A socket, as every call of a service needs."""
    left, right = socket.socketpair()
    left.close()
    right.close()


def by_process(item: ff.ItemWork) -> None:
    """A program with pipes."""
    subprocess.run([sys.executable, "-S", "-c", ""], check=True, capture_output=True)


def by_blob(item: ff.ItemWork) -> None:
    """A file that is kept with the task."""
    item.write("page.txt", "x" * 20_000)


def by_database(item: ff.ItemWork) -> None:
    """A connection of the handler's own."""
    item.remember(seen=item.attempt)
    item.emit("x")
    item.flush()


def by_scratch(item: ff.ItemWork) -> None:
    """A file that need not outlive the attempt."""
    (item.scratch / "page.txt").write_text("x" * 20_000)


WAYS: tuple[Callable[[ff.ItemWork], None], ...] = (
    by_tempfile, by_folder, by_wrapping, by_socket, by_process, by_blob, by_database, by_scratch,
)  # fmt: skip


@wanting.split(retry=ff.Retry(0))
def list_all(task: ff.TaskWork) -> Iterator[ff.NewItem]:
    """As many items as were asked for."""
    note(task.options, "split", "-", task.attempt, "-", os.getpid())
    for number in range(task.options["count"]):
        yield ff.NewItem(key=f"k{number}", input=number)


@wanting.each(retry=ff.Retry(0, first=0.2))
def open_something(item: ff.ItemWork) -> dict[str, Any]:
    """Opens something, after a while; in a hurry it does nothing."""
    note(item.options, "start", item.key, item.attempt, "-", os.getpid())
    if not Path(item.options["hurry"]).exists():
        time.sleep(0.05)
        WAYS[item.seq % len(WAYS)](item)
    return {"key": item.key, "attempt": item.attempt}


@wanting.merge(retry=ff.Retry(0, first=0.2))
def count_all(task: ff.TaskWork, results: ff.Results) -> dict[str, Any]:
    """Counts what it was given."""
    keys = [result.output["key"] for result in results]
    whole = task.scratch / "whole.txt"
    whole.write_text("\n".join(keys))
    return {"count": len(set(keys)), "file": task.write("whole.txt", whole)}


apart = ff.Pipeline("apart")


@apart.each(isolate=True, concurrency=2, retry=ff.Retry(0, first=0.2))
def open_in_child(item: ff.ItemWork) -> str:
    """The same in a process of its own."""
    WAYS[item.seq % len(WAYS)](item)
    return item.key
