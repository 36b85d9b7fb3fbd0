"""A page range selects the pages that a person means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold as ff
from fanfold.apps.pdf.reading.ranges import check, parse


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        ("3", [3]),
        ("1-3,7", [1, 2, 3, 7]),
        ("8-", [8, 9, 10]),
        ("-3", [1, 2, 3]),
        ("last", [10]),
        ("LAST-2", [8]),
        ("9-last", [9, 10]),
        ("last-1-", [9, 10]),
        ("1 - 3, 5 7", [1, 2, 3, 5, 7]),
        ("１，３－４、6", [1, 3, 4, 6]),
        ("2–4", [2, 3, 4]),
        ("5,1,5,1-2", [5, 1, 2]),
        ("9-4000", [9, 10]),
    ],
)
def test_a_range_names_its_pages_once_and_in_order(text: str, pages: list[int]) -> None:
    assert parse(text, 10) == pages


@pytest.mark.parametrize("text", ["x", "1-2-3", "3-1", "-", ",", "1..3", "last+1", "0x1", "1.5"])
def test_what_is_no_range_is_refused_with_the_syntax(text: str) -> None:
    with pytest.raises(ff.Permanent, match="Write pages like 1-3,7,10-") as caught:
        parse(text, 10)
    assert caught.value.code == "bad_range"
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["11", "11-", "12-20", "last-10", "1,11"])
def test_pages_beyond_the_document_are_refused_with_what_there_is(text: str) -> None:
    with pytest.raises(ff.Permanent, match=r"of 10 pages\. Choose from 1-10\.") as caught:
        parse(text, 10)
    assert caught.value.code == "no_such_pages"


@pytest.mark.parametrize("text", ["0", "0-3", "2,0", "-0", "００"])
def test_page_0_is_refused_before_the_document_is_known(text: str) -> None:
    for look in (check, lambda text: parse(text, 10)):
        with pytest.raises(ff.Permanent, match=r"pages begin at 1\. Write pages like") as caught:
            look(text)
        assert caught.value.code == "bad_range"
    check("10,20-30")


@given(st.integers(1, 400), st.data())
def test_written_out_pages_come_back_as_they_were(total: int, data: st.DataObject) -> None:
    pages = data.draw(st.lists(st.integers(1, total), min_size=1, unique=True))
    assert parse(",".join(map(str, pages)), total) == pages


@given(st.integers(1, 400), st.data())
def test_open_ends_cover_the_document(total: int, data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, total))
    assert parse(f"-{cut},{cut}-", total) == list(range(1, total + 1))


@given(st.text(alphabet="0123456789-,last ", max_size=12), st.integers(1, 50))
def test_any_text_gives_pages_of_the_document_or_a_sentence(text: str, total: int) -> None:
    try:
        pages = parse(text, total)
    except ff.Permanent:
        return
    assert pages
    assert len(set(pages)) == len(pages)
    assert set(pages) <= set(range(1, total + 1))
