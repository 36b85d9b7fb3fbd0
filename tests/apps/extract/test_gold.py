"""How the table compares with known values."""

from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.apps.extract.table.gold import compare, read_gold, same
from tests.apps.extract.cells import cell, row


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("known", "value"),
    [
        ("120", 120),
        ("1,234", 1234),
        ("12.50", 12.5),
        ("Randomised  Controlled Trial", "randomised controlled trial."),
        ("UK|United Kingdom", "united kingdom"),
        ("b; a", ["A", "B"]),
        ("yes", True),
        ("no", False),
        ("随机对照试验", "随机 对照试验"),
    ],
)
def test_equal_values_are_equal_however_they_are_written(known: str, value: Any) -> None:
    assert same(known, value)


@pytest.mark.parametrize(("known", "value"), [("120", 12), ("120", 1200), ("a; b", ["a"]), ("yes", False), ("a", "b")])
def test_other_values_are_not(known: str, value: Any) -> None:
    assert not same(known, value)


def test_each_column_has_its_accuracy_its_missing_and_its_invented_values(tmp_path: Path) -> None:
    path = written(
        tmp_path / "gold.csv",
        "document,n,country,note\na.pdf,120,UK,x\nb.pdf,55,not reported,x\nsub/c.pdf,10,,x\nd,7,France,x\ngone.pdf,1,,x\n",
    )
    gold = read_gold(path, ["n", "country"])
    rows = [
        row("a.pdf", {"n": cell(120), "country": cell("uk")}),
        row("b.pdf", {"n": cell(56), "country": cell("Spain")}),
        row("c.pdf", {"n": cell(None, "absent"), "country": cell(None, "absent")}, source="sub/c.pdf"),
        row("d.pdf", {}, error="unreadable"),
        row("unknown.pdf", {"n": cell(1)}),
    ]
    found = compare(rows, gold)
    n, country = found.columns["n"], found.columns["country"]
    assert (n.right, n.wrong, n.missing, n.invented, n.accuracy) == (1, 1, 2, 0, 0.25)
    assert (country.right, country.wrong, country.missing, country.invented) == (2, 0, 1, 1)
    assert found.unmatched == ["gone.pdf"]
    assert found.as_json()["columns"]["n"]["accuracy"] == 0.25
    assert {"document": "b.pdf", "row": 1, "field": "country", "outcome": "invented"}.items() <= {
        **next(one for one in found.differences if one["field"] == "country")
    }.items()


def test_rows_within_documents_are_compared_by_their_number(tmp_path: Path) -> None:
    gold = read_gold(written(tmp_path / "gold.csv", "source;row;arm\na;1;x\na;2;y\n"), ["arm"])
    rows = [row("a.pdf", {"arm": cell("x")}, 1), row("a.pdf", {"arm": cell("z")}, 2)]
    found = compare(rows, gold)
    assert (found.columns["arm"].right, found.columns["arm"].wrong) == (1, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [("document,n\n", "no rows"), ("x,n\n1,2\n", "no column `document`"), ("name,x\na,b\n", "table has: n")],
)
def test_a_file_that_cannot_be_compared_says_why(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ff.Permanent, match=said):
        read_gold(written(tmp_path / "gold.csv", text), ["n"])
