"""Runs the measurements in rounds, every engine once per round, so that all share the same load of the machine."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.engines.contestants import Contestant
from benchmarks.engines.engine import Run
from benchmarks.engines.machine import Surroundings
from benchmarks.engines.processes import run_group
from benchmarks.engines.servers import Servers

RUN_SECONDS = 120.0
LAST_WORDS = 400


@dataclass
class Results:
    """The runs of each engine, by round; a round that failed has no run but a problem."""

    runs: dict[tuple[str, str], dict[int, Run]] = field(default_factory=dict)
    problems: dict[tuple[str, str], str] = field(default_factory=dict)
    rounds: int = 0

    def of(self, name: str, scenario: str) -> dict[int, Run]:
        """What was measured of one engine in one scenario."""
        return self.runs.get((name, scenario), {})


@dataclass(frozen=True)
class Field:
    """Where the engines meet: the servers, the Python of the peers, and how much they have to do."""

    servers: Servers
    peers_python: Path
    surroundings: Surroundings
    scale: float = 1.0
    items: int | None = None

    def python(self, contestant: Contestant) -> str:
        """Fanfold and the raw statements run in the project's own environment."""
        return str(self.peers_python) if contestant.kind == "peer" else sys.executable


def play(
    field_: Field, contestants: Sequence[Contestant], rounds: int, until: float, tell: Callable[[str], None]
) -> Results:
    """All rounds; none is begun that would not end before ``until`` if it takes as long as the longest before it."""
    results, longest = Results(), 0.0
    for number in range(1, rounds + 1):
        began = time.monotonic()
        if number > 1 and began + longest > until:
            tell(f"No round {number}: the time is over.")
            break
        for contestant, scenario in matches(contestants):
            tell(
                f"round {number}: {contestant.name}, {scenario}: {meet(field_, contestant, scenario, number, results)}"
            )
        results.rounds = number
        longest = max(longest, time.monotonic() - began)
    return results


def matches(contestants: Sequence[Contestant]) -> Iterator[tuple[Contestant, str]]:
    """What a round consists of."""
    for contestant in contestants:
        for scenario in contestant.scenarios:
            yield contestant, scenario


def meet(field_: Field, contestant: Contestant, scenario: str, number: int, results: Results) -> str:
    """Run one engine once, keep what it took, and say it in a few words."""
    key, items = (contestant.name, scenario), contestant.size(scenario, field_.scale, field_.items)
    mood = field_.surroundings.calm()
    answer = run_once(field_, contestant, scenario, items)
    if isinstance(answer, str):
        results.problems[key] = answer
        return f"failed: {answer}"
    results.runs.setdefault(key, {})[number] = replace(answer, **asdict(mood))
    seconds = answer.process_seconds if scenario == "drain" else answer.fanned_seconds
    return f"{items / seconds:,.0f} items/s" if seconds else "nothing measured"


def run_once(field_: Field, contestant: Contestant, scenario: str, items: int) -> Run | str:
    """What one process of its own reports, or why it could not."""
    folder = Path(tempfile.mkdtemp(dir=field_.servers.folder))
    (folder / "tally").mkdir()
    environment = field_.servers.environment | {"ENGINES_FOLDER": str(folder), "ENGINES_TALLY": str(folder / "tally")}
    command = [field_.python(contestant), "-m", "benchmarks.engines.drive", contestant.name, scenario, str(items)]
    try:
        ended = run_group(command, environment, RUN_SECONDS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if ended.returncode != 0:
        return " ".join(ended.stderr.strip().split("\n")[-1:])[-LAST_WORDS:] or f"ended with {ended.returncode}"
    found: dict[str, Any] = json.loads(ended.stdout.strip().splitlines()[-1])
    return Run(**found)
