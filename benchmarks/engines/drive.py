"""Runs one engine once, in its own process and with the Python it is installed for; prints one line of JSON."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict

from benchmarks.engines.contestants import named
from benchmarks.engines.engine import Engine


def engine(name: str) -> Engine:
    """The engine of a contestant; its module is imported here and not before, since only its own Python has its packages."""
    contestant = named(name)
    made: Engine = importlib.import_module(f"benchmarks.engines.peers.{contestant.module}").ENGINE(contestant)
    return made


def main(name: str, scenario: str, items: str) -> None:
    """Run it and print the times."""
    print(json.dumps(asdict(engine(name).run(scenario, int(items)))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
