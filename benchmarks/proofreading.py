"""Prints what becomes of whole novels and a scripted model with every fault, and how long a book takes to merge again.

PYTHONPATH=. python benchmarks/proofreading.py --characters 1000000
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fanfold.apps.proofread import proofread
from fanfold.apps.proofread.checks import first_difference
from fanfold.testing import Engine
from tests.apps.proofread.test_faulty_book import Faulty, english
from tests.apps.proofread.test_faulty_model import novel


def run(name: str, make: Callable[[int, int], str], characters: int, folder: Path) -> dict[str, Any]:
    """Format a book through the faulty model, with a sound one behind it; then reject one change and merge again."""
    count = 300
    while len(source := make(1, count)) < characters:
        count = 1 + int(1.02 * count * characters / len(source))
    path = folder / f"{name}.txt"
    path.write_text(source, encoding="utf-8")
    with Engine() as engine:
        engine.answer(Faulty(1))
        options = {"model": "openai:large", "mode": "format", "fallback": ["openai:sound"]}
        task = engine.submit(proofread, path, options=options, straight_through=True)
        began, cpu = time.perf_counter(), time.process_time()
        engine.run(attempts=100_000)
        took, worked = time.perf_counter() - began, time.process_time() - cpu
        written = engine.result(task)["file"].read_text()
        report = json.loads(engine.result(task)["report"].read_text())
        again = _merged_again(engine, task.id)
        return {
            "book": name,
            "characters": len(source),
            "chunks": report["chunks"],
            "changes": sum(report["changes"].values()),
            "calls": report["calls"],
            "cost per chunk": round(report["cost"] / report["chunks"], 4),
            "defects": report["defects"],
            "cleanings": report["cleanings"],
            "steps": report["steps"],
            "gaps": len(report["gaps"]),
            "letters and digits identical": first_difference(source, written) is None,
            "seconds": round(took, 1),
            "CPU ms per chunk": round(1_000 * worked / report["chunks"], 1),
            "merged again, CPU seconds": round(again, 2),
            "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }


def _merged_again(engine: Engine, task_id: str) -> float:
    """CPU time from a decision to the merged book."""
    result = next(iter(engine.client.results(task_id)))
    change = next(one for paragraph in result.output["paragraphs"] for one in paragraph.get("changes", ()))
    engine.client.decide(task_id, result.key, change["key"], "reject")
    cpu = time.process_time()
    engine.run()
    return time.process_time() - cpu


def main() -> None:
    """Run both books."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--characters", type=int, default=1_000_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name, make in (("chinese", novel), ("english", english)):
            found = run(name, make, arguments.characters, Path(folder))
            print("\n".join(f"{key}: {value}" for key, value in found.items()), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
