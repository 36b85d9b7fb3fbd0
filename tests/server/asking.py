"""Sends requests to the server for tests: inside the process, through the whole app and its guard, or over a socket."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import uvicorn
from fastapi import FastAPI
from fastapi.testclient import TestClient
from starlette.routing import BaseRoute

from fanfold.engine import tokens
from fanfold.server.app import make_app
from fanfold.server.app_state import AppState
from fanfold.server.requests.listening import configured
from tests.installation import Installation
from tests.waiting import eventually

BASE = "http://127.0.0.1:8700"


KNOWN_ROUTES: list[BaseRoute] = []
"""Those of the first app of this process."""


def app_of(place: AppState) -> FastAPI:
    """The app for an installation. FastAPI's work on included routes, up to 0.4 s for each app, is done only once."""
    app = make_app(place)
    if not KNOWN_ROUTES:
        KNOWN_ROUTES.extend(app.router.routes)
    pairs = zip(app.router.routes, KNOWN_ROUTES, strict=True)
    app.router.routes[:] = [known if hasattr(known, "original_router") else own for own, known in pairs]
    return app


def token(installation: Installation, name: str, role: str = "member", owner: str | None = None) -> str:
    """The secret of a new token."""
    return tokens.create(installation.store, name, role=role, owner=owner).secret


class Asker:
    """A server for one installation, called without a socket; ``with_token`` authenticates."""

    def __init__(self, installation: Installation, **rules: Any) -> None:
        self.place = AppState(installation.store, {one.name: one for one in installation.pipelines}, **rules)
        self.app = app_of(self.place)
        self.client = TestClient(self.app, base_url=BASE, follow_redirects=False, raise_server_exceptions=True)

    def ask(self, method: str, path: str, **rest: Any) -> httpx2.Response:
        """One request to the API; the path is relative to its prefix, unless it begins with `//`."""
        address = path[1:] if path.startswith("//") else f"/api/v1{path}"
        return self.client.request(method, address, **rest)

    def get(self, path: str, **rest: Any) -> Any:
        """The JSON of a successful response."""
        answer = self.ask("GET", path, **rest)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, value: Any = None, *, status: int = 200, **rest: Any) -> Any:
        """The JSON of a response with this status."""
        answer = self.ask("POST", path, json=value, **rest)
        assert answer.status_code == status, answer.text
        return answer.json()


@contextmanager
def served(installation: Installation, *, port: int = 0, **rules: Any) -> Iterator[tuple[str, AppState]]:
    """A server on a real socket, with its address."""
    place = AppState(installation.store, {one.name: one for one in installation.pipelines}, **rules)
    listening = socket.create_server(("127.0.0.1", port))
    server = uvicorn.Server(configured(app_of(place), timeout_graceful_shutdown=2))
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    eventually(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", place
    finally:
        place.live.close()
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()
