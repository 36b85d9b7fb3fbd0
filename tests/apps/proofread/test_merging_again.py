"""The cost of a merge after a decision: it reads and makes one chunk, however long the book is."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fanfold.apps.proofread.stages import merging
from fanfold.apps.proofread.stages.validating import book_of
from fanfold.testing import Engine
from tests.apps.proofread.answering import each
from tests.apps.proofread.test_pipeline import CORRECT, NOVEL, report_of, submitted, text_of

CHUNKS = 300


@pytest.fixture
def novel(tmp_path: Path) -> Path:
    path = tmp_path / "novel.txt"
    line = "雨停了,他走了很远的路" * 8
    path.write_text("\n\n".join(f"{line}{at}。" for at in range(CHUNKS)), encoding="utf-8")
    return path


class Counted:
    """Counts calls of a function that is still called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, where: Any, name: str) -> None:
        self.count = 0
        self._called = getattr(where, name)
        monkeypatch.setattr(where, name, self._call)

    def _call(self, *given: Any, **named: Any) -> Any:
        self.count += 1
        return self._called(*given, **named)


def first_change(engine: Engine, task: str, at: int) -> tuple[str, str]:
    """The item and the key of the first change of a chunk."""
    result: Any = list(engine.client.results(task))[at]
    return result.key, result.output["paragraphs"][0]["changes"][0]["key"]


def test_only_the_chunk_of_the_decision_is_made_again(
    engine: Engine, novel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = submitted(engine, novel, rules_only=True, chunk_size=100)
    whole = text_of(engine, task)
    assert engine.result(task)["chunks"] == CHUNKS
    for verdict, chunk in (("reject", 7), ("reject", 200), ("undo", 7)):
        key, part = first_change(engine, task.id, chunk)
        pieces = Counted(monkeypatch, merging, "piece_of")
        engine.client.decide(task.id, key, part, verdict)
        engine.run()
        assert pieces.count == 1
        monkeypatch.undo()
    lines = whole.split("\n\n")
    lines[200] = lines[200].removeprefix("　　")
    assert text_of(engine, task) == "\n\n".join(lines)
    assert engine.result(task)["changes"] == CHUNKS * 9


def test_a_redone_chunk_and_its_calls_are_read_again(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "novel.txt"
    path.write_text(NOVEL, encoding="utf-8")
    engine.answer(each(CORRECT))
    task = submitted(engine, path, chunk_size=150)
    before = report_of(engine, task)
    engine.client.retry(task.id, ["1"], options={"fresh": "2"})
    engine.run()
    after = report_of(engine, task)
    assert after["calls"] == before["calls"] + 1


def test_a_repeated_merge_takes_a_fraction_of_the_first(engine: Engine, novel: Path) -> None:
    """Compares processor time in one process, so other load does not matter."""
    task = submitted(engine, novel, rules_only=True, chunk_size=100)
    results: Any = engine.client.results(task.id)
    memory: dict[int, Any] = {}

    def seconds() -> float:
        began = time.process_time()
        list(results.remembered(lambda result: merging.piece_of(result, "accept"), memory))
        return time.process_time() - began

    first = seconds()
    assert min(seconds() for _ in range(5)) < first / 2


def test_a_chunk_of_a_book_that_is_now_read_differently_is_not_written(
    engine: Engine, novel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upgrade may find more text in a file. Then the blocks have other numbers, and a merge would mix up paragraphs."""
    from fanfold.apps.proofread.stages import open_books

    task = submitted(engine, novel, rules_only=True)
    key, part = first_change(engine, task.id, 0)

    def shifted(path: Path, options: Any) -> Any:
        book = book_of(path, options)
        first, *others = book.blocks
        return replace(book, blocks=(replace(first, text="新的一段"), *others))

    monkeypatch.setattr(open_books, "_OPEN", {})
    monkeypatch.setattr(open_books, "book_of", shifted)
    engine.client.decide(task.id, key, part, "reject")
    engine.run()
    found = engine.task(task)
    assert found.state == "failed"
    assert "reads novel.txt differently" in str(found.error_message)
