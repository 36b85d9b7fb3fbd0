"""Finds the first seed that notices a mutant: `python -m tests.mutants.seeds sqlite 1-60`."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.databases import Databases, PostgresDatabases, SqliteDatabases
from tests.servers import PostgresServer
from tests.simulation.run import play
from tests.simulation.world import opened

MEMORY = Path("/dev/shm")


def main(database: str, wanted: str) -> int:
    """1 as soon as a seed finds something, 0 when none does."""
    first, _, last = wanted.partition("-")
    with ExitStack() as stack:
        folder = MEMORY if MEMORY.exists() else None
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fanfold-seeds-", dir=folder)))
        place.chmod(0o755)
        url = stack.enter_context(_databases(database, place, stack).fresh())
        store = stack.enter_context(opened(url, place / "data"))
        for seed in range(int(first), int(last or first) + 1):
            if problem := play(store, seed).problem:
                print(f"seed {seed}: {problem}")
                return 1
    return 0


def _databases(database: str, place: Path, stack: ExitStack) -> Databases:
    if database == "sqlite":
        return SqliteDatabases(place)
    server = PostgresServer(place / "server", fsync=False)
    stack.callback(server.remove)
    server.start()
    databases = PostgresDatabases(server)
    databases.make_template()
    return databases


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
