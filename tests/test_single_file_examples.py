"""The examples of one file each run offline, say what they promise, and stay short enough to be read in one go."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
MOST_LINES = 60
SAID = {
    "translate_chapters": "Chapter one.\n\nChapter two.\n\nChapter three.\n3 calls, $0.03\n",
    "one_function": "the 2, more 1, better 1\n",
    "typed_invoices": "02 December: Ann pays 0.30\n17 December: Ben pays 12.50\n",
    "external_job": "film.mp4 after 135 s, 1 job started\n",
    "approval": (
        "waiting: 0 letters sent\n"
        "  Dear Ann, the library is closed on Monday.\n"
        "  Dear Ben, the library is closed on Monday.\n"
        "completed: 2 letters sent\n"
    ),
    "fallback_models": (
        "prices [12.5, 20.0, 20.0]\n"
        "  1: openai:small\n"
        "  2: anthropic:large, degraded\n"
        "  3: anthropic:large, degraded\n"
        "6 questions, $0.05\n"
    ),
    "tolerate_failures": "total 42; missing: 2 ('thirty' is not a number)\n",
    "batch_handler": "99 vectors, 1 missing\n",
    "decisions": "the house / a color\nthis house / a colour\n",
    "credits_and_works": (
        "5 credits left after submit\n"
        "10 credits left: one picture was refunded\n"
        "25 credits are more than 10\n"
        "works says that the task is completed, and so does the client: completed\n"
    ),
    "stream_output": "Once upon a time there was a worker. (8 words)\n",
}
TESTED = "test_translate_chapters"


def run(folder: Path, *command: str) -> str:
    """What a Python program prints, without keys or configuration, and with a data folder of its own."""
    ours = {
        name: value for name, value in os.environ.items() if not name.startswith(("FANFOLD_", "OPENAI_", "ANTHROPIC_"))
    }
    environment = ours | {"FANFOLD_DATA": str(folder / "data"), "PYTHONPATH": os.pathsep.join(sys.path)}
    called = [sys.executable, *command]
    done = subprocess.run(called, cwd=folder, env=environment, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", SAID)
def test_an_example_runs_offline_and_says_what_it_promises(name: str, tmp_path: Path) -> None:
    assert run(tmp_path, str(EXAMPLES / f"{name}.py")) == SAID[name]


def test_the_tests_of_an_example_pass(tmp_path: Path) -> None:
    said = run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(EXAMPLES / f"{TESTED}.py"))
    assert "5 passed" in said


@pytest.mark.parametrize("name", [*SAID, TESTED])
def test_an_example_is_short_and_begins_with_what_it_shows_and_how_to_run_it(name: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    assert re.match(rf'"""[A-Z].*[.]\n\n(python|pytest) examples/{name}\.py\n"""\n', text)


def test_every_example_is_in_the_list() -> None:
    listed = re.findall(r"\]\(([a-z_]+\.py)\)", (EXAMPLES / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.name for path in EXAMPLES.glob("*.py"))
