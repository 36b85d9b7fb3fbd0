"""Compares `fanfold convert` with other converters for speed, memory and completeness in one run; prints Markdown."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path

import pdf_libraries
from pdf_libraries import LIBRARIES
from pdf_quality import CHECKS, check_rows, loss_rows, score_rows
from scoring import Scores

MEGABYTE = 1024**2
ONE_CORE = {0}
# A converter that needs a second for three pages is timed on this many pages of a long file, evenly spread.
SAMPLED_PAGES = 20
SECONDS_AT_MOST = 240
LOOK_SECONDS = 0.05


SAMPLED = {"pymupdf4llm", "pymupdf4llm, no layout model"}
FANFOLD = {"fanfold, 1 job on one core": 1, "fanfold, 2 jobs": 2}


@dataclass(frozen=True)
class Document:
    """A PDF of the corpus."""

    path: Path
    pages: int
    has_text: bool

    @property
    def truth(self) -> Path | None:
        """What its conversion should contain, if somebody has written it down."""
        return next(iter(sorted(self.path.parent.glob(f"{self.path.stem}.[go][tu]*"))), None)

    def sampled(self, engine: str) -> list[int] | None:
        """The pages this engine is timed on; all, if not given."""
        if engine not in SAMPLED or self.pages <= SAMPLED_PAGES:
            return None
        return [number * self.pages // SAMPLED_PAGES for number in range(SAMPLED_PAGES)]

    def timed_pages(self, engine: str) -> int:
        """How many pages this engine is timed on."""
        return len(self.sampled(engine) or range(self.pages))


@dataclass
class Run:
    """What one process took."""

    seconds: float | None = None
    largest_bytes: int = 0
    together_bytes: int = 0
    problem: str = ""


@dataclass
class Measured:
    """All runs of one engine on one set of documents."""

    pages: int = 0
    runs: list[Run] = field(default_factory=list)

    def rates(self, without_seconds: float = 0.0) -> list[float]:
        """Pages per second of each run."""
        return [self.pages / (run.seconds - without_seconds) for run in self.runs if run.seconds is not None]


def corpus(folder: Path) -> list[Document]:
    """The PDFs that open without a password, and whether they have a text layer."""
    import pypdfium2

    found = []
    for path in sorted(folder.glob("*.pdf")):
        try:
            with pypdfium2.PdfDocument(path) as document:
                has_text = any(page.get_textpage().count_chars() for page in document)
                found.append(Document(path, len(document), has_text))
        except pypdfium2.PdfiumError as error:
            print(f"{path.name} left out: {error}", file=sys.stderr)
    return found


def observed(command: list[str], one_core: bool, environment: dict[str, str] | None = None) -> Run:
    """Run a command, watch the memory of it and its children, and take the time from outside."""
    cores = os.sched_getaffinity(0)
    with tempfile.TemporaryFile("w+") as errors:
        os.sched_setaffinity(0, ONE_CORE if one_core else cores)  # the new process inherits it
        begin = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
        os.sched_setaffinity(0, cores - ONE_CORE or cores)
        run = watched(process, begin)
        os.sched_setaffinity(0, cores)
        if process.returncode:
            errors.seek(0)
            run.seconds, run.problem = None, run.problem or (errors.read().strip().splitlines() or ["failed"])[-1]
    return run


def watched(process: subprocess.Popen[bytes], begin: float) -> Run:
    """Wait for the end of a process, or end it after the longest time."""
    import psutil

    run, root = Run(), psutil.Process(process.pid)
    while process.poll() is None:
        try:
            sizes = [one.memory_info().rss for one in (root, *root.children(recursive=True))]
            run.largest_bytes = max(run.largest_bytes, *sizes)
            run.together_bytes = max(run.together_bytes, sum(sizes))
            process.wait(LOOK_SECONDS)
        except (psutil.Error, subprocess.TimeoutExpired):
            pass
        if time.perf_counter() - begin > SECONDS_AT_MOST:
            run.problem = f"not within {SECONDS_AT_MOST} s"
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    run.seconds = time.perf_counter() - begin
    return run


def run_library(engine: str, documents: list[Document], out: Path) -> Run:
    """One process of a library on one core; its time is the one inside, without imports and warm-up."""
    out.mkdir(parents=True, exist_ok=True)
    jobs = json.dumps([(str(document.path), document.sampled(engine)) for document in documents])
    run = observed([sys.executable, pdf_libraries.__file__, engine, str(out), jobs], one_core=True)
    if run.seconds is not None:
        run.seconds = json.loads((out / "seconds.json").read_text())
    return run


def run_fanfold(command: str, jobs: int, documents: list[Document], out: Path) -> Run:
    """The real command with an empty store; its time is all of it, from the start of the process to its end."""
    out.mkdir(parents=True, exist_ok=True)
    target = out if len(documents) > 1 else out / f"{documents[0].path.stem}.md"
    paths = [str(document.path) for document in documents]
    with tempfile.TemporaryDirectory() as data:
        arguments = [command, "convert", *paths, "-o", str(target), "--fresh", "--jobs", str(jobs)]
        return observed(arguments, one_core=jobs == 1, environment={"FANFOLD_DATA": data})


def measure(command: str, sets: dict[str, list[Document]], rounds: int, out: Path) -> dict[tuple[str, str], Measured]:
    """Every engine on every set, round by round, so that a slow minute of the machine meets them all."""
    found: dict[tuple[str, str], Measured] = {}
    for number in range(rounds):
        for name, documents in sets.items():
            for engine in (*LIBRARIES, *FANFOLD):
                print(f"round {number + 1} of {rounds}: {name}, {engine}", file=sys.stderr)
                pages = sum(document.timed_pages(engine) for document in documents)
                if engine in FANFOLD:
                    run = run_fanfold(command, FANFOLD[engine], documents, out / "timed")
                else:
                    run = run_library(engine, documents, out / "timed")
                found.setdefault((name, engine), Measured(pages)).runs.append(run)
    return found


def convert_all(command: str, documents: list[Document], out: Path) -> None:
    """Convert all documents by all engines, each engine into a folder of its own."""
    for engine in LIBRARIES:
        for document in documents:
            # One by one: a document that an engine cannot read must not cost it the others.
            run_library(engine, [document], out / engine)
    for document in documents:
        run_fanfold(command, 1, [document], out / "fanfold")


def speed_rows(name: str, found: dict[tuple[str, str], Measured], start_seconds: float) -> Iterable[list[str]]:
    """Pages per second of each engine, and how they compare in the same round."""
    base = found[name, "liteparse"].rates()
    for engine in (*LIBRARIES, *FANFOLD):
        measured = found[name, engine]
        rates, inner = measured.rates(), measured.rates(start_seconds if engine in FANFOLD else 0.0)
        if len(rates) < len(base):
            problem = next(run.problem for run in measured.runs if run.problem)
            yield [engine, str(measured.pages), f"failed: {problem}", "", "", ""]
            continue
        middle = [
            statistics.median(rate / own for rate, own in zip(some, base, strict=True)) for some in (rates, inner)
        ]
        spread = f"{min(rates):.1f} – {max(rates):.1f}"
        figures = [f"{statistics.median(rates):.1f}", spread, *(f"{ratio:.3f}" for ratio in middle)]
        yield [engine, str(measured.pages), *figures]


def memory_rows(name: str, found: dict[tuple[str, str], Measured]) -> Iterable[list[str]]:
    """The most memory each engine has had in any round."""
    for engine in (*LIBRARIES, *FANFOLD):
        runs = [run for run in found[name, engine].runs if run.seconds is not None]
        peaks = [max((getattr(run, kind) for run in runs), default=0) for kind in ("largest_bytes", "together_bytes")]
        yield [
            engine,
            str(found[name, engine].pages),
            *(f"{peak / MEGABYTE:.0f}" if runs else "failed" for peak in peaks),
        ]


def table(head: str, rows: Iterable[list[str]], texts: int = 1) -> str:
    """A Markdown table; its first columns are texts, the others figures."""
    names = head.split(" | ")
    lines = [names, ["---"] * texts + ["---:"] * (len(names) - texts), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def facts(command: str, rounds: int, start_seconds: float) -> str:
    """The machine, the versions and the day."""
    import psutil

    cpu = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    names = ("liteparse", "markitdown", "pymupdf", "pypdfium2")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)
    own = subprocess.run([command, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    machine = (
        f"{cpu[1] if cpu else platform.machine()}, {os.cpu_count()} cores, {psutil.virtual_memory().total >> 30} GB"
    )
    return f"""{datetime.now(UTC):%Y-%m-%d}, {rounds} interleaved rounds. {machine}, {platform.system()}, \
Python {platform.python_version()}. {own}, {versions}.

A library is timed inside its process, on one core, after one conversion to warm up. Fanfold is timed from outside, as the
whole command with an empty store; the start of its process alone (`fanfold --version`) takes {start_seconds:.2f} s, which the
last column leaves out. The ratios are medians of the ratios within a round."""


def report(command: str, folder: Path, rounds: int, out: Path) -> str:
    """All of it, as Markdown."""
    documents = corpus(folder)
    longest = max(documents, key=lambda document: document.pages)
    short = [document for document in documents if document.has_text and document is not longest]
    names = f"{longest.path.name}, {longest.pages} pages", f"{len(short)} short text PDFs"
    starts = [observed([command, "--version"], one_core=True).seconds or 0.0 for _ in range(5)]
    start_seconds = statistics.median(starts)
    found = measure(command, dict(zip(names, ([longest], short), strict=True)), rounds, out)
    head = "engine | pages | pages/s | spread | × liteparse | × liteparse, without start"
    parts = ["## Speed", facts(command, rounds, start_seconds)]
    for name in names:
        parts += [f"### {name}", table(head, speed_rows(name, found, start_seconds))]
    parts += [
        "## Peak memory",
        f"On {names[0]}, in MB of resident memory, with shared memory counted once per process.",
    ]
    parts.append(table("engine | pages | largest process | all processes", memory_rows(names[0], found)))
    parts += quality(command, short, out / "quality")
    return "\n\n".join(parts) + "\n"


def quality(command: str, documents: list[Document], out: Path) -> list[str]:
    """Scores against truths, loss, and single checks."""
    convert_all(command, documents, out)
    checked = [document for document in documents if document.truth]
    columns = "document | engine | " + " | ".join(one.name.replace("_", " ") for one in fields(Scores))
    checks = json.loads(CHECKS.read_text("utf-8"))
    kinds = Counter(check["type"] for check in checks)
    head = " | ".join(f"{kind} ({kinds[kind]})" for kind in sorted(kinds))
    return [
        "## Quality",
        "Against the expected text that comes with a document, without any OCR but Fanfold's own.",
        table(columns, score_rows(checked, out), texts=2),
        "### Loss",
        "Letters and digits per page that another reading has and the conversion has not; running lines count.",
        table("engine | pdfium's text | liteparse's pieces", loss_rows(documents, out)),
        "### Checks",
        "Statements about single pages, written by looking at them.",
        table(f"engine | {head} | all ({len(checks)})", check_rows(checks, out)),
    ]


def own_command() -> str:
    """The `fanfold` of this repository, or else the one on the path."""
    here = Path(__file__).resolve().parent.parent / ".venv" / "bin" / "fanfold"
    return str(here) if here.exists() else shutil.which("fanfold") or "fanfold"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, help="folder with PDFs, and NAME.gt.md or NAME.gt.txt beside some of them")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quality", action="store_true", help="measure quality alone, not speed")
    parser.add_argument("--fanfold", default=own_command(), help="the command that is measured")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as out:
        if given.quality:
            texts = [
                document for document in corpus(given.corpus) if document.has_text and document.pages <= SAMPLED_PAGES
            ]
            print("\n\n".join(quality(given.fanfold, texts, Path(out))))
        else:
            print(report(given.fanfold, given.corpus, given.rounds, Path(out)))


if __name__ == "__main__":
    main()
