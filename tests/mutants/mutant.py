"""What a mutant is: the code without one guard, and who must notice."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SEEN = Path(__file__).with_name("seen.json")
"""Which seed has seen which mutant; written anew with the table, as a seed is another story whenever the simulation changes."""
RANGES = {"sqlite": "1-30", "postgresql": "1-25"}
"""The seeds that are played when the known one sees nothing."""


@dataclass(frozen=True)
class Edit:
    """One place in the code, and what stands there when the guard is gone."""

    file: str
    text: str
    instead: str
    count: int = 1

    def applied(self, root: Path) -> str:
        """The file's text without the guard."""
        source = (root / self.file).read_text()
        found = source.count(self.text)
        if found != self.count:
            raise ValueError(f"{self.file} has it {found} times, not {self.count}: {self.text}")
        return source.replace(self.text, self.instead)


@dataclass(frozen=True)
class Mutant:
    """A guard that is taken out, and who is asked whether it is missed: seeds on a database, and a test."""

    guard: str
    edits: tuple[Edit, ...]
    database: str
    """Where the simulation can see it; empty when it cannot."""
    test: str
    note: str

    def apply(self, root: Path) -> None:
        """Take the guard out of a copy of the code."""
        for edit in self.edits:
            (root / edit.file).write_text(edit.applied(root))

    def killers(self, *, seek: bool = False) -> tuple[str, ...]:
        """Who is asked, in this order: the seed that is known to see it, a test, and more seeds where there is no test.

        With ``seek``, more seeds are asked before the test, to find out what the simulation sees by itself.
        """
        known = json.loads(SEEN.read_text()).get(self.guard) if SEEN.exists() else None
        test = self.test and f"tests/{self.test}"
        seeds = self.database and f"{self.database} {RANGES[self.database]}"
        return tuple(filter(None, (known, seeds, test) if seek else (known, test, "" if test else seeds)))


def mutant(guard: str, *edits: Edit, by: str = "", test: str = "", note: str = "") -> Mutant:
    """One entry of the catalogue."""
    return Mutant(guard, edits, by, test, note)
