"""Two workers with separate data folders and one bucket convert a PDF, and one of them is killed in the middle."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from tests.acceptance.test_converting import book, whole
from tests.ai_server import AIServer
from tests.cli.conftest import shell_on
from tests.cli.shell import Shell
from tests.conftest import environment_of
from tests.s3_server import S3Server
from tests.waiting import eventually

PAGES = 24


@pytest.fixture
def shells(database_url: str, tmp_path: Path) -> Iterator[list[Shell]]:
    """Commands of three machines: one database, three data folders."""
    opened = contextmanager(shell_on)
    with ExitStack() as held:
        names = ("submitter", "first", "second")
        yield [held.enter_context(opened(database_url, tmp_path / name)) for name in names]


@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_two_machines_without_a_shared_folder_convert_a_book_through_a_kill(
    shells: list[Shell], s3: S3Server, tmp_path: Path
) -> None:
    submitter, first, second = shells
    source = book(tmp_path / "book.pdf", PAGES)
    with AIServer() as ai:
        surroundings = environment_of(ai) | {"FANFOLD_FILES": s3.address(uuid4().hex), "FANFOLD_LEASE_SECONDS": "9"}
        ai.answer(whole)
        ai.next(*["answer"] * (PAGES // 3))
        ai.always("held")
        submitted = submitter.start("submit", "pdf", str(source), "--option", "provider=fake", "--json", **surroundings)
        _, said = submitted.communicate(timeout=100)
        assert submitted.returncode == 0, said
        dying = first.start("worker", "pdf", **surroundings)
        eventually(lambda: ai.given["held"] and len(ai.paid) == PAGES // 3, 100)
        os.kill(dying.pid, signal.SIGKILL)
        dying.wait(60)
        ai.always("answer")
        living = second.start("worker", "pdf", **surroundings)
        [task] = submitter.json("tasks")
        try:
            eventually(lambda: submitter.json("show", task["id"])["state"] == "completed", 120)
        finally:
            living.send_signal(signal.SIGTERM)
            living.communicate(timeout=60)
        done = submitter.start("result", task["id"], "-o", str(tmp_path / "book.md"), **surroundings)
        assert done.wait(60) == 0
        assert len(ai.paid_by_image) == PAGES
    text = (tmp_path / "book.md").read_text()
    assert text.count("# Seen ") == PAGES
    for folder in ("submitter", "first", "second"):
        assert not list((tmp_path / folder).glob("blobs/*/*"))
