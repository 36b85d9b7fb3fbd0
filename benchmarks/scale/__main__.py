"""Prints how far one PostgreSQL goes: `python -m benchmarks.scale`, and `--quick` for a first idea in two minutes.

Without `--quick`, the real fleet has 300 workers and works on 2 million items, which takes hours on two cores.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.scale import queries, real_fleet, tables
from benchmarks.scale.costs import Costs, load, measure
from benchmarks.scale.server_work import Observer, count_statements
from fanfold.settings import load as load_settings
from fanfold.store.store import Store
from tests.poolers import pooled
from tests.servers import PostgresServer

POOL = 20
CLIENTS_PER_WORKER = 6


def main() -> None:
    """Measure, model, and run the fleet."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="24 workers and 5 000 items")
    parser.add_argument("--workers", type=int, default=300)
    parser.add_argument("--processes", type=int, default=20)
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--items", type=int, default=2_000_000)
    parser.add_argument("--seconds", type=float, default=0.0, help="how long each handler waits")
    parser.add_argument(
        "--costs", type=Path, help="read the costs from this file, or write them to it; those behind a pooler beside it"
    )
    parser.add_argument("--tasks", type=int, default=1_000_000, help="tasks beside which queries are timed, or 0")
    parser.add_argument("--no-fleet", action="store_true", help="only measure and model")
    wanted = parser.parse_args()
    if wanted.quick:
        wanted.workers, wanted.processes, wanted.items = 24, 2, 5_000
        wanted.tasks = min(wanted.tasks, 20_000)
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    costs = _costs(wanted.costs)
    print(tables.of_costs(costs))
    print(tables.of_model(costs, seconds=5.0 if wanted.quick else 20.0))
    if wanted.tasks:
        print(tables.of_queries(wanted.tasks, _queries(wanted.tasks)))
    if not wanted.no_fleet:
        beside = None if wanted.costs is None else wanted.costs.with_suffix(".pooled.json")
        pooled_costs = _costs(beside, is_pooled=True)
        print("Behind PgBouncer:\n\n" + tables.of_costs(pooled_costs))
        run = _fleet(wanted)
        print(tables.of_run(costs, pooled_costs, run, slots=wanted.slots, handler_seconds=wanted.seconds))
        print(tables.of_work(run.work))


def _costs(path: Path | None, *, is_pooled: bool = False) -> Costs:
    """Measured here, or read from the file; behind a pooler statements are not prepared."""
    if path is not None and path.exists():
        return load(path.read_text())
    with _server() as (server, folder), pooled(server, size=POOL, clients=200) as pooler:
        url = server.create_database("costs")
        with _store(pooler.url(url, pooler="transaction") if is_pooled else _plain(url), folder) as store:
            costs = measure(store, _plain(url))
    if path is not None:
        path.write_text(costs.dump())
    return costs


def _queries(many: int) -> dict[str, dict[str, tuple[float, float]]]:
    """Times of the queries on both databases."""
    with _server() as (server, folder):
        urls = {"PostgreSQL": _plain(server.create_database("queries")), "SQLite": f"sqlite:///{folder / 'queries.db'}"}
        found = {}
        for name, url in urls.items():
            with _store(url, folder / name) as store:
                queries.fill(store, many)
                found[name] = queries.timed(store)
    return found


def _fleet(wanted: argparse.Namespace) -> real_fleet.Run:
    clients = wanted.workers * CLIENTS_PER_WORKER + 100
    with _server() as (server, folder), pooled(server, size=POOL, clients=clients) as pooler:
        count_statements(server)
        url = server.create_database("fleet")
        with _store(_plain(url), folder) as store:
            return real_fleet.run(
                store, _plain(url), pooler.url(url, pooler="transaction"), folder, Observer(_plain(url), pooler),
                workers=wanted.workers,
                processes=wanted.processes, slots=wanted.slots, items=wanted.items, seconds=wanted.seconds,
            )  # fmt: skip


@contextmanager
def _server() -> Iterator[tuple[PostgresServer, Path]]:
    """A new server with its default durability, and a folder for files."""
    home = Path(tempfile.mkdtemp(prefix="scale-"))
    home.chmod(0o755)
    server = PostgresServer(home / "server")
    try:
        server.start()
        yield server, home
    finally:
        server.remove()
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def _store(url: str, folder: Path) -> Iterator[Store]:
    store = Store.open(load_settings({"FANFOLD_DATABASE": url, "FANFOLD_DATA": str(folder / "files")}, folder))
    try:
        yield store
    finally:
        store.close()


def _plain(url: str) -> str:
    """As psycopg reads it."""
    return url.replace("postgresql+psycopg://", "postgresql://")


if __name__ == "__main__":
    main()
