"""Runs pytest, and runs the tests that failed once more, alone: `python -m tests.again`, with the arguments of pytest.

A machine that is busy with other work can make a test fail that waits for something. Such a test passes alone, and is named
at the end. If more than a few tests fail, or one fails again, the run fails. The last line is a summary like pytest's own.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

FEW = 5
"""More failures than this are not chance."""
SUMMARY = re.compile(r"^=* ?(\d.*?) in (\d+(?:\.\d+)?)s.*?=*$", re.MULTILINE)
LAST_FAILED = Path("v", "cache", "lastfailed")
TESTS_FAILED = 1
"""The exit code of pytest when all tests ran and some failed."""


class Run(NamedTuple):
    """How a run of pytest ended; the last line, counts and seconds are those of its summary."""

    code: int
    last_line: str
    counts: Counter[str]
    seconds: float


def main(arguments: list[str]) -> int:
    """Run the tests, once or twice. Returns the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        options = [*arguments, "-o", f"cache_dir={folder}"]
        first = run(options)
        failed = failures(Path(folder))
        if first.code != TESTS_FAILED or not 1 <= len(failed) <= FEW:
            return first.code
        remember(Path(folder), failed)
        print("\nFailed, and now running once more, alone:", *failed, sep="\n  ", flush=True)
        second = run([*options, "--last-failed", "--last-failed-no-failures=none", "-n", "0"])
        return conclude(first, second, failed, still=failures(Path(folder)))


def run(options: list[str]) -> Run:
    """Run pytest and print what it prints."""
    command = [sys.executable, "-m", "pytest", *options]
    printed = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            printed.append(line)
    return told(process.returncode, "".join(printed))


def told(code: int, printed: str) -> Run:
    """What the summary of a run says: `=== 1 failed, 3 passed in 0.12s ===`."""
    found = list(SUMMARY.finditer(printed))
    if not found:
        return Run(code, "", Counter(), 0.0)
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", found[-1][1])}
    return Run(code, found[-1][0], Counter(counts), float(found[-1][2]))


def failures(cache: Path) -> list[str]:
    """The tests that pytest remembers as failed, without the group that pytest-xdist adds to a name: `test_it@group`."""
    remembered = cache / LAST_FAILED
    found = json.loads(remembered.read_text()) if remembered.exists() else {}
    return sorted({re.sub(r"@[\w-]+$", "", name) for name in found})


def remember(cache: Path, failed: list[str]) -> None:
    """Let pytest remember these tests, by names that it knows also without pytest-xdist."""
    (cache / LAST_FAILED).write_text(json.dumps(dict.fromkeys(failed, True)))


def conclude(first: Run, second: Run, failed: list[str], still: list[str]) -> int:
    """Name the tests that passed alone and sum up both runs. A test that was skipped this time has not passed."""
    all_ran = second.counts["passed"] == len(failed) - len(still)
    for test in failed:
        how = "failed alone" if test in still else "passed alone" if all_ran else "passed or was skipped alone"
        print(f"failed under load, {how}: {test}")
    print(summary(first, second) if second.last_line else first.last_line, flush=True)
    return 0 if second.code == 0 and all_ran and not still else TESTS_FAILED


def summary(first: Run, second: Run) -> str:
    """One summary line for both runs, with the word of pytest for tests that ran twice."""
    counts = Counter({word: count for word, count in first.counts.items() if word not in ("failed", "error", "errors")})
    counts.update(second.counts)
    counts["deselected"] = first.counts["deselected"]
    counts["rerun"] = second.counts.total() - second.counts["deselected"]
    order = sorted((word for word in counts if counts[word]), key=lambda word: (word != "failed", word != "passed"))
    seconds = first.seconds + second.seconds
    return f" {', '.join(f'{counts[word]} {word}' for word in order)} in {seconds:.2f}s ".center(80, "=")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
