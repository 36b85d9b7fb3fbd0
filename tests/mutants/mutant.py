"""A mutant: the code without one guard, and the test or seed that must notice."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SEEN = Path(__file__).with_name("seen.json")
"""Which seed noticed which mutant; rewritten with the table, because seeds change whenever the simulation changes."""
RANGES = {"sqlite": "1-30", "postgresql": "1-25"}
"""The seeds that are played when the known one sees nothing."""


TOKEN = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Edit:
    """One guard in the code, and what stands there when it is gone.

    It is found by its words, however its lines are broken; in the file that is named, or, when the code was moved, wherever
    it stands in the package. So neither a new layout nor a new file name breaks the catalogue.
    """

    file: str
    text: str
    instead: str
    count: int = 1

    def place(self, root: Path) -> Path:
        """The file that has the guard."""
        named = root / self.file
        if named.exists() and self._times(named):
            return named
        others = [path for path in sorted((root / "fanfold").rglob("*.py")) if self._times(path)]
        if len(others) != 1:
            where = ", ".join(path.relative_to(root).as_posix() for path in others) or "nowhere else"
            raise ValueError(f"{self.file} does not have it, and {where} does: {self.text}")
        return others[0]

    def applied(self, root: Path) -> str:
        """The file's text without the guard."""
        source = self.place(root).read_text()
        if self.text in source:
            found, changed = source.count(self.text), source.replace(self.text, self.instead)
        else:
            changed, found = self._pattern.subn(lambda _found: self.instead.strip(), source)
        if found != self.count:
            raise ValueError(f"{self.file} has it {found} times, not {self.count}: {self.text}")
        return changed

    def line(self, root: Path) -> int:
        """The line of its file at which the guard begins."""
        source = self.place(root).read_text()
        found = self._pattern.search(source)
        start = source.index(self.text) if self.text in source else found.start() if found else 0
        return source[:start].count("\n") + 1

    def _times(self, path: Path) -> int:
        source = path.read_text()
        return source.count(self.text) or len(self._pattern.findall(source))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """The words of the guard, with any white space between them and an optional comma before a closing bracket."""
        words = [rf",?\s*{re.escape(word)}" if word in ")]}" else re.escape(word) for word in TOKEN.findall(self.text)]
        ends = [r"\b" if re.match(r"\w", word) else "" for word in (self.text.strip()[0], self.text.strip()[-1])]
        return re.compile(ends[0] + r"\s*".join(words) + ends[1])


@dataclass(frozen=True)
class Mutant:
    """A removed guard, and who must notice it: seeds on a database, and a test."""

    guard: str
    edits: tuple[Edit, ...]
    database: str
    """Where the simulation can notice it; empty if it cannot."""
    test: str
    note: str

    def apply(self, root: Path) -> None:
        """Take the guard out of a copy of the code."""
        for edit in self.edits:
            edit.place(root).write_text(edit.applied(root))

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
