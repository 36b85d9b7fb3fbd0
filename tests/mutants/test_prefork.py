"""Killers run in copies of the code, from a process that has imported the libraries before."""

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.mutants.prefork import Ended, Prefork
from tests.waiting import eventually


@pytest.fixture(scope="module")
def starter() -> Iterator[Prefork]:
    with Prefork(os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}) as made:
        yield made


def copy(folder: Path, program: str) -> Path:
    package = folder / "fanfold"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "killer.py").write_text(program)
    return folder


def test_each_killer_imports_its_own_copy(starter: Prefork, tmp_path: Path) -> None:
    program = "import sys, fanfold\nprint(fanfold.__file__, *sys.argv[1:])\nsys.exit({})"
    first, second = copy(tmp_path / "1", program.format(1)), copy(tmp_path / "2", program.format(0))
    assert starter.run("fanfold.killer", ["sqlite", "3"], first, 60) == Ended(
        1, f"{first}/fanfold/__init__.py sqlite 3\n"
    )
    assert starter.run("fanfold.killer", [], second, 60) == Ended(0, f"{second}/fanfold/__init__.py\n")


def test_an_error_is_printed_and_ends_only_its_own_process(starter: Prefork, tmp_path: Path) -> None:
    ended = starter.run("fanfold.killer", [], copy(tmp_path, "raise ValueError('broken')"), 60)
    assert ended.code == 1
    assert "ValueError: broken" in ended.printed
    assert starter.run("this", [], tmp_path, 60).code == 0


def test_a_killer_that_takes_too_long_is_ended_with_what_it_started(starter: Prefork, tmp_path: Path) -> None:
    program = "import os, time\nprint(os.fork(), flush=True)\ntime.sleep(600)"
    ended = starter.run("fanfold.killer", [], copy(tmp_path, program), 3)
    assert ended.code is None
    started = int(max(ended.printed.split()))
    eventually(lambda: not psutil.pid_exists(started) or psutil.Process(started).status() == "zombie")
