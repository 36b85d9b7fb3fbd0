"""Which documents are suggested as duplicates, and which are not."""

from typing import Any

import pytest

from fanfold.apps.extract.table.duplicates import suggestions
from tests.apps.extract.cells import cell, row


def paper(key: str, title: str = "", author: Any = "", year: Any = "", doi: str = "") -> dict[str, Any]:
    fields = {"title": cell(title or None), "authors": cell(author or None), "year": cell(year or None)}
    return row(key, {**fields, "doi": cell(doi or None)})


def found(*rows: dict[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.kind, one.documents) for one in suggestions(rows)]


TITLE = "Effects of exercise on sleep in adults: a randomised trial"


def test_the_same_file_twice_is_one_document_and_said_so() -> None:
    same = [row("a.pdf", {}, key="1"), row("b.pdf", {}, key="1"), row("c.pdf", {}, key="2")]
    (one,) = suggestions(same)
    assert (one.kind, one.documents, one.keys) == ("file", ("a.pdf", "b.pdf"), ("1",))


def test_the_same_doi_is_suggested_however_it_is_written() -> None:
    assert found(
        paper("a", TITLE, doi="https://doi.org/10.1234/ABC.5"),
        paper("b", TITLE.upper(), doi="doi:10.1234/abc.5."),
        paper("c", "", doi="10.1234/abc.5"),
        paper("d", TITLE, doi="10.1234/abc.6"),
    )[0] == ("doi", ("a", "b", "c"))


def test_chapters_that_share_the_doi_of_their_book_are_not_suggested() -> None:
    assert (
        found(
            paper("a", "The history of sleep research in Europe", doi="10.1234/book"),
            paper("b", "Measuring the activity of children at school", doi="10.1234/book"),
        )
        == []
    )


def test_a_preprint_and_its_article_are_suggested() -> None:
    assert found(
        paper("a", TITLE, "Smith, J.; Doe, A.", 2019, "10.1101/2019.1"),
        paper("b", TITLE.replace("randomised", "randomized"), ["John Smith", "Ann Doe"], "2020-03-01", "10.1234/x"),
        paper("c", TITLE, "Smith J, Doe A", 2015),
        paper("d", TITLE, "Miller K", 2019),
    ) == [("title", ("a", "b"))]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Sleep and exercise in a large cohort, part I", "Sleep and exercise in a large cohort, part II"),
        ("A trial of exercise for sleep in adults 1", "A trial of exercise for sleep in adults 2"),
        ("运动对成人睡眠影响的随机对照研究（一）", "运动对成人睡眠影响的随机对照研究（二）"),
    ],
)
def test_parts_of_a_series_are_not_duplicates(one: str, other: str) -> None:
    assert found(paper("a", one, "Smith", 2019), paper("b", other, "Smith", 2019)) == []
    assert found(paper("a", one, "Smith", 2019, "10.1/x"), paper("b", other, "Smith", 2019, "10.1/x")) == []


def test_a_pair_is_suggested_once() -> None:
    rows = [paper(key, TITLE, "Smith", 2019, "10.1234/abc") for key in "ab"]
    assert found(*rows) == [("doi", ("a", "b"))]


def test_chinese_titles_are_compared_too() -> None:
    title = "运动对成人睡眠质量影响的随机对照研究"
    assert found(paper("a", title, "张三，李四", 2019), paper("b", f"《{title}》", "张三", 2019)) == [
        ("title", ("a", "b"))
    ]


def test_the_fields_can_be_named() -> None:
    rows = [row(key, {"titel": cell(TITLE), "jahr": cell(2019)}) for key in "ab"]
    assert suggestions(rows) == []
    assert len(suggestions(rows, {"title": "titel", "year": "jahr"})) == 1
