"""Writes three short papers and a template to try an extraction with: ``python -m fanfold.apps.extract.sample papers``."""

from __future__ import annotations

import argparse
from pathlib import Path

FIELDS = """\
title: What is the title?
sample_size: integer — How many people took part?
design: RCT | cohort | other — Which design does the study have?
started: date — When did the study begin?
funder: string — Who paid for the study?
"""
PAPERS = {
    "sweden.md": """\
# Statins and falls in Sweden

We enrolled 1,240 people in a randomised controlled trial.
Of these, 620 were treated with 20 mg of atorvastatin. The study began on 12 March 2019.
The study was funded by the Northern Heart Fund.
""",
    "norway.md": """\
# Statins and falls in Norway

In this cohort, 3,015 people were followed for two years.
Recruitment began in May 2017. There was no external funding.
""",
    "review.md": """\
# Statins and falls: what we know

We discuss earlier work. No participants were enrolled for this article.
""",
}


def write(folder: Path) -> None:
    """Write the papers into a folder, and the template beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in PAPERS.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder.parent / "fields.yaml").write_text(FIELDS, encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write sample papers and a template.")
    parser.add_argument("folder", type=Path)
    write(parser.parse_args().folder)
