"""People decide about changes: the book follows without a call, and decisions survive a redo."""

from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.apps.proofread import translate
from fanfold.testing import Engine
from tests.apps.proofread.answering import each, in_english, replacing
from tests.apps.proofread.archives import epub
from tests.apps.proofread.test_pipeline import CORRECT, NOVEL, submitted, text_of


@pytest.fixture
def novel(tmp_path: Path) -> Path:
    path = tmp_path / "novel.txt"
    path.write_text(NOVEL, encoding="utf-8")
    return path


def changes(engine: Engine, task: ff.Task) -> dict[str, tuple[str, str]]:
    """The chunk and the key of each change, by the text before it."""
    return {
        change["before"]: (result.key, change["key"])
        for result in engine.client.results(task.id)
        for paragraph in result.output["paragraphs"]
        for change in paragraph.get("changes", ())
    }


def decide(engine: Engine, task: ff.Task, before: str, verdict: str, value: Any = None) -> None:
    engine.client.decide(task.id, *changes(engine, task)[before], verdict, value)
    engine.run()


def test_a_rejected_change_is_undone_and_an_edited_one_is_replaced_without_a_call(engine: Engine, novel: Path) -> None:
    engine.answer(each(CORRECT))
    task = submitted(engine, novel)
    asked = len(engine.requests)
    decide(engine, task, "nigth", "reject")
    decide(engine, task, "teh", "replace", "all the")
    assert text_of(engine, task) == NOVEL.replace("teh", "all the")
    decide(engine, task, "nigth", "undo")
    assert "stormy night." in text_of(engine, task)
    assert len(engine.requests) == asked


def test_a_decision_survives_a_redo_that_gives_the_same_change(engine: Engine, novel: Path) -> None:
    engine.answers(*[each(CORRECT)] * 2)
    engine.answer(each(lambda text: CORRECT(text).replace("torrents", "sheets")))
    task = submitted(engine, novel, chunk_size=150)
    decide(engine, task, "nigth", "reject")
    engine.client.retry(task.id, ["1"])
    engine.run()
    assert "stormy nigth. The rain fell in sheets." in text_of(engine, task)


def test_undecided_changes_are_left_out_if_the_task_says_so(engine: Engine, novel: Path) -> None:
    engine.answer(each(CORRECT))
    task = submitted(engine, novel, undecided="reject")
    assert text_of(engine, task) == NOVEL
    decide(engine, task, "nigth", "accept")
    assert text_of(engine, task) == NOVEL.replace("nigth", "night")


def test_all_changes_of_a_rule_are_decided_by_one_action(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "rain.txt"
    path.write_text("　　雨,停了很久--走。\n\n　　天亮了,后来他走了。\n")
    engine.answer(each(replacing(("他走", "她走"))))
    task = submitted(engine, path)
    told = engine.client.do(task.id, "decide_changes", {"origin": "punctuation_width", "verdict": "reject"})
    engine.run()
    assert told.message == "2 changes: reject"
    assert text_of(engine, task) == "　　雨,停了很久——走。\n\n　　天亮了,后来她走了。\n"
    with pytest.raises(ff.ActionFailed, match="No change matches"):
        engine.client.do(task.id, "decide_changes", {"origin": "punctuation_width", "verdict": "reject"})
    engine.client.do(task.id, "decide_changes", {"topic": "words", "verdict": "reject"})
    engine.run()
    assert "他走了" in text_of(engine, task)


def test_decisions_that_would_tear_formatting_apart_keep_the_source(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "book.epub"
    path.write_bytes(epub())
    moved = replacing(("雨下得⟦1⟧很⟦2⟧急⟦/2⟧⟦/1⟧", "⟦1⟧雨下得⟦2⟧很急⟦/2⟧⟦/1⟧"))
    engine.answer(each(moved))
    task = submitted(engine, path, mode="edit", rules=["none"])
    [first, *_] = changes(engine, task).values()
    engine.client.decide(task.id, *first, "reject")
    engine.run()
    assert engine.task(task).state == "completed"
    assert engine.result(task)["gaps"] == 1


def test_a_rejected_translation_keeps_the_source(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "rain.txt"
    path.write_text("雨下得很急。\n\n天亮了，他走了。\n")
    engine.answer(each(in_english))
    task = submitted(engine, path, translate, to="en", terms="never")
    decide(engine, task, "雨下得很急。", "reject")
    assert text_of(engine, task) == "雨下得很急。\n\nIt rained，It rained。\n"
