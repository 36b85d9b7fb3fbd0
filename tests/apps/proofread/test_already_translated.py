"""Paragraphs that are in the target language already: they stay as they are, but a lazy model does not pass with others."""

from pathlib import Path
from typing import Any

import pytest

from fanfold.apps.proofread import translate
from fanfold.apps.proofread.checks.already import is_already_in, script_of_book
from fanfold.testing import Engine
from tests.apps.proofread.answering import each
from tests.apps.proofread.test_pipeline import report_of, submitted, text_of

ENGLISH = "It rained for three days, and nobody came to the old station by the river."
CHINESE = "雨下了三天，没有人到河边的旧车站来。"
QUOTED = "“子曰：学而时习之，不亦说乎？有朋自远方来，不亦乐乎？”"


@pytest.mark.parametrize(
    ("source", "language", "book", "already"),
    [
        (QUOTED, "zh", "latin", True),
        (CHINESE, "zh", "han", True),
        (ENGLISH, "zh", "latin", False),
        (f"{ENGLISH} 雨", "zh", "latin", False),
        ("學而時習之，這個國家的學問來說，還沒有過。", "zh", "latin", False),
        ("學而時習之，這個國家的學問來說，還沒有過。", "zh-TW", "latin", True),
        ("日本国憲法第九条第一項", "zh", "kana", False),
        (CHINESE, "ja", "latin", False),
        ("雨が三日も降り続いた。", "ja", "han", True),
        (ENGLISH, "en", "han", True),
        ("Il a plu pendant trois jours sur la vieille gare.", "en", "latin", False),
        (ENGLISH, "en", "", False),
        ("……", "zh", "latin", False),
        (ENGLISH, "tlh", "han", False),
    ],
)
def test_the_source_alone_tells_what_need_not_be_translated(
    source: str, language: str, book: str, already: bool
) -> None:
    assert is_already_in(source, language, book) is already


@pytest.mark.parametrize(
    ("text", "script"), [(ENGLISH, "latin"), (CHINESE, "han"), ("雨が降った。", "kana"), ("…", "")]
)
def test_a_book_has_one_main_script(text: str, script: str) -> None:
    assert script_of_book(text) == script


def lines(count: int) -> list[str]:
    """Paragraphs of an English book, each of which is different."""
    return [f"{ENGLISH[:-1]} in the year {1_900 + at}." for at in range(count)]


def test_a_paragraph_in_the_target_language_is_accepted_and_counted(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text("\n\n".join([*lines(30), QUOTED, *lines(30)]), encoding="utf-8")
    engine.answer(each(lambda text: text if text.strip() == QUOTED else f"雨下了三天，没有人来。{text[-5:-1]}年"))
    task = submitted(engine, path, translate, to="zh", terms="never", chunk_size=800)
    assert engine.task(task).degraded == 0
    report: Any = report_of(engine, task)
    assert (report["gaps"], report["already_translated"]) == ([], 1)
    assert QUOTED in text_of(engine, task)


def test_a_lazy_model_that_returns_the_source_leaves_gaps(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "book.txt"
    path.write_text("\n\n".join([*lines(3), QUOTED]), encoding="utf-8")
    engine.answer(each(lambda text: text))
    task = submitted(engine, path, translate, to="zh", terms="never")
    report: Any = report_of(engine, task)
    assert (len(report["gaps"]), report["already_translated"]) == (3, 1)
    assert engine.task(task).degraded == 1
