"""The command line and the server know no application: their tests pass when the PDF application is hidden."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = (
    "tests/cli/test_do.py", "tests/server/test_forms.py", "tests/server/test_actions.py", "tests/server/test_vocabulary.py",
    "tests/server/test_views.py", "tests/server/test_results.py",
)  # fmt: skip
"""Tests that cover everything an application may declare. The import contracts prove that no other line knows it."""


@pytest.mark.timeout(960)
def test_command_line_and_server_work_without_the_pdf_application() -> None:
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.without_pdf",
        "-p",
        "no:schemathesis",
        "-k",
        "not postgresql",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *PARTS], cwd=ROOT, text=True, capture_output=True, timeout=900,
        env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5_000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


def test_the_hiding_hides() -> None:
    """Without this, the test above would prove nothing."""
    look = (
        "import tests.without_pdf; from fanfold.engine.installed import announced, applications;"
        "print([one.name for one in applications()], [one.name for one in announced()])"
    )
    command = [sys.executable, "-c", look]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=100, env=environment, check=True)
    assert (
        done.stdout.strip()
        == "['proofread', 'photo', 'extract'] ['proofread', 'translate', 'photo', 'extract', 'suggest', 'demo']"
    )
