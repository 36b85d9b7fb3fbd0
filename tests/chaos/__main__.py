"""`python -m tests.chaos` runs every scenario at full length and writes the table of the documentation."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

from fanfold.store.dialects.sqlite_parts.sqlite_module import sqlite_version
from tests.chaos.findings import REPORT, Finding

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "explanation" / "chaos.md"
HEAD = """# Chaos: what real faults do

Each scenario runs real worker processes on a real database and injects a fault. A row of the table says what is promised,
what was seen, how long it took from the end of the fault to the next finished item, and the throughput afterwards as a
share of that before (the load is paced by its handlers, so the figure does not depend on the machine). Where a load runs to
its end, the test asserts that every item took effect exactly once and was merged once, and that the events form one chain.

This file is written by `make chaos`, which runs the scenarios of `tests/chaos` at full length, one after the other. `make test`
runs shorter versions of most of them.

Measured on {machine}; Python {python}, SQLite {sqlite}, psycopg {psycopg}.
Unless stated otherwise, leases were shortened to 3 s, so times to recover are those of a lease of 3 s, not of the default 15 s.

| scenario | database | promised | seen | recovered after | throughput after |
|---|---|---|---|---|---|
"""

PAID = """
## Paid calls against needed calls

What the service was asked to answer, and is paid for, as a share of the calls that the work needs. A live call that is in
flight when its worker is killed may be paid for, and is asked again: it is reported as possibly paid. Without these, the
share must not be above 1. Questions in batches are found again at the service, so they are never paid for twice.

| scenario | database | workers killed | needed | paid | in flight at the kills | paid / needed | without those in flight |
|---|---|---|---|---|---|---|---|
"""


def main(wanted: list[str]) -> int:
    """Run the scenarios, or the named files, and write their rows; the exit code is that of the tests."""
    with tempfile.TemporaryDirectory() as folder:
        report, outcome = Path(folder) / "findings.jsonl", Path(folder) / "outcome.xml"
        environment = {**os.environ, "FANFOLD_CHAOS_FULL": "1", REPORT: str(report)}
        words = [
            "-m",
            "pytest",
            "-q",
            "-n",
            "0",
            "-p",
            "no:cacheprovider",
            "--timeout=1800",
            f"--junitxml={outcome}",
            *(wanted or ["tests/chaos"]),
        ]
        code = subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, check=False).returncode
        lines = report.read_text(encoding="utf-8").splitlines() if report.exists() else []
        failed = failures(outcome)
    findings = [Finding(**json.loads(line)) for line in lines]
    if findings:
        known = TABLE.read_text(encoding="utf-8") if wanted and TABLE.exists() else ""
        TABLE.write_text(table(findings, failed, known), encoding="utf-8")
        print(f"{len(findings)} findings written to {TABLE.relative_to(ROOT)}")
    return code


def failures(outcome: Path) -> list[str]:
    """The scenarios that did not hold: a table without them would be a lie."""
    cases = ElementTree.parse(outcome).iter("testcase") if outcome.exists() else []
    return [
        str(case.get("name")) for case in cases if any(case.find(sign) is not None for sign in ("failure", "error"))
    ]


def table(findings: list[Finding], failed: list[str], known: str = "") -> str:
    """The page. If only some scenarios were run, ``known`` is the page as it was, in which their rows are replaced."""
    missing = "\nThese did not hold in this run: " + ", ".join(f"`{name}`" for name in failed) + ".\n" if failed else ""
    title = PAID.strip().splitlines()[0]
    before, _, after = (known or head()).partition(title)
    rows = with_rows(before.rstrip(), [line(finding) for finding in findings])
    paid = after or PAID.partition(title)[2]
    counted = with_rows(paid.rstrip(), [paid_line(finding) for finding in findings if finding.paid is not None])
    return f"{rows}{missing}\n{title}{counted}"


def head() -> str:
    """The beginning of the page, about this machine."""
    return HEAD.format(
        machine=f"{platform.system()} {platform.machine()} with {os.cpu_count()} cores",
        python=platform.python_version(),
        sqlite=".".join(map(str, sqlite_version())),
        psycopg=version("psycopg"),
    )


def with_rows(section: str, lines: list[str]) -> str:
    """A section with rows in its table: those of the same scenario and database are replaced, new ones come at its end."""
    new = {name_of(row): row for row in lines}
    made = [new.pop(name_of(row), row) for row in section.split("\n")]
    end = max(at for at, row in enumerate(made) if row.startswith("|")) + 1
    return "\n".join([*made[:end], *new.values(), *made[end:]]) + "\n"


def name_of(row: str) -> tuple[str, ...]:
    """The scenario and the database of a row."""
    return tuple(row.split(" | ")[:2])


def paid_line(finding: Finding) -> str:
    """One row of the table of paid calls."""
    assert finding.paid is not None
    killed, needed, paid, in_flight = finding.paid
    shares = f"{paid / needed:.3f}", f"{(paid - in_flight) / needed:.3f}"
    cells = finding.scenario, finding.database, str(killed), str(needed), str(paid), str(in_flight), *shares
    return "| " + " | ".join(cells) + " |"


def line(finding: Finding) -> str:
    """One row of it."""
    recovered = "" if finding.recovered_seconds is None else f"{finding.recovered_seconds:.1f} s"
    throughput = "" if finding.throughput is None else f"{finding.throughput:.0%}"
    cells = (finding.scenario, finding.database, finding.promised, finding.seen, recovered, throughput)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
