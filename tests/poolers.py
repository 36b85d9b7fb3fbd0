"""A real PgBouncer before a PostgreSQL of the tests."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from tests.servers import PostgresServer, unprivileged_account
from tests.waiting import eventually

PORT = 6432
CONFIGURATION = """\
[databases]
* = host={server} user=postgres
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
max_client_conn = {clients}
server_login_retry = 1
logfile = {folder}/log
admin_users = postgres
"""


class PgBouncer:
    """PgBouncer with a few connections to a server, reached through a socket in its own folder."""

    def __init__(self, folder: Path, server: PostgresServer, mode: str, size: int, clients: int = 200) -> None:
        self.folder = folder
        self.account = unprivileged_account()
        self.settings = folder / "pgbouncer.ini"
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(mode=0o755)
        text = CONFIGURATION.format(
            server=server.directory, port=PORT, folder=folder, mode=mode, size=size, clients=clients
        )
        self.settings.write_text(text)
        if self.account is not None:
            os.chown(folder, self.account.pw_uid, self.account.pw_gid)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        identity: dict[str, Any] = {}
        if self.account is not None:
            identity = {"user": self.account.pw_uid, "group": self.account.pw_gid, "extra_groups": []}
        self.process = subprocess.Popen(
            [program(), str(self.settings)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder, **identity,
        )  # fmt: skip
        eventually(self.answers, 60)

    def stop(self) -> None:
        """Cut all connections at once."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)
            self.process = None

    def answers(self) -> bool:
        """Whether it takes connections."""
        try:
            with psycopg.connect(
                host=str(self.folder), port=PORT, user="postgres", dbname="pgbouncer", autocommit=True
            ):
                return True
        except psycopg.OperationalError:
            return False

    def url(self, direct: str, **query: str) -> str:
        """The URL of a database, given its own, through the pooler."""
        through = sa.make_url(direct).update_query_dict({"host": str(self.folder), "port": str(PORT), **query})
        return through.render_as_string(hide_password=False)


def program() -> str:
    """PgBouncer's path; distributions put it where only root looks for programs."""
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if found is None:
        if os.environ.get("CI"):
            raise FileNotFoundError("PgBouncer is not installed")
        pytest.skip("no PgBouncer")
    return found


@contextmanager
def pooled(server: PostgresServer, mode: str = "transaction", size: int = 3, clients: int = 200) -> Iterator[PgBouncer]:
    """A running PgBouncer before this server, for this many clients."""
    program()
    made = PgBouncer(server.directory / f"pooler-{os.urandom(3).hex()}", server, mode, size, clients)
    try:
        made.start()
        yield made
    finally:
        made.stop()
        shutil.rmtree(made.folder, ignore_errors=True)
