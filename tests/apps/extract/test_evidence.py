"""Where quotes are found, and what they prove."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fanfold.apps.extract.documents.document import Document, NewLine, RunBox
from fanfold.apps.extract.evidence.folding import fold
from fanfold.apps.extract.evidence.located import FOUND, WEAK
from fanfold.apps.extract.evidence.locating import locate
from fanfold.apps.extract.evidence.numbers import digits_in

ENGLISH = [
    "The eﬀect of intensive treat-",
    "ment on “quality of life” was studied in a randomised trial.",
    "A total of 210 patients were enrolled between 2018 and 2019.",
    "The mean age was 45.2 (SD 12.1) years; groups did not differ in age.",
    "Table 1\tTreated\tControl",
    "Number of patients\t104\t106",
    "Deaths\t7\t12",
    "Adherence was measured with a self-",
    "report questionnaire of 12 questions.",
    "The trial ended in March 2020 and no patient was lost.",
]
CHINESE = [
    "本研究为多中心随机对照试验，共纳入 120 名",
    "患者，平均年龄为45岁。治疗组与对照组",
    "在性别方面无显著差异（P＞0.05）。",
    "随访时间为十二个月，失访率为3.5％。",
]


def document(lines: list[str], per_page: int = 5) -> Document:
    width = 0.8
    placed = [
        NewLine(text, 1 + at // per_page, runs=[RunBox(0, len(text), 0.1, 0.1 + at % per_page * 0.1, width, 0.05)])
        for at, text in enumerate(lines)
    ]
    return Document.of("paper.pdf", "0" * 64, "pdf", placed, pages=1 + (len(lines) - 1) // per_page)


PAPER = document(ENGLISH + CHINESE)


@pytest.mark.parametrize(
    ("quote", "line", "text"),
    [
        ('The effect of intensive treatment on "quality of life" was studied', 1, "The eﬀect of intensive treatment"),
        ("the effect of intensive treat- ment", 1, "The eﬀect"),
        ("effect of intensive treat-ment on 'quality of life'", 1, "eﬀect"),
        ("measured with a self-report questionnaire", 8, "measured"),
        ("measured with a selfreport questionnaire", 8, "measured"),
        ("| Number of patients | 104 | 106 |", 6, "Number of patients 104 106"),
        ("Adherence was … questionnaire of 12 questions", 8, "Adherence was … questionnaire"),
        ("randomized trial. A total of 210 patients", 2, "randomised"),
        ("共纳入120名患者，平均年龄为 45 岁", 11, "共纳入 120 名 患者"),
        ("在性别方面无显著差异(P>0.05)", 13, "在性别方面"),
        ("随访时间为十二个月，失访率为3.5%", 14, "随访时间"),
    ],
)
def test_a_quote_is_found_however_it_is_written(quote: str, line: int, text: str) -> None:
    found = locate(PAPER, quote)
    assert found is not None
    assert found.score >= FOUND
    assert (found.line, found.page) == (line, PAPER.lines[line - 1].page)
    assert found.text.startswith(text)
    assert found.boxes


def test_a_quote_across_a_page_break_has_the_page_of_its_start_and_boxes_on_both() -> None:
    paper = document(["The patients were treat-", "ed for two years with the drug."], per_page=1)
    found = locate(paper, "patients were treated for two years")
    assert found is not None
    assert (found.page, found.score) == (1, 100.0)
    assert [box["page"] for box in found.boxes] == [1, 2]
    assert found.text == "patients were treated for two years"


@pytest.mark.parametrize(
    "quote",
    [
        "Participants were recruited by advertisements in newspapers",
        "The primary outcome was survival at five years",
        "本研究采用问卷调查的方法收集了全部数据",
        "",
        "…",
        "!!!",
    ],
)
def test_an_invented_quote_is_not_found(quote: str) -> None:
    assert locate(PAPER, quote) is None
    assert locate(PAPER, quote, line=3) is None


@pytest.mark.parametrize(
    "quote",
    [
        "A total of 120 patients were enrolled between 2018 and 2019.",
        "A total of 21",
        "The mean age was 45.2 (SD 1",
        "groups did differ in age. The mean age was 45.2",
        "共纳入 125 名患者，平均年龄为45岁",
        "在性别方面有显著差异（P＞0.05）",
    ],
)
def test_a_quote_with_other_numbers_or_another_negation_is_weak_at_most(quote: str) -> None:
    found = locate(PAPER, quote, line=3)
    assert found is None or found.score < FOUND


def test_a_short_quote_counts_at_its_line_only() -> None:
    assert locate(PAPER, "104") is None
    assert locate(PAPER, "104", line=1) is None
    found = locate(PAPER, "104", line=6)
    assert found is not None
    assert (found.score, found.line, found.text) == (100.0, 6, "104")


def test_a_short_quote_elsewhere_is_weak() -> None:
    found = locate(PAPER, "2019")
    assert found is not None
    assert WEAK <= found.score < FOUND
    exact = locate(PAPER, "2019", line=3)
    assert exact is not None
    assert exact.score == 100.0


@pytest.mark.parametrize(("quote", "line"), [("45", 4), ("5.2", 4), ("age", 99), ("ment", 1), ("10", 6), ("21", 3)])
def test_a_short_quote_is_not_found_within_a_word_or_a_number(quote: str, line: int) -> None:
    found = locate(PAPER, quote, line=line)
    assert found is None or found.text.lower() == quote


def test_the_nearest_of_several_places_is_taken() -> None:
    paper = document(["the dose was ten milligrams", "", "", "", "", "", "", "", "", "", "the dose was ten milligrams"])
    for line in (1, 11):
        found = locate(paper, "dose was ten milligrams", line=line)
        assert found is not None
        assert found.line == line


def test_a_wrong_line_does_not_keep_a_quote_from_being_found() -> None:
    for line in (1, 9, 0, -4, 5000):
        found = locate(PAPER, "A total of 210 patients were enrolled", line=line)
        assert found is not None
        assert (found.line, found.score) == (3, 100.0)


FOOTNOTE = ["1 The instrument is described elsewhere and was used without any changes here."] * 2
BROKEN = [
    "Adverse events were collected by telephone at every visit of the trial and",
    *FOOTNOTE,
    "were classified by two physicians who did not know the treatment of the patient.",
]


def test_a_quote_that_a_footnote_interrupts_is_found_in_two_parts() -> None:
    paper = document([*ENGLISH, *BROKEN, *CHINESE], per_page=30)
    found = locate(
        paper, "Adverse events were collected by telephone at every visit of the trial and were classified by two"
    )
    assert found is not None
    assert found.score >= FOUND
    assert found.line == 11
    assert (
        found.text
        == "Adverse events were collected by telephone at every visit of the trial and … were classified by two"
    )
    assert len(found.boxes) == 2


def test_a_damaged_quote_in_several_pieces_is_weak() -> None:
    paper = document([*ENGLISH, *BROKEN, *CHINESE], per_page=30)
    quote = " ".join((BROKEN[0], BROKEN[-1])).replace("collected", "colected").replace("physicians", "phisicians")
    found = locate(paper, quote)
    assert found is not None
    assert WEAK <= found.score < FOUND
    assert found.page == 1


def test_parts_that_are_far_from_each_other_are_not_one_quote() -> None:
    paper = document(
        [BROKEN[0], *(f"Filler sentence {number} says nothing at all." * 3 for number in range(150)), BROKEN[-1]]
    )
    found = locate(paper, " ".join((BROKEN[0], BROKEN[-1])))
    assert found is None or found.score < FOUND


def test_a_quote_longer_than_the_document_is_compared_as_a_whole() -> None:
    paper = document(["A total of 210 patients were enrolled"])
    assert locate(paper, "A total of 210 patients were enrolled." + " And much else was said." * 20) is None
    found = locate(paper, "A total of 210 patients were enrolled...!")
    assert found is not None


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_every_stretch_of_the_text_is_found_where_it_is(data: st.DataObject) -> None:
    lines = data.draw(st.lists(st.sampled_from(ENGLISH + CHINESE), min_size=3, max_size=14, unique=True))
    paper = document(lines)
    start = data.draw(st.integers(0, len(paper.text) - 40))
    length = data.draw(st.integers(35, 200))
    quote = paper.text[start : start + length].replace("\n", " ")
    found = locate(paper, quote)
    assert found is not None
    assert fold(quote).text in fold(paper.text[found.start : found.end]).text


def test_a_damaged_quote_is_found_at_its_place_among_many() -> None:
    chosen = random.Random(7)
    words = ["".join(chosen.choices("abcdefghijklmnopqrstuvwxyz", k=chosen.randint(2, 9))) for _ in range(2000)]
    lines = [" ".join(chosen.choices(words, k=12)) for _ in range(800)]
    paper = document(lines, per_page=40)
    for number in chosen.sample(range(1, 795), 40):
        quote = " ".join(lines[number - 1 : number + 2])
        damaged = "".join(one for one in quote if chosen.random() > 0.05)
        found = locate(paper, damaged)
        assert found is not None
        assert (found.line, found.page) == (number, 1 + (number - 1) // 40)
        assert found.score >= FOUND
        assert abs(found.end - found.start - len(quote)) < 8


@given(st.text(max_size=60))
def test_folding_remembers_where_each_character_came_from(text: str) -> None:
    folded = fold(text)
    assert len(folded.text) == len(folded.origins)
    assert list(folded.origins) == sorted(folded.origins)
    for at in range(len(folded.text)):
        start, end = folded.original(at, at + 1)
        assert folded.text[at] in fold(text[start:end]).text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234, "1,234 people"),
        (1234, "1 234 people"),
        (1234567.5, "1.234.567,5"),
        (0.125, "12.5 %"),
        (12.5, "12.5%"),
        (12.5, "12,5"),
        (1.5, "1·5"),
        (0.05, "p < .05"),
        (-0.5, "β = −0.5"),
        (15, "10–15"),
        (1_200_000, "1.2 million"),
        (12_000, "1.2万"),
        (0.0012, "1.2 × 10⁻³"),
        (20, "二十名"),
        (120, "一百二十例"),
        (2019, "二〇一九年"),
        (1, "一例"),
        (12, "Twelve patients"),
        (45, "forty-five"),
        (150, "a hundred and fifty"),
        ("45 (12)", "aged 45 years (SD 12)"),
        ([104, 106], "104\t106"),
        (123, "１２３"),
        (None, "nothing"),
        (True, "nothing"),
        ("none", "nothing"),
    ],
)
def test_the_digits_of_a_number_are_found_however_it_is_written(value: object, text: str) -> None:
    assert digits_in(value, text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (12, "120"),
        (120, "12 patients, 0 deaths"),
        (0.5, "β = −0.5"),
        (-15, "10-15"),
        (-18, "IL-18"),
        (1, "一般"),
        (1, "one may think"),
        (45, "45.2"),
        ("45 (12)", "aged 45"),
        (210, ""),
        (103, "10³"),
    ],
)
def test_a_number_that_is_not_there_is_not_found(value: object, text: str) -> None:
    assert not digits_in(value, text)
