"""State shared by all routes: the store, the pipelines, the live reader and the access rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address

from fastapi import Request

from fanfold.engine.client import Client
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.server.changes.change_index import ChangeIndexes
from fanfold.server.tables.table_index import TableIndexes
from fanfold.server.threads.database_health import DatabaseHealth
from fanfold.server.threads.pictures import Pictures
from fanfold.server.watching.live import Live
from fanfold.store.store import Store

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass
class AppState:
    """Everything a route may need; one per server."""

    store: Store
    pipelines: Mapping[str, Pipeline]
    host: str = "127.0.0.1"
    allowed_hosts: tuple[str, ...] = ()
    demands_token: bool = False
    live: Live = field(init=False)
    pictures: Pictures = field(init=False)
    database_health: DatabaseHealth = field(init=False)
    tables: TableIndexes = field(init=False)
    changes: ChangeIndexes = field(init=False)

    def __post_init__(self) -> None:
        self.live = Live(self.store)
        self.pictures = Pictures(self.store.settings)
        self.database_health = DatabaseHealth(self.store)
        self.tables = TableIndexes(self.store)
        self.changes = ChangeIndexes(self.store)

    def client(self, owner: str | None = None, actor: str = "person") -> Client:
        """A client for one request; creating it is cheap."""
        return Client(store=self.store, pipelines=self.pipelines.values(), actor=actor, owner=owner, plain=True)

    def knows_host(self, name: str) -> bool:
        """Whether a request may use this host name. Rejects foreign names that resolve to this server (DNS rebinding)."""
        bare = name.rpartition(":")[0] if name.rpartition(":")[2].isdigit() and not name.endswith("]") else name
        bare = bare.lower().rstrip(".")
        if bare in LOOPBACK_NAMES or bare == self.host.lower() or bare in self.allowed_hosts:
            return True
        return not is_loopback(self.host) and _is_address(bare)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    """A plain address cannot be rebound to another one."""
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def place_of(request: Request) -> AppState:
    """The state of the server that got the request."""
    place: AppState = request.app.state.place
    return place
