"""The command line of the benchmarks: runs what was asked for and prints Markdown; progress goes to stderr."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.engines import environment, machine
from benchmarks.engines.contestants import PEERS, Contestant, chosen, for_a_first_idea
from benchmarks.engines.measures.catalogue import MEASURES, QUICK, take
from benchmarks.engines.plot import draw
from benchmarks.engines.report import Report
from benchmarks.engines.rounds import Field, Results, play
from benchmarks.engines.servers import Servers, durability, servers

MINUTES, QUICK_MINUTES, LONG_MINUTES = 15.0, 2.0, 90.0
ROUNDS, QUICK_ROUNDS = 3, 1
QUICK_SCALE = 0.1
SHARE_OF_ROUNDS = 0.8
"""Share of the time for the rounds; the rest is for the measures of Fanfold alone."""
PATIENCE_SHARE = 0.05
"""Largest share of the time spent waiting for a machine that others keep busy."""
OWN_PACKAGES = ["fanfold", "psycopg", "SQLAlchemy"]


def main() -> None:
    """Measure what was asked for and write it where it was asked to."""
    wanted = arguments().parse_args()
    contestants, measures = selection(wanted)
    own_terms()
    began = time.monotonic()
    peers = any(one.kind == "peer" for one in contestants)
    python = environment.prepare(wanted.environment) if peers else Path(sys.executable)
    redis = environment.redis_program(wanted.environment) if peers else None
    with servers(redis, wanted.folder) as running:
        report = Report(contestants, Results(), machine=machine.describe(running.folder), command=typed(wanted))
        report.quick = wanted.quick
        report.machine["durability"] = durability(running.postgresql)
        report.versions = versions(running, python, peers)
        surroundings = machine.Surroundings(running.folder, PATIENCE_SHARE * minutes(wanted) * 60)
        until = began + minutes(wanted) * 60
        share = SHARE_OF_ROUNDS if measures else 1.0
        field = Field(running, python, surroundings, QUICK_SCALE if wanted.quick else 1.0, wanted.items)
        report.results = play(field, contestants, rounds(wanted), began + (until - began) * share, tell)
        report.figures, report.problems = take(running, measures, field.scale, wanted.long, until, tell)
    write(report, wanted)
    tell(f"It took {(time.monotonic() - began) / 60:.1f} minutes.")


def arguments() -> argparse.ArgumentParser:
    """What can be asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round with a tenth of the items: a first idea")
    parser.add_argument("--long", action="store_true", help="also a million items in one task, and 5 million finished")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="engines whose name contains one of these words")
    parser.add_argument("--measure", nargs="+", metavar="NAME", choices=MEASURES, help=f"of: {', '.join(MEASURES)}")
    parser.add_argument("--rounds", type=int, metavar="N", help=f"rounds of all engines ({ROUNDS})")
    parser.add_argument("--items", type=int, metavar="N", help="most items for each engine")
    parser.add_argument("--minutes", type=float, help=f"start no measurement after this many minutes ({MINUTES:g})")
    parser.add_argument("--write", type=Path, metavar="FILE", help="the Markdown, also into a file")
    parser.add_argument("--json", type=Path, metavar="FILE", help="every run, for programs")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="a drawing, as SVG")
    parser.add_argument("--folder", type=Path, help="where the servers write; it should be on a real disk")
    parser.add_argument("--environment", type=Path, default=environment.FOLDER, help="where the peers are installed")
    return parser


def selection(wanted: argparse.Namespace) -> tuple[Sequence[Contestant], Sequence[str]]:
    """Engines and measures: all of both, unless one of them is narrowed; then only what was named."""
    if wanted.only is None and wanted.measure is None:
        return (for_a_first_idea(), QUICK) if wanted.quick else (chosen([]), list(MEASURES))
    return (chosen(wanted.only) if wanted.only else ()), (wanted.measure or [])


def own_terms() -> None:
    """Nobody's settings of Fanfold take part; and who is told to end, ends its servers first."""
    for name in [name for name in os.environ if name.startswith("FANFOLD_")]:
        del os.environ[name]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Told to end."))


def rounds(wanted: argparse.Namespace) -> int:
    """How many."""
    return int(wanted.rounds or (QUICK_ROUNDS if wanted.quick else ROUNDS))


def minutes(wanted: argparse.Namespace) -> float:
    """The most minutes that the run may take."""
    return float(wanted.minutes or (QUICK_MINUTES if wanted.quick else LONG_MINUTES if wanted.long else MINUTES))


def versions(running: Servers, python: Path, peers: bool) -> dict[str, str]:
    """The versions of everything that takes part."""
    found = environment.versions(sys.executable, OWN_PACKAGES) | running.versions | machine.sqlite_versions()
    if peers:
        found |= environment.versions(python, sorted({one.package for one in PEERS} | {"asyncpg", "uvloop"}))
        found["redis-py"] = environment.versions(python, ["redis"])["redis"]
    return found


def write(report: Report, wanted: argparse.Namespace) -> None:
    """To the standard output and into the files that were named."""
    text = report.markdown()
    print(text, end="")
    if wanted.write:
        wanted.write.write_text(text)
    if wanted.json:
        wanted.json.write_text(json.dumps(report.data(), indent=1) + "\n")
    if wanted.plot:
        wanted.plot.write_text(draw(report))


def typed(wanted: argparse.Namespace) -> str:
    """The command, without what says only where files go."""
    words = ["python", "-m", "benchmarks.engines"]
    for name in ("quick", "long", "only", "measure", "rounds", "items", "minutes"):
        given = getattr(wanted, name)
        if given:
            values = given if isinstance(given, list) else [] if given is True else [str(given)]
            words += [f"--{name}", *values]
    return shlex.join(words)


def tell(what: str) -> None:
    """Say on the way how it goes."""
    print(what, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
