"""Does the page speak Chinese throughout? Every text of the templates, every state, command and sentence of the engine."""

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
from fanfold.model.words import Facts, Trouble, wait_reason
from fanfold.server.web.chinese import WORDS
from fanfold.server.web.languages import Words, learn

WEB = Path(__file__).parents[2] / "fanfold" / "server" / "web"
SAID = re.compile(r"""\bt\(\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
CHINESE = Words("zh")
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


def test_a_translation_has_the_gaps_of_the_original() -> None:
    assert not {text for text, chinese in WORDS.items() if gaps(text) != gaps(chinese)}


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
    ],
)
def test_why_a_task_waits_is_said_in_chinese(facts: dict[str, object]) -> None:
    plan = Plan((PlannedStage("convert", Kind.EACH),), False, False, False)
    known: dict[str, object] = {"stage": "convert", "plan": plan, "counts": Counts(), **facts}
    said = wait_reason(Facts(**known))  # type: ignore[arg-type]
    assert said
    translated = CHINESE.sentence(said)
    assert re.search("[\u4e00-\u9fff]", translated), said
    assert not re.search("waits for|failed:|no worker", translated)
