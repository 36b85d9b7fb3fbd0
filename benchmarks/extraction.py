"""Prints what the extraction makes of generated papers and of a scripted model that answers in every way.

PYTHONPATH=. python benchmarks/extraction.py --seeds 3
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

from tests.apps.extract.papers import FIELDS, is_right_box, make_papers
from tests.apps.extract.test_evaluation import RIGHT, Model, extracted


def main() -> None:
    """Run the pipeline for each seed, and print the states by kind of answer, and the pages and boxes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--papers", type=int, default=40)
    arguments = parser.parse_args()
    states: dict[str, Counter[str]] = defaultdict(Counter)
    pages = boxes = right = 0
    start = time.perf_counter()
    for seed in range(16, 16 + arguments.seeds):
        with tempfile.TemporaryDirectory() as folder:
            papers = make_papers(Path(folder), arguments.papers, seed)
            model = Model(papers, seed)
            for paper, row in zip(papers, extracted(papers, model), strict=True):
                for name in FIELDS:
                    cell, kind = row["fields"][name], model.script[paper.name][name]
                    is_wrong = kind in RIGHT and cell["value"] != paper.values[name]
                    states[kind]["WRONG VALUE" if is_wrong else cell["state"]] += 1
                    if kind in RIGHT and cell["evidence"]:
                        spans, evidence = paper.places[name], cell["evidence"][0]
                        right += 1
                        pages += evidence["page"] == spans[0].page
                        boxes += len(evidence["boxes"]) == len(spans) and all(
                            map(is_right_box, evidence["boxes"], spans)
                        )
    names = sorted({state for counted in states.values() for state in counted})
    print(f"| answer | {' | '.join(names)} |\n|---|{'---:|' * len(names)}")
    for kind, counted in states.items():
        print(f"| {kind} | {' | '.join(str(counted[name]) for name in names)} |")
    print(f"\npage right for {pages} of {right}, box right for {boxes} of {right} ({boxes / right:.1%})")
    print(f"{arguments.seeds * arguments.papers} papers in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
