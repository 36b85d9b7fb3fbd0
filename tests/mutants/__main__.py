"""Tries every mutant: `python -m tests.mutants --jobs 2`; `--write docs/explanation/mutants.md` writes the table."""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import ROOT, SEEN, Mutant
from tests.mutants.prefork import Prefork

COPIED = ("fanfold", "tests", "pyproject.toml")
LONGEST_SECONDS = 600.0
FIXED = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0", "COLUMNS": "500"}
"""Seeds tell the same story in each process, and lines are not cut off."""
ALREADY_IMPORTED = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
"""Plugins of pytest that were imported before the fork keep their plain asserts."""
INTRODUCTION = """\
# Every guard is needed

Fanfold's promises rest on guards: a lease in a WHERE, a row lock, a second look after a commit, a CHECK. Each guard was
removed on its own, in a copy of the code, and a test or a seed of the simulation had to fail. This is the list, written by
`python -m tests.mutants --write docs/explanation/mutants.md`.

Where two guards back each other up, removing one may change nothing that matters; the table says so, and for the most
important of them it has a row in which both are gone. Where a guard keeps things fast rather than right, a test of that is
named.

"""


BROKEN = re.compile(r"^(ImportError|ModuleNotFoundError|SyntaxError|IndentationError|NameError|UnboundLocalError)\b")
"""A copy that does not even start proves nothing about the guard."""
SLOW = re.compile(r"^E .*(not within [\d.]+ s|Timeout|timed out)", re.MULTILINE)
"""Failures that a busy machine may cause as well."""


@dataclass(frozen=True)
class Found:
    """What a killer observed."""

    killer: str
    seen: str
    is_slow: bool = False
    """Whether it timed out, which may be due to the load."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of one mutant."""

    mutant: Mutant
    killer: str
    """What noticed it; empty if nothing did."""
    seen: str
    seconds: float


def main() -> int:
    """Try the mutants that were asked for; 1 when any of them lives."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="how many to try at a time")
    parser.add_argument("--only", action="append", default=[], help="only those whose name has this in it")
    parser.add_argument("--missing", type=Path, help="only those that have no row in this table yet")
    parser.add_argument("--list", action="store_true", help="name them and their killers")
    parser.add_argument(
        "--seek", action="store_true", help="look for a seed also where none is known yet; takes longer"
    )
    parser.add_argument(
        "--write",
        type=Path,
        help="write the table to this file; with --only or --missing, just the rows of those that were tried",
    )
    wanted = parser.parse_args()
    chosen = [one for one in MUTANTS if not wanted.only or any(part in one.guard for part in wanted.only)]
    if wanted.missing:
        chosen = [one for one in chosen if not _kept_row(wanted.missing.read_text(), one.guard)]
    some = bool(wanted.only or wanted.missing)
    if wanted.list:
        print("\n".join(f"{one.guard}: {'; '.join(one.killers(seek=wanted.seek))}" for one in chosen))
        return 0
    started = time.monotonic()
    with ExitStack() as stack:
        starters: SimpleQueue[Prefork] = SimpleQueue()
        for _ in range(wanted.jobs):
            starters.put(stack.enter_context(Prefork(os.environ | FIXED)))
        pool = stack.enter_context(ThreadPoolExecutor(wanted.jobs))
        verdicts = list(pool.map(partial(_told, starters, seek=wanted.seek), chosen))
    living = [verdict.mutant.guard for verdict in verdicts if not verdict.killer]
    print(f"{len(verdicts)} mutants in {time.monotonic() - started:.0f} s; {len(living)} live: {', '.join(living)}")
    if wanted.write:
        kept = wanted.write.read_text() if some and wanted.write.exists() else ""
        wanted.write.write_text(INTRODUCTION + table(verdicts, kept))
        known = json.loads(SEEN.read_text()) if some and SEEN.exists() else {}
        tried_now = {verdict.mutant.guard for verdict in verdicts}
        known = {guard: seed for guard, seed in known.items() if guard not in tried_now}
        SEEN.write_text(json.dumps(known | seen(verdicts), ensure_ascii=False, indent=1) + "\n")
    return 1 if living else 0


def _told(starters: SimpleQueue[Prefork], mutant: Mutant, seek: bool) -> Verdict:
    starter = starters.get()
    try:
        verdict = tried(starter, mutant, seek)
    finally:
        starters.put(starter)
    fate = f"killed by {verdict.killer}: {verdict.seen}" if verdict.killer else "LIVES"
    print(f"{verdict.seconds:6.1f} s  {mutant.guard}: {fate}", flush=True)
    return verdict


def tried(starter: Prefork, mutant: Mutant, seek: bool) -> Verdict:
    """Make a copy without the guard and let its killers try, one after the other."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fanfold-mutant-") as name:
        place = Path(name)
        for part in COPIED:
            # Compiled files come along: they are used as long as their source is untouched, which saves seconds each time.
            source, ignored = ROOT / part, shutil.ignore_patterns("node_modules")
            shutil.copytree(source, place / part, ignore=ignored) if source.is_dir() else shutil.copy2(source, place)
        mutant.apply(place)
        for killer in mutant.killers(seek=seek):
            found = attempt(starter, place, killer)
            if found is not None and (not found.is_slow or _passes_with_the_guard(starter, mutant, place, killer)):
                return Verdict(mutant, found.killer, found.seen, time.monotonic() - started)
    return Verdict(mutant, "", "", time.monotonic() - started)


def _passes_with_the_guard(starter: Prefork, mutant: Mutant, place: Path, killer: str) -> bool:
    """Whether a killer that timed out did so because of the missing guard: at the same load, but with the guard, it must pass."""
    for edit in mutant.edits:
        file = edit.place(ROOT).relative_to(ROOT)
        shutil.copy2(ROOT / file, place / file)
    found = attempt(starter, place, killer)
    mutant.apply(place)
    if found is not None:
        print(f"{killer} fails with the guard as well: {found.seen}", flush=True)
    return found is None


def attempt(starter: Prefork, place: Path, killer: str) -> Found | None:
    """Run one killer in a copy; what it has seen, or None."""
    module, words = "tests.mutants.seeds", killer.split()
    if killer.startswith("tests/"):
        module, words = "pytest", ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", *ALREADY_IMPORTED, killer]
    ended = starter.run(module, words, place, LONGEST_SECONDS)
    if ended.code is None:
        return Found(killer, f"no end within {LONGEST_SECONDS:.0f} s", is_slow=True)
    if ended.code == 0:
        return None
    found = judged(killer, ended.printed) if ended.code == 1 else None
    if found is None:
        print(f"{killer} is not evidence: {ended.printed[-2000:]}", flush=True)
    return found


def judged(killer: str, said: str) -> Found | None:
    """What a failed killer observed; None if it failed for a reason that says nothing about the guard."""
    if not killer.startswith("tests/"):
        seed = re.search(r"^seed (\d+): (.*)", said, re.MULTILINE)
        return seed and Found(f"{killer.split(maxsplit=1)[0]} seed {seed[1]}", seed[2].removeprefix("Violation: "))
    failed = re.search(r"^FAILED .*? - (.*)", said, re.MULTILINE)
    first = re.search(r"^E +(.*)", said, re.MULTILINE)
    if failed is None or BROKEN.search(failed[1]):  # An error during the setup of the test is not a failure of it.
        return None
    return Found(killer, first[1] if first else failed[1], is_slow=SLOW.search(said) is not None)


def seen(verdicts: list[Verdict]) -> dict[str, str]:
    """Which seed has seen which mutant."""
    by_seed = (verdict for verdict in verdicts if " seed " in verdict.killer)
    return {verdict.mutant.guard: verdict.killer.replace(" seed", "") for verdict in by_seed}


def table(verdicts: list[Verdict], kept: str = "") -> str:
    """The verdicts as a Markdown table; mutants that were not tried keep their row of an earlier table."""
    rows = {guard: row for guard in (one.guard for one in MUTANTS) if (row := _kept_row(kept, guard))}
    for verdict in verdicts:
        mutant = verdict.mutant
        guard = mutant.guard + (f" ({mutant.note})" if mutant.note else "")
        cells = (guard, where(mutant), _killer(verdict.killer) or "**nothing**", _short(verdict.seen))
        rows[mutant.guard] = "| " + " | ".join(cells) + " |"
    lines = ["| the guard | where | killed by | what was seen |", "|---|---|---|---|"]
    return "\n".join([*lines, *(rows[one.guard] for one in MUTANTS if one.guard in rows)]) + "\n"


def _kept_row(kept: str, guard: str) -> str:
    found = re.search(rf"^\| {re.escape(guard)}( \([^|]*\))? \|.*$", kept, re.MULTILINE)
    return found[0] if found else ""


def where(mutant: Mutant) -> str:
    """The files, and the function in each that has the guard."""
    found = []
    for edit in mutant.edits:
        path, line = edit.place(ROOT), edit.line(ROOT)
        inside = [
            node
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.lineno <= line <= (node.end_lineno or 0)
        ]
        name = f" `{max(inside, key=lambda node: node.lineno).name}`" if inside else ""
        found.append(f"{path.relative_to(ROOT).as_posix().removeprefix('fanfold/')}{name}")
    return ", ".join(dict.fromkeys(found))


def _killer(killer: str) -> str:
    return f"`{killer.removeprefix('tests/')}`" if killer.startswith("tests/") else killer


def _short(seen: str) -> str:
    plain = re.sub(r"\s+", " ", seen).replace("|", "\\|")
    plain = re.sub(r"(?<=: )[{\[].*", "…", plain)
    plain = re.sub(r"\S*/\S+/\S+", "…", plain)  # Folders of the machine where it was seen.
    return plain if len(plain) <= 110 else f"{plain[:107]}…"


if __name__ == "__main__":
    sys.exit(main())
