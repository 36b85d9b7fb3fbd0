"""Glossaries are read from CSV, filtered by what occurs, and checked with tolerance for inflection."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold as ff
from fanfold.apps.proofread.glossary import Term, read_glossary, says, terms_in, write_glossary


@pytest.mark.parametrize(
    "text",
    [
        "source,target\n林栀,Lin Zhi\n旧车站,old station\n",
        "\ufeffterm;translation\n林栀;Lin Zhi\n旧车站;old station",
        "林栀\tLin Zhi\n# names\n\n旧车站\told station\n",
        "译文,原文\r\nLin Zhi,林栀\r\nold station,旧车站\r\n",
    ],
)
def test_tables_with_and_without_a_header_are_read(text: str) -> None:
    assert read_glossary(text) == (Term("林栀", "Lin Zhi"), Term("旧车站", "old station"))


@pytest.mark.parametrize(("text", "line"), [("source,target\n,Lin\n", "Line 2"), ("a,b\nc,d\na,e\n", "Line 3")])
def test_a_line_that_cannot_be_used_is_named(text: str, line: str) -> None:
    with pytest.raises(ff.BadInput, match=line):
        read_glossary(text)


WORD = st.text(st.sampled_from(list("林栀abÄ \",;'\n")), min_size=1, max_size=8).map(str.strip).filter(bool)


@given(st.dictionaries(WORD, WORD, max_size=6))
def test_a_glossary_that_is_written_can_be_read_again(terms: dict[str, str]) -> None:
    glossary = tuple(Term(source, target, "name", "n") for source, target in terms.items())
    assert read_glossary(write_glossary(glossary)) == glossary


def test_only_terms_that_occur_are_chosen_and_the_longest_wins() -> None:
    terms = (Term("林"), Term("林栀"), Term("车站"), Term("Rose"), Term("ring"))
    assert terms_in("林栀走了。 The rose's bring", terms) == (Term("林栀"), Term("Rose"))
    assert terms_in("林和林栀", terms) == (Term("林"), Term("林栀"))


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("Er kam zu den alten Bahnhöfen.", "alter Bahnhof"),
        ("Vio las estaciones viejas.", "estación vieja"),
        ("Они увидели старую станцию.", "старая станция"),
        ("THE OLD STATION", "old station"),
        ("Sie sah Lins Haus", "Lin"),
    ],
)
def test_inflected_forms_count(text: str, term: str) -> None:
    assert says(text, term)


@pytest.mark.parametrize(
    ("text", "term"), [("He was lost.", "old station"), ("a ring", "rim"), ("the station", "stand")]
)
def test_other_words_do_not_count(text: str, term: str) -> None:
    assert not says(text, term)


def test_alternatives_are_separated_by_a_bar() -> None:
    assert Term("雨", "rain | shower").targets == ("rain", "shower")
    assert Term("林栀").targets == ("林栀",)
