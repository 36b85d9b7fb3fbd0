"""The documentation can be built as a site, and a dead link or a missing anchor fails the build."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from tests.docs import DOCS

ROOT = DOCS.parent
SETTINGS = ROOT / "zensical.toml"


def build(folder: Path) -> "subprocess.CompletedProcess[str]":
    """What `make site` does, with a copy of the pages in ``folder``."""
    shutil.copytree(DOCS, folder / "docs", dirs_exist_ok=True)
    shutil.copy(SETTINGS, folder)
    with (folder / "docs" / "glossary.md").open("a", encoding="utf-8") as page:
        page.write((folder / "added.md").read_text() if (folder / "added.md").exists() else "")
    program = Path(sys.executable).parent / "zensical"
    return subprocess.run(
        [program, "build", "--strict", "--clean"],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_the_site_is_built_without_a_dead_link(tmp_path: Path) -> None:
    built = build(tmp_path)
    assert built.returncode == 0, built.stdout + built.stderr
    assert (tmp_path / "site" / "index.html").exists()
    assert (tmp_path / "site" / "reference" / "python.html").exists()


def test_a_dead_link_and_a_missing_anchor_fail_the_site(tmp_path: Path) -> None:
    (tmp_path / "added.md").write_text("\n[one](nowhere.md) and [another](#nowhere)\n")
    built = build(tmp_path)
    assert built.returncode != 0
    assert "page does not exist" in built.stdout + built.stderr
    assert "anchor does not exist" in built.stdout + built.stderr


def test_every_page_can_be_found_in_the_menu() -> None:
    """Individual decisions are found through their list."""
    listed = set(pages(tomllib.loads(SETTINGS.read_text(encoding="utf-8"))["project"]["nav"]))
    there = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if not page.name.startswith("0")}
    assert listed == there


def pages(entry: Any) -> list[str]:
    """The pages of an entry of the menu."""
    if isinstance(entry, str):
        return [entry]
    children = entry.values() if isinstance(entry, dict) else entry
    return [page for child in children for page in pages(child)]
