"""A real redis-server for tests (Debian: `redis-server`), in a folder of its own, which a test may kill, freeze and empty."""

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import pytest
import redis

from tests.waiting import eventually


class RedisServer:
    """One server with a password. It keeps nothing on disk: after a restart it is empty."""

    password = "s3cret-of-redis"

    def __init__(self, folder: Path, program: str) -> None:
        self.folder = folder
        self.program = program
        self.port = _free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The address, with the password."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start it, empty, and wait until it answers."""
        words = ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        with (self.folder / "redis.log").open("ab") as sink:
            self.process = subprocess.Popen(
                [self.program, *words, "--requirepass", self.password], cwd=self.folder, stdout=sink, stderr=sink
            )
        eventually(self.answers, 60)

    def answers(self) -> bool:
        """Whether it answers."""
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def client(self) -> redis.Redis:
        """A client of it."""
        return redis.Redis.from_url(self.url, protocol=2)

    def flush(self) -> None:
        """Remove everything it has."""
        with self.client() as client:
            client.flushall()

    def kill(self) -> None:
        """End it at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(60)
            self.process = None

    def freeze(self) -> None:
        """Let it accept connections and answer nothing."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def fill(self) -> None:
        """Let it refuse to write because it has no memory left."""
        with self.client() as client:
            client.config_set("maxmemory", "1")

    def demote(self) -> None:
        """Let it refuse to write because it is the copy of another server."""
        with self.client() as client:
            client.config_set("replica-serve-stale-data", "yes")
            client.replicaof("127.0.0.1", "1")

    def recover(self) -> None:
        """Let it write again; it may have lost everything."""
        with self.client() as client:
            client.replicaof("NO", "ONE")
            client.config_set("maxmemory", "0")

    def thaw(self) -> None:
        """Let it answer again."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)


def make(folder: Path) -> RedisServer:
    """A started server; without the program the test is skipped, but on CI it fails."""
    program = shutil.which("redis-server")
    if program is None:
        why = "there is no redis-server; install the Debian package redis-server"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    server = RedisServer(folder, program)
    server.start()
    return server


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
