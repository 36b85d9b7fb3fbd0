"""Measures an extraction on a fake service: throughput, cost of the machinery per document, memory, calls for a new column.

python -m benchmarks.extract                       300 documents with 12 fields, then 100 000 short ones
python -m benchmarks.extract --quick               300, then 3 000
python -m benchmarks.extract --documents 20000     300, then 20 000

Processor time includes that of the fake service, which runs in the same process.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

import fanfold as ff
from fanfold.apps.extract import extract
from tests.ai_protocol import Call
from tests.ai_server import AIServer

FIELDS = 12
NEW = "added: integer — How many were added?"
FILLER = "This line says nothing about numbers, designs or people, as most lines of a paper do. " * 2


def paper(number: int, lines: int) -> str:
    """A paper that states every field in a line of its own."""
    stated = [
        f"The value of item {field} in this paper is {1000 + field} units exactly." for field in range(FIELDS + 1)
    ]
    return "\n".join([f"# Paper {number}", *stated, *[FILLER] * lines])


def answer(call: Call) -> str:
    """Every field with its value and its quote."""
    names = list(call.parameters["response_format"]["json_schema"]["schema"]["properties"])
    # The service keeps its calls, which would look like memory of the program that is measured.
    call.prompt, call.parameters = "", {"fields": names}
    return json.dumps({name: _said(FIELDS if name == "added" else int(name[5:])) for name in names})


def _said(field: int) -> dict[str, Any]:
    quote = f"The value of item {field} in this paper is {1000 + field} units exactly."
    return {"value": 1000 + field, "status": "found", "quote": quote, "line": field + 2}


@contextmanager
def memory() -> Iterator[list[int]]:
    """Samples of this process's resident memory, in MB."""
    samples: list[int] = []
    stopped = threading.Event()

    def look() -> None:
        while not stopped.wait(0.5):
            samples.append(psutil.Process().memory_info().rss // 1_000_000)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        stopped.set()
        thread.join()


def template(count: int) -> str:
    """Fields of numbers, which must be found in their quotes."""
    return "\n".join(f"field{number}: integer — What is the value of item {number}?" for number in range(count))


def measure(server: AIServer, folder: Path, documents: int, fields: int, lines: int) -> tuple[ff.Client, str]:
    """Run one extraction and print what it took; returns the client and the task."""
    items = (
        ff.NewItem(f"p{number}", {"name": f"{number}.txt", "text": paper(number, lines)}) for number in range(documents)
    )
    options = {"template": template(fields), "provider": "fake"}
    before = len(server.calls)
    with memory() as samples:
        begun, busy = time.perf_counter(), time.process_time()
        job = {"items": items, "options": options, "data": str(folder), "progress": False, "concurrency": 32}
        made = ff.run(extract, **job)
        seconds, busy = time.perf_counter() - begun, time.process_time() - busy
    client = ff.Client(data=str(folder), pipelines=[extract])
    quarters = [samples[len(samples) * part // 4 - 1] for part in (1, 2, 3, 4)] if len(samples) >= 4 else samples
    print(
        f"{documents} documents x {fields} fields: {seconds:.1f} s, {documents / seconds:.0f} documents/s, "
        f"{1000 * seconds / documents:.1f} ms each, {1000 * busy / documents:.1f} ms of processor time; "
        f"{len(server.calls) - before} calls; cells {made['cells']}; "
        f"memory in MB at each quarter: {', '.join(map(str, quarters))}"
    )
    return client, client.list(limit=1)[0].id


def add_column(server: AIServer, client: ff.Client, task: str, fields: int) -> None:
    """Add a column to a finished task and print what it took."""
    before, begun = len(server.calls), time.perf_counter()
    client.do(task, "columns", {"template": f"{template(fields)}\n{NEW}"})
    worker = ff.Worker([extract], store=client.store, concurrency=32)
    worker.run(until=lambda: client.get(task).finished)
    seconds = time.perf_counter() - begun
    asked = [one.parameters["fields"] for one in server.calls[before:]]
    print(
        f"a column added: {seconds:.1f} s, {len(asked)} calls, all only for it: {all(one == ['added'] for one in asked)}"
    )


def main() -> None:
    """Measure both sizes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="3 000 short documents")
    parser.add_argument("--documents", type=int, help="number of short documents [default: 100 000]")
    chosen, _ = parser.parse_known_args()
    with AIServer() as server, tempfile.TemporaryDirectory(prefix="fanfold-bench-") as folder:
        server.answer(answer)
        os.environ["FANFOLD_PROVIDERS_FAKE_BASE_URL"] = server.openai_url
        os.environ["FANFOLD_PROVIDERS_FAKE_MODEL"] = "fake-large"
        os.environ["FANFOLD_PROVIDERS_FAKE_CONCURRENCY"] = "32"
        client, task = measure(server, Path(folder) / "papers", 300, FIELDS, lines=300)
        add_column(server, client, task, FIELDS)
        client.close()
        many = chosen.documents or (3_000 if chosen.quick else 100_000)
        measure(server, Path(folder) / "many", many, 2, lines=5)[0].close()


if __name__ == "__main__":
    main()
