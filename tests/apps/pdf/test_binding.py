"""The bound document is in order, with page marks, and missing pages are marked and listed."""

import io
from typing import Any

import pytest

import fanfold as ff
from fanfold.apps.pdf.options import Options
from fanfold.apps.pdf.output.binding import facts, write_pages
from fanfold.model.money.questions import Spending


def page(number: int, markdown: str | None, error: str | None = None, **more: Any) -> ff.Result:
    output = None if markdown is None else {"page": number, "markdown": markdown, "engine": "text layer", **more}
    return ff.Result(str(number), number, markdown is not None, {"page": number}, output, "x", error)


def bound(*pages: ff.Result, **options: Any) -> str:
    sink = io.StringIO()
    write_pages(sink, pages, Options(**options))
    return sink.getvalue()


def test_marks_carry_the_number_of_the_source() -> None:
    assert bound(page(50, "fifty"), page(51, "fifty-one")) == (
        "<!-- Page 50 -->\n\nfifty\n\n---\n\n<!-- Page 51 -->\n\nfifty-one\n"
    )


def test_a_blank_page_keeps_its_mark() -> None:
    assert bound(page(1, "one"), page(2, ""), page(3, "three")) == (
        "<!-- Page 1 -->\n\none\n\n---\n\n<!-- Page 2 -->\n\n---\n\n<!-- Page 3 -->\n\nthree\n"
    )


def test_without_marks_there_is_only_text() -> None:
    assert bound(page(1, ""), page(2, "two"), page(3, "three"), marks=False) == "two\n\nthree\n"


def test_a_gap_is_marked_in_its_place_and_listed_at_the_end() -> None:
    text = bound(page(1, "one"), page(2, None, "the model -->refuses--"), page(3, "three"))
    assert "<!-- Page 2 is missing: the model ->refuses -->" in text
    assert text.endswith("\n<!-- Missing pages: 2 (the model ->refuses) -->\n")
    assert text.index("missing: the") < text.index("three")
    assert "missing" in bound(page(1, None, "gone"), marks=False), "a gap is never silent"


def test_what_a_page_break_split_is_joined_if_wanted() -> None:
    first = page(1, "# Title\n\nThis is a rather long paragraph that is going to be continued on the follow-")
    second = page(2, "ing page, where it ends.\n\nAnother paragraph.")
    joined = bound(first, second, join=True, marks=False)
    assert "continued on the following page, where it ends." in joined
    assert "follow-\n" in bound(first, second, marks=False)


def test_a_table_is_joined_over_several_pages_and_every_page_keeps_its_mark() -> None:
    head = "| Name | Count |\n|---|---|\n"
    pages = [page(1, f"One\n\n{head}| a | 1 |"), page(2, f"{head}| b | 2 |"), page(3, f"{head}| c | 3 |\n\nThree")]
    assert bound(*pages, page(4, "Four"), join=True) == (
        f"<!-- Page 1 -->\n\nOne\n\n{head}| a | 1 |\n| b | 2 |\n| c | 3 |\n\n---\n\n<!-- Page 2 -->\n\n---\n\n"
        "<!-- Page 3 -->\n\nThree\n\n---\n\n<!-- Page 4 -->\n\nFour\n"
    )
    assert bound(*pages[:2], join=True, marks=False) == f"One\n\n{head}| a | 1 |\n| b | 2 |\n"
    assert bound(*pages).count("| Name | Count |") == 3


def test_the_facts_of_a_page_have_its_model_cost_and_time() -> None:
    result = page(7, "text")
    result = result._replace(degraded="the other one failed", seconds=1.5, spending=Spending(2, 0, 0, 10, 20, 0.25))
    found = facts(result)
    assert (found["page"], found["model"], found["degraded"], found["seconds"]) == (
        7,
        "text layer",
        "the other one failed",
        1.5,
    )
    assert (found["calls"], found["input_tokens"], found["output_tokens"], found["cost"]) == (2, 10, 20, 0.25)
    unknown = result._replace(spending=Spending(calls=1, unpriced=1))
    assert facts(unknown)["cost"] is None, "unknown is not nothing"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"modle": "x"}, "Unknown option modle"),
        ({"ocr": "maybe"}, "auto, always, never"),
        ({"longest": "wide"}, "not a whole number"),
        ({"longest": 5}, "100 to 10000"),
        ({"marks": "flase"}, "true or false"),
    ],
)
def test_options_that_cannot_be_used_are_named(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ff.Permanent, match=told):
        Options.of(given)


def test_options_are_read_as_people_write_them() -> None:
    found = Options.of({"marks": "false", "longest": "1200", "fallback": "openai:small", "join": True})
    assert (found.marks, found.longest, found.fallback, found.join) == (False, 1200, ("openai:small",), True)
    assert Options.of({}).fallback == ()
