"""Characters and lines of a text layer become the original text."""

import pytest

from fanfold.apps.pdf.markdown import cleaning, hyphens


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("e\ufb03cient \ufb01le", "efficient file"),
        ("soft\u00adware", "software"),
        ("a\u0000b\u0007c\u009d", "abc"),
        ("non\u00a0breaking\tspace", "non breaking space"),
        ("two  spaces", "two spaces"),
        ("e↵orts, o↵-the-shelf", "efforts, off-the-shelf"),
        ("zero\u200bwidth", "zerowidth"),
        ("plain “text” — kept", "plain “text” — kept"),
    ],
)
def test_characters_nobody_typed_are_mended(raw: str, clean: str) -> None:
    assert cleaning.characters(raw) == clean


@pytest.mark.parametrize(
    ("before", "after", "joined"),
    [
        ("one", "two", "one two"),
        ("the indus-", "try of today", "the industry of today"),
        ("paved the way for self-", "publishing", "paved the way for self-publishing"),
        ("Jean-", "Paul", "Jean-Paul"),
        ("COVID-", "related", "COVID-related"),
        ("state-of-the-", "art", "state-of-the-art"),
        ("in 1990-", "something", "in 1990-something"),
        ("platforms—", "reflects", "platforms—reflects"),
        ("see https://example.org/", "path", "see https://example.org/path"),
        ("中文在行尾", "断开", "中文在行尾断开"),
        ("中文", "and English", "中文 and English"),
        ("これは", "テストです", "これはテストです"),
        ("", "alone", "alone"),
    ],
)
def test_lines_are_joined_as_they_were_written(before: str, after: str, joined: str) -> None:
    assert cleaning.join(before, after) == joined


def test_spaces_between_chinese_characters_are_closed_and_others_kept() -> None:
    assert cleaning.close_gaps("年 度 报告 2011 年 Annual Report") == "年度报告 2011 年 Annual Report"


def test_a_hyphen_at_a_line_end_stays_or_goes_by_what_else_the_document_says() -> None:
    found = hyphens.survey(["A large-scale and a small-scale test.", "They presented a so-called well-known result."])
    with hyphens.evidence(found):
        assert cleaning.join("an optical-", "scale test") == "an optical-scale test"
        assert cleaning.join("it was pre-", "sented") == "it was presented"
        assert cleaning.join("the well-", "known result") == "the well-known result"
        assert cleaning.join("the docu-", "ment") == "the document"
    assert cleaning.join("an optical-", "scale test") == "an opticalscale test"
    assert cleaning.join("it was pre-", "sented") == "it was pre-sented"
