"""The catalogue of guards matches the current code."""

import ast
from pathlib import Path

import pytest

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import ROOT, Edit, Mutant


def named(one: Mutant) -> str:
    return one.guard


@pytest.mark.parametrize("one", MUTANTS, ids=named)
def test_the_guard_is_where_the_catalogue_says_and_the_code_compiles_without_it(one: Mutant) -> None:
    for edit in one.edits:
        assert edit.text != edit.instead
        ast.parse(edit.applied(ROOT))


@pytest.mark.parametrize("one", MUTANTS, ids=named)
def test_a_guard_has_somebody_who_misses_it(one: Mutant) -> None:
    assert one.killers()
    for killer in one.killers():
        if killer.startswith("tests/"):
            file, _, test = killer.partition("::")
            name = test.rpartition("::")[2].partition("[")[0]
            assert f"def {name}" in (ROOT / file).read_text(), f"there is no {killer}"


def test_every_guard_has_a_name_of_its_own() -> None:
    assert len({one.guard for one in MUTANTS}) == len(MUTANTS)


def test_every_guard_is_in_the_documentation() -> None:
    page = Path(ROOT / "docs/explanation/mutants.md").read_text()
    missing = [one.guard for one in MUTANTS if f"| {one.guard}" not in page]
    way = "python -m tests.mutants --missing docs/explanation/mutants.md --write docs/explanation/mutants.md"
    assert missing == [], f"try them and add their rows: {way}"


@pytest.mark.parametrize(
    "text",
    [
        "held = [items.c.id == batch.c.id, items.c.lease == batch.c.lease]",
        "held = [\n    items.c.id == batch.c.id,\n    items.c.lease == batch.c.lease,\n]",
    ],
)
def test_a_guard_is_found_in_another_file_and_on_other_lines(tmp_path: Path, text: str) -> None:
    moved = tmp_path / "fanfold/store/elsewhere.py"
    moved.parent.mkdir(parents=True)
    moved.write_text(f"{text}\nwithheld = 1\n")
    edit = Edit(
        "fanfold/store/settle.py", "held = [items.c.id == batch.c.id, items.c.lease == batch.c.lease]", "held = []"
    )
    assert edit.place(tmp_path) == moved
    assert edit.applied(tmp_path) == "held = []\nwithheld = 1\n"
    with pytest.raises(ValueError, match="nowhere else does: gone"):
        Edit("fanfold/store/settle.py", "gone", "").place(tmp_path)
    (tmp_path / "fanfold/twice.py").write_text(text)
    with pytest.raises(ValueError, match="twice"):
        edit.place(tmp_path)
