"""Prints the results as Markdown tables, and writes them as data for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.engines import ratios
from benchmarks.engines.contestants import BATCHES, RAW, Contestant
from benchmarks.engines.installation import Figure
from benchmarks.engines.ratios import Spread
from benchmarks.engines.rounds import Results

DRAIN = """\
Items are created while no worker runs; then workers start, and the time is taken from the first handler's start until the store
has all results. For Fanfold it ends later: when its merge has read all results. *Fanfold ahead*: the faster of one and two
processes of Fanfold on the same store (PostgreSQL for engines on Redis), divided by this engine, within each round. *Of raw*: the
share of what the bare statements reach with batches of 100, as many processes and full durability, within each round."""
FANNED = """\
Workers are up and warm; the time is taken from the call that fans out until the engine's own fan-in has seen all results."""

QUICK = """\
**A quick run.** One round with a tenth of the items: of an engine that starts slowly, the start is a large part of the figure.
It says whether everything works, not who is faster."""


@dataclass
class Report:
    """All that was measured, and on what."""

    contestants: Sequence[Contestant]
    results: Results
    figures: list[Figure] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    machine: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    command: str = ""
    quick: bool = False

    def markdown(self) -> str:
        """The whole page."""
        parts = [
            QUICK if self.quick else "",
            self.engines(),
            self.fan_in(),
            self.limits(),
            self.measures(),
            self.troubles(),
            self.conditions(),
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def engines(self) -> str:
        """Drains of Fanfold and its peers."""
        rows = [
            self._engine(one) for one in self.contestants if one.kind != "raw" and self.results.of(one.name, "drain")
        ]
        head = ["engine", "store", "items", "created/s", "processed/s (spread)", "Fanfold ahead", "of raw", "settings"]
        return section("Items per second", DRAIN, table(head, rows))

    def _engine(self, one: Contestant) -> list[str]:
        runs = self.results.of(one.name, "drain")
        ahead = ratios.fanfold_ahead(self.results, one) if one.kind == "peer" else None
        return [
            bold(one),
            one.store,
            f"{next(iter(runs.values())).items:,}",
            middle(ratios.creation(self.results, one.name)),
            spreading(ratios.spread(list(ratios.rates(self.results, one.name).values()))),
            times(ahead),
            percent(ratios.share_of_raw(self.results, one)),
            one.settings,
        ]

    def fan_in(self) -> str:
        """Fan-out and fan-in with warm workers."""
        fanned = [one for one in self.contestants if self.results.of(one.name, "fanned")]
        head = ["engine", "items", "seconds (spread)", "items/s", "Fanfold ahead", "fan-in by"]
        return section("Fanned out and in again", FANNED, table(head, [self._fanned(one) for one in fanned]))

    def _fanned(self, one: Contestant) -> list[str]:
        runs = self.results.of(one.name, "fanned")
        seconds = ratios.spread([run.fanned_seconds for run in runs.values() if run.fanned_seconds])
        ahead = ratios.fanfold_ahead(self.results, one, "fanned") if one.kind == "peer" else None
        return [
            bold(one),
            f"{next(iter(runs.values())).items:,}",
            spreading(seconds, 2),
            middle(ratios.spread(list(ratios.rates(self.results, one.name, "fanned").values()))),
            times(ahead),
            one.fan_in,
        ]

    def limits(self) -> str:
        """The raw statements, a row per store and number of processes, a column per batch."""
        found: dict[str, dict[str, str]] = {}
        for one in RAW:
            rates = ratios.spread(list(ratios.rates(self.results, one.name).values()))
            if rates is not None:
                batch = one.options["batch"]
                found.setdefault(one.name.replace(f", k={batch}", ""), {})[batch] = spreading(rates)
        batches = [str(batch) for batch in BATCHES]
        rows = [[name, *(cells.get(batch, "") for batch in batches)] for name, cells in found.items()]
        head = ["claim + finish, items/s (spread)", *(f"k={batch}" for batch in batches)]
        return section("Raw statements", "A claim of k items and their finish, each its own commit.", table(head, rows))

    def measures(self) -> str:
        """Fanfold alone."""
        found: dict[str, dict[str, str]] = {}
        for figure in self.figures:
            text = f"{significant(figure.value)} {figure.unit}"
            found.setdefault(figure.what, {})[figure.store] = text
        rows = [
            [what, cells.get("PostgreSQL", cells.get("", "")), cells.get("SQLite", "")] for what, cells in found.items()
        ]
        return section("Fanfold alone", "", table(["measure", "PostgreSQL", "SQLite"], rows))

    def troubles(self) -> str:
        """What could not be measured."""
        failed = {f"{name}, {scenario}": why for (name, scenario), why in self.results.problems.items()}
        lines = [f"- {what}: {why}" for what, why in (failed | self.problems).items()]
        return section("Not measured", "", "\n".join(lines))

    def conditions(self) -> str:
        """Machine, software, and what was typed."""
        known = {"command": f"`{self.command}`", "rounds": str(self.results.rounds)} | self.machine | self.mood()
        software = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        return section(
            "Conditions", "", "\n".join(f"- {what}: {how}" for what, how in (known | {"software": software}).items())
        )

    def mood(self) -> dict[str, str]:
        """How the machine was before each run: ratios of rounds in which it changed its mood say less."""
        runs = [run for found in self.results.runs.values() for run in found.values()]
        disk = ratios.spread([run.fdatasync_seconds * 1e3 for run in runs if run.fdatasync_seconds])
        others = ratios.spread([run.others_share * 100 for run in runs if run.others_share is not None])
        if disk is None or others is None:
            return {}
        return {
            "fdatasync before each run": f"{spreading(disk, 2)} ms",
            "others' share of the processor before each run": f"{spreading(others)} %",
        }

    def data(self) -> dict[str, Any]:
        """The same for programs, every round by itself."""
        runs = [
            {"engine": name, "scenario": scenario, "round": number, **asdict(run)}
            for (name, scenario), found in self.results.runs.items()
            for number, run in found.items()
        ]
        failed = [
            {"engine": name, "scenario": scenario, "why": why}
            for (name, scenario), why in self.results.problems.items()
        ]
        return {
            "command": self.command,
            "machine": self.machine,
            "versions": self.versions,
            "contestants": [asdict(one) for one in self.contestants],
            "runs": runs,
            "failed": failed,
            "figures": [asdict(figure) for figure in self.figures],
            "problems": self.problems,
        }


def section(title: str, text: str, body: str) -> str:
    """A heading, a few words and what belongs to it; nothing without a body."""
    return "\n\n".join(part for part in (f"## {title}", text, body) if part) if body else ""


def table(head: list[str], rows: list[list[str]]) -> str:
    """Markdown; nothing without rows."""
    return "\n".join(lines(head, rows)) if rows else ""


def lines(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    """The lines of a table."""
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def bold(one: Contestant) -> str:
    """Fanfold's rows are to be found at once."""
    return f"**{one.name}**" if one.kind == "fanfold" else one.name


def middle(found: Spread | None) -> str:
    """The median."""
    return "" if found is None else f"{found.median:,.0f}"


def spreading(found: Spread | None, digits: int = 0) -> str:
    """The median, and from where to where."""
    if found is None:
        return ""
    return f"{found.median:,.{digits}f} ({found.least:,.{digits}f} – {found.most:,.{digits}f})"


def times(found: Spread | None) -> str:
    """A ratio."""
    return "" if found is None else f"{found.median:.1f} ×"


def percent(found: Spread | None) -> str:
    """A share."""
    return "" if found is None else f"{found.median:.0%}"


def significant(value: float) -> str:
    """As many digits as say something."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
