"""Writes a short text with mistakes to try proofreading with: ``python -m fanfold.apps.proofread.sample novel.txt``."""

from __future__ import annotations

import argparse
from pathlib import Path

NOVEL = """\
Chapter 1. The Lighthouse

The keeper climbed the stairs at six oclock, as he did every evning.

"Is the lamp lit?" asked Mara. She had counted 212 steps.

Nobody answerd. Far below, the sea beat against the rocks.
"""


def write(path: Path) -> None:
    """Write the text."""
    path.write_text(NOVEL, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write a sample text.")
    parser.add_argument("file", type=Path)
    write(parser.parse_args().file)
