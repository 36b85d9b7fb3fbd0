"""The files around the code agree with each other: versions, checks before a commit, packages."""

import re
import tomllib
from pathlib import Path

import fanfold

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_is_the_same_everywhere() -> None:
    """The newest release notes are those of the version that is being built."""
    notes = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert PROJECT["project"]["version"] == fanfold.__version__ == notes[0]


def test_the_checks_before_a_commit_are_those_of_make_check() -> None:
    """They are the tools of the environment; nothing is fetched."""
    settings = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    recipe = re.findall(r"^check:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[0]
    checked = {line.strip().removeprefix("$(BIN)/").replace(" --check", "") for line in recipe.splitlines()}
    hooks = {entry.replace(" --fix", "") for entry in re.findall(r"entry: \.venv/bin/(.+)", settings)}
    assert re.findall(r"repo: (.+)", settings) == ["local"]
    assert hooks == checked


def test_every_file_of_the_source_package_exists() -> None:
    for name in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]:
        assert (ROOT / name).exists(), name
