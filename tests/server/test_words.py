"""The page is fully translated to Chinese: all template texts, states, commands and sentences."""

import re
import string
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fanfold.apps.pdf import pdf
from fanfold.apps.pdf.options import OPTIONS
from fanfold.model.lifecycle import COMMANDS, ItemState, TaskState
from fanfold.model.plan import Kind, Plan, PlannedStage
from fanfold.model.progress import Counts
from fanfold.model.text import catalogue
from fanfold.model.text.sentences import Sentence, without_typed
from fanfold.model.text.sentences import gaps as sentence_gaps
from fanfold.model.words import Facts, Trouble, needs_you, wait_reason
from fanfold.server.web.chinese import WORDS, sentences
from fanfold.server.web.frame.languages import Words, learn

WEB = Path(__file__).parents[2] / "fanfold" / "server" / "web"
SAID = re.compile(r"""\bt\(\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
CHINESE = Words("zh")
RENDERED = {"{{ reason | truncate(300, True) }}", "{{ ' needs-you' if task.needs_you }}"}
"""Rendered before it comes to its template, or not shown."""
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def texts() -> list[tuple[str, str]]:
    """(file, text) of everything that is translated."""
    files = [*(WEB / "templates").glob("*.html"), *WEB.glob("*.py")]
    found = [(file.name, match[1][1:-1]) for file in files for match in SAID.finditer(file.read_text(encoding="utf-8"))]
    assert len(found) > 150
    return found


def gaps(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_every_text_of_the_pages_has_its_chinese() -> None:
    missing = {(file, text) for file, text in texts() if text not in WORDS}
    assert not missing


def test_every_text_that_may_be_a_sentence_is_rendered_in_the_readers_language() -> None:
    shown = re.compile(r"{{[^}]*\b(?:error_message|wait_reason|needs_you|held|reason|advice|fact|money)\b[^}]*}}")
    raw = {
        (file.name, match[0])
        for file in (WEB / "templates").glob("*.html")
        for match in shown.finditer(file.read_text(encoding="utf-8"))
        if not re.search(r"t\.(sentence|why)\(", match[0])
    }
    assert {text for _, text in raw} == RENDERED


def test_a_translation_has_the_gaps_of_the_original() -> None:
    assert not {text for text, chinese in WORDS.items() if gaps(text) != gaps(chinese)}


def test_every_sentence_has_its_chinese_with_the_same_gaps() -> None:
    assert set(sentences.SENTENCES) == set(catalogue.ENGLISH)
    assert sum(map(len, sentences.PARTS)) == len(sentences.SENTENCES)
    other = {
        code
        for code, text in catalogue.ENGLISH.items()
        if sentence_gaps(text) != sentence_gaps(sentences.SENTENCES[code])
    }
    assert not other


def example(code: str) -> dict[str, object]:
    """A value for each gap of a sentence, of the kind that its English format asks for."""
    values: dict[str, object] = {}
    for _, name, spec, _ in string.Formatter().parse(catalogue.ENGLISH[code]):
        if name and (spec or name not in values):
            lists = spec in (";", "or", "then", "words", "a")
            times = spec in ("time", "clock")
            number = spec not in ("", "bare", "ended", "word", "state")
            values[name] = ["active", "paused"] if lists else NOON.isoformat() if times else 3 if number else "value"
    return values


@pytest.mark.parametrize("code", sorted(catalogue.ENGLISH))
def test_every_chinese_sentence_can_be_filled_with_what_the_english_one_is(code: str) -> None:
    said = Sentence("not rendered", code, example(code))
    assert CHINESE.sentence(said, typed=True) != "not rendered"
    assert Words("en").sentence(said, typed=True) != "not rendered"


def test_every_chinese_sentence_is_chinese() -> None:
    only_gaps = {
        code for code, text in catalogue.ENGLISH.items() if not re.search("[A-Za-z]", re.sub("{[^}]*}", "", text))
    }
    plain = {code for code, text in sentences.SENTENCES.items() if not re.search("[\u4e00-\u9fff]", text)}
    assert plain <= only_gaps


def test_what_only_helps_at_a_terminal_is_marked_in_both_languages() -> None:
    marked = {code for code, text in catalogue.ENGLISH.items() if "[[" in text}
    unclosed = {code for code, text in sentences.SENTENCES.items() if text.count("[[") != text.count("]]")}
    assert not unclosed
    assert {code for code, text in sentences.SENTENCES.items() if "[[" in text} <= marked
    for code, text in sentences.SENTENCES.items():  # A program does not get text meant only for a terminal.
        assert sentence_gaps(without_typed(text)) <= sentence_gaps(without_typed(catalogue.ENGLISH[code])), code


@pytest.mark.parametrize(
    "word", [*TaskState, *ItemState, *COMMANDS, "splitting", "processing", "merging", "ready to merge"]
)
def test_states_and_commands_have_their_chinese(word: str) -> None:
    assert re.search("[\u4e00-\u9fff]", CHINESE(word))


@pytest.mark.parametrize(
    "meaning", [text for one in OPTIONS for text in (one.help, one.title, one.group) if text not in ("", "OCR")]
)
def test_the_options_of_the_pdf_application_are_explained_in_chinese(meaning: str) -> None:
    learn([pdf])
    assert re.search("[\u4e00-\u9fff]", CHINESE(meaning))


@pytest.mark.parametrize(
    "facts",
    [
        {"state": TaskState.WAITING},
        {"state": TaskState.PAUSED},
        {"state": TaskState.PAUSED, "reason": "the key was refused"},
        {"state": TaskState.PARTIAL, "failed_items": 3},
        {"state": TaskState.ACTIVE, "counts": Counts({"pending": 1}), "served": False},
        {"state": TaskState.ACTIVE, "counts": Counts({"retrying": 1}), "trouble": Trouble("429")},
        {"state": TaskState.ACTIVE, "counts": Counts({"retrying": 1}), "trouble": Trouble("", "rate_limited", "fake")},
        {
            "state": TaskState.ACTIVE,
            "counts": Counts({"retrying": 1}),
            "trouble": Trouble("", "unreachable", "fake", NOON),
            "next_due_at": NOON + timedelta(seconds=8),
            "now": NOON,
        },
        {
            "state": TaskState.ACTIVE,
            "counts": Counts({"retrying": 1}),
            "trouble": Trouble("", "unreachable", "fake", NOON),
            "next_due_at": NOON + timedelta(days=2),
            "now": NOON + timedelta(days=1),
        },
        {"state": TaskState.ACTIVE, "counts": Counts({"retrying": 1}), "next_due_at": NOON},
        {"state": TaskState.ACTIVE, "counts": Counts({"retrying": 1}), "trouble": Trouble("", "odd", "fake")},
        {"state": TaskState.ACTIVE, "counts": Counts({"waiting": 1})},
        {"state": TaskState.ACTIVE, "counts": Counts({"waiting": 2}), "held": 2, "hold": "look at it"},
        {"state": TaskState.COMPLETED, "degraded": 2},
        {
            "state": TaskState.ACTIVE,
            "counts": Counts({"retrying": 1, "running": 1}),
            "trouble": Trouble("", "rate_limited", "fake", NOON, NOON, True),
            "now": NOON,
        },
    ],
)
def test_why_a_task_waits_is_said_in_chinese(facts: dict[str, object]) -> None:
    plan = Plan((PlannedStage("convert", Kind.EACH),), False, False, False)
    known: dict[str, object] = {"stage": "convert", "plan": plan, "counts": Counts(), **facts}
    said = wait_reason(Facts(**known)) or needs_you(Facts(**known))  # type: ignore[arg-type]
    assert isinstance(said, Sentence)
    translated = CHINESE.sentence(said)
    assert re.search("[\u4e00-\u9fff]", translated), said
    assert not re.search("wait|failed:|no worker|since|retry|degraded", translated)


PLURAL = re.compile(r"\{count\} (?:\w+ )?(?:\w+s|that are|are|have|wait|watch)\b|these \{count\}|of \{count\}")
ALWAYS_MANY = {
    "Each cell is {count} items: hover for their states, click to list them.",
    "Start over: {count} items will be redone{cost}.",
    "{count} items wait for you",
}
"""Shown only for two or more, or in Chinese."""


def test_no_text_of_the_pages_says_one_items() -> None:
    """A number that a person reads beside a noun: 1 call, not 1 calls."""
    english = Words("en")
    counted = {text for _, text in texts() if PLURAL.search(text)} - ALWAYS_MANY
    assert len(counted) >= 12
    values = {name: "…" for text in counted for name in gaps(text)} | {"count": "1"}
    wrong = {text for text in counted if english(text, **values) == text.format(**values)}
    assert not wrong
    assert english("{count} calls", count=1) == "1 call"
    assert english("{count} calls", count="2") == "2 calls"
    assert english("retry these {count}", count=1) == "retry it"
