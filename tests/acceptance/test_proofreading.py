"""A proofreading by command: it survives kills, pays for each chunk once, and stops at gates if asked to."""

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ai_server import AIServer
from tests.apps.proofread.answering import replacing, served
from tests.cli.conftest import shell_on
from tests.cli.shell import Shell
from tests.conftest import environment_of
from tests.waiting import eventually

CORRECT = replacing(("teh", "the"))
CHUNKS = 30
SMALL = ("--chunk-size", "60")
"""Chunks of one chapter each."""


@pytest.fixture
def shell(database_url: str, tmp_path: Path) -> Iterator[Shell]:
    """Commands in processes of their own."""
    yield from shell_on(database_url, tmp_path / "data")


@pytest.fixture
def novel(tmp_path: Path) -> Path:
    """A novel of thirty chapters, no two alike."""
    path = tmp_path / "novel.txt"
    chapters = (f"Chapter {at}\n\nIn teh night of storm {at * 7919}, the rain fell." for at in range(1, CHUNKS + 1))
    path.write_text("\n\n".join(chapters))
    return path


def said(started: "subprocess.Popen[str]", code: int) -> str:
    """What a command said; it must end with this code."""
    out, problems = started.communicate(timeout=200)
    assert started.returncode == code, problems
    return out + problems


def _settled(shell: Shell) -> int:
    """How many answers are kept."""
    return sum(task["spending"]["calls"] for task in shell.json("tasks"))


def test_killed_in_the_middle_it_pays_for_nothing_twice(shell: Shell, novel: Path) -> None:
    with AIServer() as ai:
        ai.answer(served(CORRECT))
        ai.next(*["answer"] * 10)
        ai.always("held")
        started = shell.start("proofread", str(novel), *SMALL, **environment_of(ai))
        eventually(lambda: ai.given["held"] and _settled(shell) == 10, 100)
        os.kill(started.pid, signal.SIGKILL)
        started.wait(60)
        ai.always("answer")
        said(shell.start("proofread", str(novel), *SMALL, **environment_of(ai)), 0)
        paid = Counter(call.prompt for call in ai.paid)
        assert (len(paid), set(paid.values())) == (CHUNKS, {1})
    assert novel.with_name("novel.proofread.txt").read_text() == CORRECT(novel.read_text())


@pytest.mark.one_database
def test_the_command_stops_before_each_phase_if_asked_to_and_continues_when_it_is_run_again(
    shell: Shell, novel: Path
) -> None:
    with AIServer() as ai:
        ai.answer(served(CORRECT))
        words = ("proofread", str(novel), *SMALL, "--no-straight-through")
        seen = []
        for code in (9, 9, 0):
            told = said(shell.start(*words, **environment_of(ai)), code)
            [task] = shell.json("tasks")
            seen.append((task["status"], task["phase"], len(ai.calls)))
            assert ("To continue: fanfold proofread" in told) == (code == 9)
        assert seen == [("paused", "process", 0), ("paused", "merge", CHUNKS), ("done", "done", CHUNKS)]
    assert novel.with_name("novel.proofread.txt").exists()
