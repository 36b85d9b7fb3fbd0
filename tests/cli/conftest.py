"""Fixtures for tests of the command line."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fanfold.engine.client import Client
from tests.cli.shell import Shell


@pytest.fixture
def shell(database_url: str, tmp_path: Path) -> Iterator[Shell]:
    """A shell on a fresh database, once for each kind."""
    yield from shell_on(database_url, tmp_path / "data")


@pytest.fixture
def sqlite_shell(sqlite_url: str, tmp_path: Path) -> Iterator[Shell]:
    """A shell on SQLite alone, for what is the same on every database."""
    yield from shell_on(sqlite_url, tmp_path / "data")


@pytest.fixture
def new_shell(tmp_path: Path) -> Iterator[Shell]:
    """A shell on a SQLite file that does not exist yet."""
    yield from shell_on(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path / "data")


def shell_on(database: str, data: Path) -> Iterator[Shell]:
    """A shell, cleared afterwards."""
    shell = Shell(database, data)
    yield shell
    shell.clear()


@pytest.fixture
def client(shell: Shell) -> Iterator[Client]:
    """A client of the shell's installation."""
    with shell.client() as made:
        yield made
