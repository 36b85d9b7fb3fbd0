"""Fresh, migrated databases for tests."""

import atexit
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import psycopg

from tests.servers import PostgresServer

TEMPLATE = "fanfold_template"


class Databases(Protocol):
    """A source of migrated, empty databases."""

    def fresh(self) -> AbstractContextManager[str]:
        """The URL of a database that nobody else uses and that is gone afterwards."""
        ...


class SqliteDatabases:
    """Copies of one migrated file."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.template = directory / "template.db"
        upgrade(f"sqlite:///{self.template}")
        fold_in_the_log(self.template)

    @contextmanager
    def fresh(self) -> Iterator[str]:
        """A copy of the template in a folder of its own, where SQLite puts its log beside it."""
        folder = self.directory / uuid4().hex
        folder.mkdir()
        try:
            yield self.copy_to(folder)
        finally:
            shutil.rmtree(folder)

    def copy_to(self, folder: Path) -> str:
        """The URL of a copy in this folder."""
        shutil.copy(self.template, folder / "fanfold.db")  # With its mode: private.
        return f"sqlite:///{folder / 'fanfold.db'}"


class PostgresDatabases:
    """Copies of one migrated database of a server."""

    def __init__(self, server: PostgresServer) -> None:
        self.server = server

    def make_template(self) -> None:
        """Migrate the template, under another name until it is complete; nothing if it exists already."""
        if self.server.has_database(TEMPLATE):
            return
        unfinished = f"{TEMPLATE}_unfinished"
        self.server.drop_database(unfinished)
        upgrade(self.server.create_database(unfinished))
        self.server.rename_database(unfinished, TEMPLATE)

    @contextmanager
    def fresh(self) -> Iterator[str]:
        """A copy of the template; connections that a test has left open are ended."""
        name, by = f"test_{uuid4().hex}", administrator(self.server.directory)
        url = self.server.create_database(name, TEMPLATE, by)
        try:
            yield url
        finally:
            self.server.drop_database(name, by)


@cache
def administrator(directory: Path) -> psycopg.Connection[Any]:
    """The connection of this process for making and dropping databases: a new one each time would cost half as much again."""
    made = psycopg.connect(host=str(directory), user="postgres", dbname="postgres", autocommit=True)
    atexit.register(made.close)
    return made


def upgrade(url: str) -> None:
    """Bring a database to the newest migration."""
    from fanfold.store.upgrade import migrate

    migrate.upgrade(url)


def fold_in_the_log(path: Path) -> None:
    """Write SQLite's write-ahead log back into the database, so that one file is all of it."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
