"""Collects every mutant: the `MUTANTS` of each `guards_*.py` beside this module."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from tests.mutants.mutant import Mutant


def collected() -> tuple[Mutant, ...]:
    """The mutants of all files, by the name of the file."""
    files = sorted(Path(__file__).parent.glob("guards_*.py"))
    return tuple(one for file in files for one in import_module(f"tests.mutants.{file.stem}").MUTANTS)


MUTANTS = collected()
