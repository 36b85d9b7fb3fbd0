"""Proofreading and translation by command: they survive kills, pay for each chunk once, and stop at gates if asked to."""

import json
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ai_protocol import Call
from tests.ai_server import AIServer
from tests.apps.proofread.answering import MARK, paragraphs, replacing, served, told
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
    with shell.client() as client:
        return sum(task.spending.calls for task in client.list())


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


def in_chinese(call: Call) -> str:
    """A model that translates into Chinese, collects one term and writes a synopsis."""
    if MARK in call.prompt:
        return told({at: re.sub(r"[A-Za-z ]{3,}", "玛拉雨夜", text) for at, text in paragraphs(call.prompt).items()})
    if "glossary for the translation" in call.prompt:
        return json.dumps(
            {"terms": [{"source": "Mara", "target": "玛拉", "kind": "person", "note": ""}], "summary": "雨。"}
        )
    return "一本关于雨的书。"


@pytest.fixture
def long_novel(tmp_path: Path) -> Path:
    """A novel of two sections for the glossary, and of five chunks."""
    path = tmp_path / "long.txt"
    lines = (
        f"Chapter {at}\n\n" + f"Mara walked {at * 7919} steps in the rain of that night. " * 20 for at in range(16)
    )
    path.write_text("\n\n".join(lines))
    return path


def test_a_translation_killed_in_every_phase_pays_for_nothing_twice(shell: Shell, long_novel: Path) -> None:
    words = ("translate", str(long_novel), "--to", "zh")
    with AIServer() as ai:
        ai.answer(in_chinese)
        for answered in (1, 4):  # In the glossary, and between chunks.
            ai.always("held")
            ai.next(*["answer"] * (answered - len(ai.paid)))
            started = shell.start(*words, **environment_of(ai))
            eventually(lambda: ai.waiting and _settled(shell) == answered, 100)  # noqa: B023
            os.kill(started.pid, signal.SIGKILL)
            started.wait(60)
        ai.always("answer")
        said(shell.start(*words, **environment_of(ai)), 0)
        paid = Counter(call.prompt for call in ai.paid)
        assert set(paid.values()) == {1}
        assert sum(MARK not in prompt for prompt in paid) == 3
    translated = long_novel.with_name("long.zh.txt").read_text()
    numbers = re.findall("[0-9]+", long_novel.read_text())
    assert re.findall("[0-9]+", translated) == numbers


@pytest.mark.one_database
def test_the_command_stops_before_each_phase_if_asked_to_and_continues_when_it_is_run_again(
    shell: Shell, novel: Path
) -> None:
    with AIServer() as ai:
        ai.answer(served(CORRECT))
        words = ("proofread", str(novel), *SMALL, "--no-straight-through")
        seen = []
        for code in (9, 9, 0):
            output = said(shell.start(*words, **environment_of(ai)), code)
            [task] = shell.json("tasks")
            seen.append((task["status"], task["phase"], len(ai.calls)))
            assert ("To continue: fanfold proofread" in output) == (code == 9)
        assert seen == [("paused", "process", 0), ("paused", "merge", CHUNKS), ("done", "done", CHUNKS)]
    assert novel.with_name("novel.proofread.txt").exists()
