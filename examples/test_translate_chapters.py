"""Tests of `translate_chapters.py`: the real engine in memory, scripted answers, no waiting.

pytest examples/test_translate_chapters.py
"""

from translate_chapters import book

import fanfold as ff
from fanfold.testing import Engine, busy, rate_limited, timed_out

pytest_plugins = ["fanfold.testing.fixtures"]
NOVEL = ff.Upload("novel.txt", b"eins\fzwei\fdrei")


def test_chapters_are_bound_in_order(engine: Engine) -> None:
    engine.answers("one", "two", "three")
    task = engine.submit(book, NOVEL)
    engine.run()
    assert engine.result(task).read_text() == "one\n\ntwo\n\nthree"


def test_a_rate_limit_uses_up_no_retry(engine: Engine) -> None:
    engine.answers(rate_limited(after=60), to="zwei")
    engine.answer("text")
    task = engine.submit(book, NOVEL)
    engine.run()
    assert engine.item(task, "002").item.failures == 0


def test_a_chapter_that_fails_leaves_the_others(engine: Engine) -> None:
    engine.answer(busy(), to="zwei")
    engine.answer("text")
    task = engine.submit(book, NOVEL)
    engine.run()
    assert [item.state for item in engine.items(task)] == ["done", "failed", "done"]
    assert engine.task(task).state == "partial"


def test_a_call_without_an_answer_may_have_been_paid(engine: Engine) -> None:
    engine.answers(timed_out())
    engine.answer("text")
    task = engine.submit(book, NOVEL)
    engine.run()
    assert engine.task(task).spending.possibly_paid == 1


def test_a_crash_is_not_paid_twice(engine: Engine) -> None:
    engine.answer("text")
    engine.before_settle(item="002").crash()
    task = engine.submit(book, NOVEL)
    engine.run()
    assert engine.task(task).state == "completed"
    assert len(engine.requests) == 3
