"""Targets name pipelines: a file with one pipeline needs no name for it."""

from pathlib import Path

import pytest

from fanfold.engine.discovery import load
from fanfold.errors import NotFound

HEAD = "import fanfold as ff\n"


def test_a_file_with_one_pipeline_is_a_target(tmp_path: Path) -> None:
    file = tmp_path / "nightly.py"
    file.write_text(HEAD + "night = again = ff.Pipeline('nightly')\n@night.step\ndef rest(task): pass\n")
    assert load(str(file)).name == "nightly"


def test_a_file_with_several_pipelines_says_which_there_are(tmp_path: Path) -> None:
    file = tmp_path / "two.py"
    file.write_text(HEAD + "first = ff.Pipeline('first')\nsecond = ff.Pipeline('second')\n")
    with pytest.raises(NotFound, match=r"has 2 pipelines: first, second\. Name one, such as .*two\.py:first"):
        load(str(file))


def test_a_file_without_pipelines_says_so(tmp_path: Path) -> None:
    file = tmp_path / "none.py"
    file.write_text("answer = 42\n")
    with pytest.raises(NotFound, match="has no pipelines"):
        load(str(file))
