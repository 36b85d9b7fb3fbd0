"""Runs `fanfold serve`: binds the socket, starts workers, serves until told to stop, then shuts both down."""

from __future__ import annotations

import signal
import socket
import threading
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click
import uvicorn

from fanfold.cli.processes import Supervisor, worker_command
from fanfold.engine import tokens
from fanfold.engine.discovery import load_all
from fanfold.engine.worker.claiming.slots import slots_for
from fanfold.errors import BadInput
from fanfold.running.terminal.invocation import Invocation
from fanfold.server.app import make_app
from fanfold.server.app_state import AppState, is_loopback
from fanfold.server.requests.listening import configured
from fanfold.settings import Settings

BUSY_SECONDS = 15.0
"""Time to wait for SQLite's write lock before answering 503, because a client is waiting."""
DEFAULT_CONCURRENCY = 64
"""Default slots per worker. Items mostly wait for models or for each other, not for the CPU, so dozens can share it."""


class Server(uvicorn.Server):
    """uvicorn's server without its signal handling, which raises the signals again after shutdown."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signal handling to the caller."""
        yield


class Serving:
    """One run of `fanfold serve`."""

    def __init__(
        self, invocation: Invocation, settings: Settings, targets: Sequence[str], *, demand_token: bool = False
    ) -> None:
        self.invocation = invocation
        self.settings = settings
        self.targets = targets
        self.supervisor: Supervisor | None = None
        names = tuple(name.strip().lower() for name in settings.allowed_hosts.split(",") if name.strip())
        # A server with a host name is reached by others through a proxy.
        demands = demand_token or not is_loopback(settings.host) or bool(names)
        store = invocation.store(settings, busy_seconds=BUSY_SECONDS)
        if demands and not tokens.every(store):
            raise BadInput(
                f"A server on {', '.join((settings.host, *names))} requires tokens, and none exists yet. Create one first: "
                "fanfold tokens create NAME --role admin",
                code="no_tokens",
            )
        self.place = AppState(store, load_all(list(targets)), settings.host, names, demands)

    def default_concurrency(self) -> int:
        """Slots per worker by default: 64, or more if the stages ask for more."""
        stages = [(one, stage) for one in self.place.pipelines.values() for stage in one.all_stages()]
        return max(DEFAULT_CONCURRENCY, slots_for(stages))

    def add_workers(self, count: int, concurrency: int) -> None:
        """Run ``count`` worker processes beside the server and replace those that die."""
        said = worker_command(self.invocation, self.targets, (), concurrency)
        self.supervisor = Supervisor(count, said, "worker")

    def run(self, *, browse: bool = False) -> None:
        """Serve until SIGTERM or SIGINT."""
        listening = bind(self.settings.host, self.settings.port)
        address = self.address(listening)
        self.server = Server(configured(make_app(self.place)))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: self.stop())
        working = threading.Thread(target=self._work, name="supervisor", daemon=True)
        working.start()
        click.echo(f"Fanfold is running at {address}   (Ctrl-C to stop)")
        if self.place.demands_token:
            click.echo("A token is required. To create one: fanfold tokens create NAME")
        if browse:
            threading.Timer(0.5, webbrowser.open, (address,)).start()
        try:
            self.server.run(sockets=[listening])
        finally:
            if self.supervisor is not None and not self.server.should_exit:
                self.supervisor.stop()
            working.join()

    def stop(self) -> None:
        """Stop gracefully on the first call, immediately on the second. Open streams are closed: they would block shutdown."""
        # In a thread: this may be a signal handler that interrupted the holder of the lock.
        threading.Thread(target=self.place.live.close, name="closing").start()
        self.server.force_exit = self.server.should_exit
        self.server.should_exit = True
        if self.supervisor is not None:
            self.supervisor.stop()

    def address(self, listening: socket.socket) -> str:
        """URL to open in a browser."""
        host, port = listening.getsockname()[:2]
        shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
        return f"http://{shown}:{port}/"

    def _work(self) -> None:
        if self.supervisor is not None:
            self.supervisor.keep()


def bind(host: str, port: int) -> socket.socket:
    """Bind a listening socket, or explain why it cannot be bound."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        way = f"Another program may be using it: try --port {port + 1}, or --port 0 for any free port."
        raise BadInput(f"Cannot listen on {host}:{port}: {error.strerror}. {way}", code="address") from None
    listening.listen(512)
    return listening
