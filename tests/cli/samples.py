"""Pipelines that the tests of the command line run."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa

import fanfold as ff

words = ff.Pipeline("words", title="Words")


@words.each(retry=ff.Retry(limit=0))
async def shout(item: ff.ItemWork) -> str:
    """A word in capitals; `bad` fails, and `poor` is degraded, unless the mood is good."""
    item.emit(f"{item.input} ")
    if item.input == "poor" and item.options.get("mood") != "good":
        item.degraded("not loud enough")
    if item.input == "bad" and item.options.get("mood") != "good":
        raise ff.Permanent("no such word")
    return str(item.input).upper()


@words.merge
def join(task: ff.TaskWork, results: ff.Results) -> str:
    """All of them in one line."""
    return " ".join(result.output for result in results)


review = ff.Pipeline("review")


@review.each
def spell(item: ff.ItemWork) -> str:
    """A word as it is."""
    return str(item.input)


@review.merge(quiet_seconds=0.05)
def agree(task: ff.TaskWork, results: ff.Results) -> str:
    """The words that were not rejected, each with its replacement; the word `break` makes it fail."""
    kept = []
    for result in results:
        decision = result.decisions.get(ff.part_key(result.output))
        if decision is not None and decision.value == "break":
            raise ff.Permanent("broken")
        if decision is None or decision.verdict == "accept":
            kept.append(result.output)
        elif decision.verdict == "replace" and decision.value is not None:
            kept.append(str(decision.value))
    return " ".join(kept)


def review_files() -> Any:
    """The command that would have saved its results."""
    from fanfold.running import FileCommand
    from fanfold.running.many_files.sources import Endings

    return FileCommand("review", review, Endings((".txt",), ".out"))


other_words = ff.Pipeline("words")


@other_words.step
def nothing(task: ff.TaskWork) -> None:
    """Another pipeline with a name that is taken."""


pages = ff.Pipeline("pages")


@pages.split
def cut(task: ff.TaskWork) -> Iterator[ff.NewItem]:
    """One item per line of the file."""
    for number, line in enumerate(task.input.read_text().splitlines(), 1):
        yield ff.NewItem(key=f"p{number}", input=line)


@pages.each
def mark(item: ff.ItemWork) -> str:
    """A line as a list item."""
    return f"- {item.input}"


@pages.merge
def bind(task: ff.TaskWork, results: ff.Results) -> ff.File:
    """All lines in a file."""
    return task.write("list.md", "\n".join(result.output for result in results) + "\n")


gated = ff.Pipeline("gated")


@gated.step
def first(task: ff.TaskWork) -> int:
    """Before the gate."""
    return 1


@gated.step(gate=True)
def second(task: ff.TaskWork) -> int:
    """Behind the gate."""
    return int(task.previous) + 1


held = ff.Pipeline("held")


@held.each(timeout=None)
async def hold(item: ff.ItemWork) -> str:
    """Waits until the file named in the options exists; `free` does not wait."""
    while item.input != "free" and not Path(item.options["go"]).exists():
        await asyncio.sleep(0.01)
    return str(item.input)


costly = ff.Pipeline("costly")


@costly.step(takes=300)
def pay(task: ff.TaskWork) -> str:
    """Takes longer than a short tick."""
    return "paid"


flaky = ff.Pipeline("flaky")


@flaky.step(retry=ff.Retry(limit=3, first=0.05, jitter=0))
def stumble(task: ff.TaskWork) -> int:
    """Fail once, then do it."""
    if task.attempt == 1:
        raise ff.Temporary("not yet")
    return task.attempt


external = ff.Pipeline("external")


@external.step
def poll(task: ff.TaskWork) -> Any:
    """Poll again in an hour."""
    return ff.later(3600)


mirrored = ff.Pipeline("mirrored")


@mirrored.step
def work(task: ff.TaskWork) -> int:
    """Nothing much."""
    return 1


@mirrored.on_move
def mirror(connection: sa.Connection, change: ff.Change) -> None:
    """A record of the user's own would be written here."""
    connection.execute(sa.text("SELECT 1"))


@ff.task
def add(a: Any, b: Any = 1) -> Any:
    """A sum."""
    return a + b


odd = ff.Pipeline("odd")


@odd.each(retry=ff.Retry(limit=0))
def misbehave(item: ff.ItemWork) -> Any:
    """Does what a handler should not do."""
    if item.input == "exit":
        os._exit(3)
    if item.input == "silent":
        raise ValueError
    return {"nan": float("nan"), "nul": "a\0b", "object": object(), "huge": "x" * 100_000_000}.get(item.input, "fine")


asks = ff.Pipeline("asks", title="Questions")


@asks.each(retry=ff.Retry(limit=0))
async def question(item: ff.ItemWork) -> str:
    """What a model says about the input."""
    return (await item.ask(str(item.input))).text


double = ff.Pipeline("double")


@double.step
def twice(task: ff.TaskWork) -> int:
    """A number twice."""
    return int(task.options["number"]) * 2


volume = ff.Pipeline("volume", subtasks=[double])


@volume.step
def measure(task: ff.TaskWork) -> int:
    """The result of a subtask."""
    return int(task.submit_subtask(double, name="twice", options={"number": 4}, title="Four twice").result())


TONE = ff.Option("tone", "choice", choices=("formal", "plain"), help="How it should sound")


@volume.step(gate=ff.Gate(TONE, ff.Option("copies", "number", default=1, at_least=1)))
def issue(task: ff.TaskWork) -> str:
    """What a person answered."""
    answer = task.answer()
    return f"{answer['copies']} × {answer['tone']}: {task.previous}"
