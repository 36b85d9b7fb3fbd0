"""Which text values count as said by their quote."""

import pytest

from fanfold.apps.extract.asking.answers import Envelope
from fanfold.apps.extract.asking.judging import judged
from fanfold.apps.extract.documents.document import Document, NewLine
from fanfold.apps.extract.template.fields import Field

LINES = [
    "We conducted a case-control study at 20 °C in clinics of northern Norway.",
    "Effects of exercise on pain in adults: generated study 25",
    "Ada Smith, Jane Roe and Max Example",
    "为回答上述问题，我们开展了一项横断面研究，评估者不知道分组情况。",
    "本试验为多中心、随机、对照试验，共有六家医院参加。",
]
PAPER = Document.of("a.txt", "0" * 64, "text", [NewLine(line) for line in LINES])


def state(value: str, line: int) -> str:
    said = Envelope(value, "found", LINES[line - 1], line)
    found: str = judged(Field("x"), said, PAPER)["state"]
    return found


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("case-control study", 1),
        ("Case control study", 1),
        ("northern Norway", 1),
        ("Smith, Ada", 3),
        ("横断面研究", 4),
        ("多中心随机对照试验", 5),
        ("A cross-sectional survey", 4),
    ],
)
def test_a_text_that_its_quote_says_is_accepted(value: str, line: int) -> None:
    assert state(value, line) == "ok"


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("cohort study", 1),
        ("Portugal", 1),
        ("Effects of exercise on pain in adults: generated study 17", 2),
        ("Ken Miller", 3),
        ("队列研究", 4),
        ("单中心队列研究", 5),
    ],
)
def test_a_text_that_its_quote_does_not_say_is_weak(value: str, line: int) -> None:
    assert state(value, line) == "weak"
