"""An extraction by command: it survives kills, pays for each question once, and saves its table."""

import csv
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ai_server import AIServer
from tests.apps.extract.answering import AsRequest, asked, served
from tests.cli.conftest import shell_on
from tests.cli.shell import Shell
from tests.conftest import environment_of
from tests.waiting import eventually

TEMPLATE = "title: What is the title?\nsample_size: integer — How many people took part?\nfunder: Who paid?\n"
KNOWN = {
    "title": ("Statins in Sweden", "Statins in Sweden"),
    "sample_size": (1240, "We enrolled 1,240 people"),
    "treated": (620, "Of these, 620 were treated"),
}


@pytest.fixture
def shell(database_url: str, tmp_path: Path) -> Iterator[Shell]:
    """Commands in processes of their own."""
    yield from shell_on(database_url, tmp_path / "data")


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """Thirty papers, no two alike, and a template beside them."""
    folder = tmp_path / "papers"
    folder.mkdir()
    for number in range(30):
        text = f"# Statins in Sweden\nWe enrolled 1,240 people\nOf these, 620 were treated\nPaper {number * 7919}"
        (folder / f"{number:02}.md").write_text(text)
    (tmp_path / "fields.yaml").write_text(TEMPLATE)
    return folder


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as source:
        return list(csv.DictReader(source))


def words(papers: Path, *more: str) -> tuple[str, ...]:
    """The command that extracts the papers."""
    place = papers.parent
    options = ("--template", str(place / "fields.yaml"), "-o", str(place / "table.csv"), "--provider", "fake")
    return ("extract", str(papers), *options, *more)


def said(started: "subprocess.Popen[str]", code: int) -> str:
    """What a command said; it must end with this code."""
    out, problems = started.communicate(timeout=200)
    assert started.returncode == code, problems
    return out + problems


def test_killed_in_the_middle_it_pays_for_nothing_twice(shell: Shell, papers: Path) -> None:
    with AIServer() as ai:
        ai.answer(served(KNOWN))
        ai.next(*["answer"] * 10)
        ai.always("held")
        started = shell.start(*words(papers), **environment_of(ai))
        # An answer is kept a moment after it was paid for: a kill in between is what `possibly_paid` counts.
        eventually(lambda: ai.given["held"] and _settled(shell) == 10, 100)
        os.kill(started.pid, signal.SIGKILL)
        started.wait(60)
        ai.always("answer")
        said(shell.start(*words(papers), **environment_of(ai)), 0)
        # A question in flight when the process died was not answered: it is asked again, the others are not.
        paid = Counter(call.prompt for call in ai.paid)
        assert (len(paid), set(paid.values())) == (30, {1})
    rows = table(papers.parent / "table.csv")
    assert [row["sample_size"] for row in rows] == ["1240"] * 30
    assert [row["document"] for row in rows] == [f"{number:02}.md" for number in range(30)]


def _settled(shell: Shell) -> int:
    """How many answers are kept."""
    return sum(task["spending"]["calls"] for task in shell.json("tasks"))


@pytest.mark.one_database
def test_a_column_is_added_by_command_and_only_that_column_is_asked(shell: Shell, papers: Path) -> None:
    place = papers.parent
    with AIServer() as ai:
        ai.answer(served(KNOWN))
        said(shell.start(*words(papers), **environment_of(ai)), 0)
        [task] = shell.json("tasks")
        (place / "more.yaml").write_text(TEMPLATE + "treated: integer — How many were treated?\n")
        more = ("extract", "--task", task["id"], "--template", str(place / "more.yaml"), "-o", str(place / "table.csv"))
        before = len(ai.calls)
        said(shell.start(*more, **environment_of(ai)), 0)
        fields = [asked(AsRequest(call)) for call in ai.calls[before:]]  # type: ignore[arg-type]
        assert fields == [["treated"]] * 30
        said(shell.start(*words(papers, "--gold", str(_gold(place))), **environment_of(ai)), 0)
        assert len(ai.calls) == before + 30
    assert [row["treated"] for row in table(place / "table.csv")] == ["620"] * 30


def _gold(place: Path) -> Path:
    path = place / "gold.csv"
    path.write_text("document,sample_size\n00.md,1240\n01.md,1250\n")
    return path


@pytest.mark.one_database
def test_a_document_that_cannot_be_read_is_a_row_and_the_exit_code_says_so(shell: Shell, papers: Path) -> None:
    (papers / "broken.pdf").write_bytes(b"%PDF-1.7 not really")
    (papers / "empty.txt").write_text("")
    with AIServer() as ai:
        ai.answer(served(KNOWN))
        told = said(shell.start(*words(papers), **environment_of(ai)), 7)
    rows = {row["document"]: row for row in table(papers.parent / "table.csv")}
    assert len(rows) == 32
    assert "damaged" in rows["broken.pdf"]["error"]
    assert "empty" in rows["empty.txt"]["error"]
    assert "Missing from the result: 2" in told
