"""The route by which services wake an item needs no token but its URL."""

from fanfold.engine import tokens
from fanfold.engine.tasks.steering import wake
from tests.installation import Installation
from tests.server.asking import Asker


def test_the_route_needs_only_the_url(sqlite_installation: Installation) -> None:
    tokens.create(sqlite_installation.store, "admin", role="admin")
    server = Asker(sqlite_installation)
    assert server.ask("POST", "/wake/nothing", content=b"anything").status_code == 404
    sqlite_installation.sql(
        "INSERT INTO externals (item, name, task, lease, key, state, wake, intended_at, updated_at)"
        " VALUES (1, 'job', 1, 1, 'k', 'started', :wake, 0, 0)",
        wake=wake.hashed("secret"),
    )
    assert server.ask("POST", "/wake/secret", content=b"{").status_code == 204
