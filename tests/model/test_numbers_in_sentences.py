"""Numbers in messages: the right noun for one, for none and for many, and sizes in a unit that fits."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping

import pytest

from fanfold.apps.extract.pipeline import extract
from fanfold.apps.pdf.pipeline import pdf
from fanfold.apps.photo.pipeline import photo
from fanfold.apps.proofread.pipeline import proofread
from fanfold.model.text import catalogue
from fanfold.model.text.sentences import ENGLISH, Language, Sentence, render, say
from fanfold.model.text.sizes import told_size
from fanfold.model.values import serial
from fanfold.server.web.frame.languages import Words

NOUNS = (
    "attempts|bytes|calls|characters|columns|credits|days|decisions|digits|documents|errors|fields|files|handlers|hours|"
    "images|items|levels|letters|megapixels|models|names|pages|paragraphs|pictures|pixels|questions|results|rows|seconds|"
    "stages|subtasks|tasks|times|tokens|values|versions|workers"
)
ONE_OF_MANY = re.compile(rf"(?<![\d.,-])1 (?:[a-z]+ )?(?:{NOUNS})\b")
MANY_OF_ONE = re.compile(rf"\b[02] (?:{'|'.join(noun.removesuffix('s') for noun in NOUNS.split('|'))})\b")
LIMITS = ("most", "limit", "seconds", "megapixels")
"""Limits, which are never 1."""
NAMES = ("ending", "file", "format", "kind", "name", "pipeline", "task")
ALWAYS_MANY = {
    "decisions_about_items",
    "extract.duplicate_file",
    "extract.many_row_fields",
    "extract.member_bomb",
    "extract.windows_differ",
    "extract.archive_too_many",
    "pdf.too_many_pages",
    "photo.too_many_images",
    "photo.too_many_pixels",
    "proofread.repetition",
    "proofread.too_many_changes",
    "said_too_long",
}
"""Said only about several."""


def all_templates() -> dict[str, str]:
    """Every English sentence by its code."""
    found = dict(catalogue.ENGLISH)
    for pipeline in (extract, pdf, photo, proofread):
        assert pipeline.words.sentences is not None
        found |= pipeline.words.sentences.english
    return found


TEMPLATES = all_templates()


def with_numbers(code: str, number: int) -> str:
    """The sentence with this number in every place that takes one."""
    values: dict[str, object] = {}
    for name, spec in placeholders(TEMPLATES[code]):
        lists = spec in (";", "or", "then", "words", "a")
        times = spec in ("time", "clock")
        usual = ["x"] if lists else "2030-01-01T00:00:00+00:00" if times else number
        text = name in NAMES or spec in ("word", "state", "bare", "ended") or "!" in spec
        values[name] = 100 if name in LIMITS else "x" if text else usual
    return render(Sentence("not rendered", code, values), Language(TEMPLATES), typed=True)


def placeholders(template: str) -> Iterator[tuple[str, str]]:
    """Names with formats: the one that says most about the kind of value comes last."""
    known: dict[str, str] = {}
    for _, name, spec, conversion in string.Formatter().parse(template):
        if name:
            known[name] = f"!{conversion}" if conversion else spec or known.get(name, "")
    return iter(known.items())


@pytest.mark.parametrize("code", sorted(set(TEMPLATES) - ALWAYS_MANY))
def test_a_count_has_the_right_noun_for_none_one_and_many(code: str) -> None:
    told = {number: with_numbers(code, number) for number in (0, 1, 2)}
    assert "not rendered" not in told.values()
    assert ONE_OF_MANY.search(told[1]) is None, told[1]
    for number in (0, 2):
        assert MANY_OF_ONE.search(told[number]) is None, told[number]


def test_the_reason_of_one_item_is_not_told_as_that_of_all() -> None:
    told = [str(say("items_failed", count=count, stage="convert", why="page 7 is torn")) for count in (1, 6)]
    assert told == [
        "1 item of convert failed: page 7 is torn",
        "6 items of convert failed, for example: page 7 is torn",
    ]
    chinese = [Words("zh").sentence(say("items_failed", count=count, stage="e", why="x")) for count in (1, 6)]
    assert chinese == ["e 的 1 个条目失败：x", "e 的 6 个条目失败，例如：x"]


def test_the_test_of_counts_finds_a_wrong_noun() -> None:
    assert ONE_OF_MANY.search("1 items of convert failed")
    assert ONE_OF_MANY.search("and 1 unanswered calls may be charged")
    assert not ONE_OF_MANY.search("1 item of convert failed")
    assert MANY_OF_ONE.search("0 item of convert")


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1_000, "1 kB"), (1_500, "1.5 kB"), (20_480, "20.48 kB"),
        (999_999, "1 MB"), (2_000_000, "2 MB"), (2_150_000, "2.15 MB"), (5_368_709_120, "5.37 GB"), (10**13, "10000 GB"),
    ],
)  # fmt: skip
def test_a_size_is_told_in_the_unit_that_fits(number: int, told: str) -> None:
    assert told_size(number) == told


def test_a_limit_below_a_megabyte_is_not_nothing() -> None:
    with pytest.raises(Exception, match=r"is 2 MB; the limit is 100 kB\."):
        serial.dump("x" * 1_999_998, "The result", limit=100_000)
    assert str(say("json_too_large", limit=512, most=64_000_000)).startswith(
        "The request is larger than 512 bytes, the"
    )


def test_no_sentence_has_a_fixed_unit_for_bytes() -> None:
    fixed = [code for code, text in catalogue.ENGLISH.items() if re.search(r"\} (?:MB|kB)\b", text)]
    assert fixed == []


def test_a_language_has_its_own_word_for_bytes() -> None:
    language: Mapping[str, str] = {"request_too_large": "超过 {limit:size}"}
    told = render(say("request_too_large", limit=512), Language(language, byte=("字节", "字节")))
    assert told == "超过 512 字节"
    assert ENGLISH.byte == ("byte", "bytes")
