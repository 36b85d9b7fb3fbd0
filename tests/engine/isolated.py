"""Handlers that run in a child process. They are found by name, so they must be in a module."""

import os
import time
from pathlib import Path
from typing import Any

import fanfold as ff

crashing = ff.Pipeline("crashing")
slow = ff.Pipeline("slow")
lost = ff.Pipeline("lost")
stubborn = ff.Pipeline("stubborn")
function_name = "isolated_sum"


@crashing.each(isolate=True, retry=ff.Retry(limit=0))
def convert(item: Any) -> Any:
    """Die as the input says, or give the process that ran it."""
    if item.input == "exit":
        os._exit(7)
    if item.input == "kill":
        os.kill(os.getpid(), 9)
    if item.input == "raise":
        raise SystemExit("leaving")
    item.used(model="child", tokens=3)
    item.remember(seen=True)
    return {"pid": os.getpid(), "input": item.input, "file": item.write("a.txt", "from a child")}


@slow.each(isolate=True, timeout=None, retry=ff.Retry(limit=0))
def wait(item: Any) -> None:
    """Say who runs it, and never end."""
    Path(item.input).write_text(str(os.getpid()))
    time.sleep(3_600)


@stubborn.each(timeout=None, retry=ff.Retry(limit=0))
def go_on(item: Any) -> None:
    """Say who runs it, and never end, whatever it is told. It does not ask for a child process."""
    Path(item.input).write_text(str(os.getpid()))
    while True:
        try:
            time.sleep(3_600)
        except BaseException:
            continue


@lost.each(isolate=True, retry=ff.Retry(limit=0))
async def later(item: Any) -> str:
    """An async handler in a child."""
    return f"async {item.input}"


@ff.task(isolate=True)
def isolated_sum(a: int, b: int) -> int:
    """A function in a child."""
    return a + b


jobs = ff.Pipeline("isolated_jobs")


@jobs.step(isolate=True, timeout=None, retry=ff.Retry(limit=0))
async def render(task: Any) -> Any:
    """An external job whose start never answers; the service notes each start in a file."""
    noted = Path(task.options["noted"])

    def start(key: str) -> str:
        with noted.open("a") as file:
            file.write(f"{key}\n")
        time.sleep(3_600)
        return "never"

    def find(key: str) -> str | None:
        return "job" if key in noted.read_text().split() else None

    return await task.external(
        start=start, look=lambda job: f"made by {job}", find=find if task.options["finds"] else None
    )


together = ff.Pipeline("together")


@together.each(isolate=True, batch=16, retry=ff.Retry(limit=0), concurrency=2)
def convert_many(items: list[Any]) -> list[Any]:
    """Die if one of the inputs says so, or give what each has."""
    if any(item.input == "exit" for item in items):
        os._exit(7)
    for item in items:
        item.used(model="child", tokens=1)
    return [{"with": len(items), "pid": os.getpid(), "file": item.write("a.txt", item.input)} for item in items]


sorting = ff.Pipeline("sorting")


@sorting.each(isolate=True, batch=16, retry=ff.Retry(limit=0))
def sort_in_place(items: list[Any]) -> list[Any]:
    """Sort the list of items itself, which is refused."""
    items.sort(key=lambda item: item.input)
    return [item.input for item in items]
