"""What the PDF pipeline makes of every kind of answer, on the engine for tests: no worker, no server, no waiting."""

import json
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.apps.pdf import pdf
from fanfold.apps.pdf.pages import ocr
from fanfold.testing import Engine, answer, busy, quota_used_up, rate_limited, refused, unknown_outcome
from tests.apps.pdf.making import make_blank, make_pdf, make_scan

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon"
GOOD = f"{WORDS} and {WORDS} once more"
LOST = "# A page with some text"
REFUSAL = "I'm sorry, I can't help with that."


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Three pages of text."""
    names = ("One", "Two", "Three")
    return make_pdf(tmp_path / "book.pdf", [f"{name} is its name: {WORDS} and {WORDS} once more." for name in names])


def convert(engine: Engine, source: Path, **options: Any) -> ff.Task:
    """The task of a document, with all done that can be."""
    task = engine.submit(pdf, source, options=options)
    engine.run()
    return engine.task(task)


def markdown(engine: Engine, task: ff.Task) -> str:
    result = engine.result(task)
    return str((result["markdown"] if isinstance(result, dict) else result).read_text())


def test_without_a_model_nobody_is_asked(engine: Engine, book: Path) -> None:
    task = convert(engine, book)
    assert task.state == "completed"
    assert [f"{name} is its name" in markdown(engine, task) for name in ("One", "Two", "Three")] == [True] * 3
    assert (engine.requests, engine.cost(task)) == ((), 0)


def test_a_model_sees_the_picture_of_each_page_once(engine: Engine, book: Path) -> None:
    engine.answer(lambda request: f"{GOOD}, seen by {request.model}")
    task = convert(engine, book, model="openai:large")
    assert task.state == "completed"
    assert markdown(engine, task).count("seen by large") == 3
    assert [len(request.images) for request in engine.requests] == [1, 1, 1]
    assert all(request.images[0].startswith(b"\xff\xd8") for request in engine.requests)
    assert engine.cost(task) == pytest.approx(0.03)


def test_the_prompt_can_be_replaced(engine: Engine, book: Path) -> None:
    engine.answer(GOOD)
    convert(engine, book, model="openai:large", prompt="Only the headings.", pages="1")
    assert "Only the headings." in engine.requests[0].prompt


def test_a_model_that_always_answers_500_never_looks_like_success(engine: Engine, book: Path) -> None:
    engine.answer(busy())
    task = convert(engine, book, model="openai:large", report=True)
    assert (task.state, task.done, task.degraded) == ("completed", 3, 3)
    report = json.loads(engine.result(task)["report"].read_text())
    assert all("text layer instead of a model: openai " in page["degraded"] for page in report["pages"])
    assert {item.failures for item in engine.items(task)} == {3}


def test_an_answer_that_lost_the_text_goes_to_the_next_model(engine: Engine, book: Path) -> None:
    engine.answer(LOST, model="large")
    engine.answer(GOOD, model="small")
    task = convert(engine, book, model="openai:large", fallback=["openai:small"], pages="2")
    assert [request.model for request in engine.requests] == ["large", "large", "small"]
    assert engine.item(task, "2").output["engine"] == "openai:small"
    assert task.degraded == 1


def test_a_used_up_daily_quota_goes_to_the_next_model_and_then_to_what_is_here(engine: Engine, book: Path) -> None:
    engine.answer(quota_used_up(), model="large")
    engine.answers(GOOD, quota_used_up(), model="small")
    engine.answer(quota_used_up(), model="small")
    one = convert(engine, book, model="openai:large", fallback=["openai:small"], pages="2")
    two = convert(engine, book, model="openai:large", fallback=["openai:small", "local"], pages="1")
    done = [engine.item(task, page).output["engine"] for task, page in ((one, "2"), (two, "1"))]
    assert done == ["openai:small", "text layer"]
    assert engine.clock.seconds < 60


def test_a_rate_limit_takes_time_and_nothing_else(engine: Engine, book: Path) -> None:
    engine.answers(rate_limited(after=120), rate_limited(after=120))
    engine.answer(GOOD)
    task = convert(engine, book, model="openai:large")
    assert (task.state, task.degraded) == ("completed", 0)
    assert sum(item.failures for item in engine.items(task)) == 0
    assert engine.clock.seconds >= 120


def test_a_refused_key_pauses_the_task_and_keeps_the_pages_that_are_done(engine: Engine, book: Path) -> None:
    engine.answers(GOOD, refused(), refused(), refused())
    task = convert(engine, book, model="openai:large")
    assert (task.state, task.done) == ("paused", 1)
    engine.answer(GOOD)
    engine.client.resume(task.id)
    engine.run()
    assert engine.task(task).state == "completed"
    assert len(engine.calls(task, "1")) == 1


def test_a_page_whose_answer_got_lost_is_possibly_paid(engine: Engine, book: Path) -> None:
    engine.answers(unknown_outcome())
    engine.answer(GOOD)
    task = convert(engine, book, model="openai:large")
    assert (task.spending.calls, task.spending.possibly_paid) == (3, 1)


def test_a_worker_that_dies_with_a_page_pays_for_it_once(engine: Engine, book: Path) -> None:
    engine.answer(answer(GOOD, cost=0.25))
    engine.before_settle(item="2").crash()
    task = convert(engine, book, model="openai:large")
    assert task.state == "completed"
    assert (engine.item(task, "2").item.crashes, len(engine.requests)) == (1, 3)
    assert engine.cost(task) == pytest.approx(0.75)


def test_a_pause_after_the_first_page_keeps_it(engine: Engine, book: Path) -> None:
    engine.answer(GOOD)
    engine.after_settle(count=1).pause()
    task = convert(engine, book, model="openai:large")
    assert (task.state, task.done) == ("paused", 1)
    engine.client.resume(task.id)
    engine.run()
    assert (engine.task(task).state, len(engine.requests)) == ("completed", 3)


def test_a_page_that_is_retried_with_another_model_is_merged_again(engine: Engine, book: Path) -> None:
    engine.answer(lambda request: f"{GOOD}, seen by {request.model}")
    task = convert(engine, book, model="openai:large")
    engine.client.retry(task.id, ["2"], options={"model": "openai:small"})
    engine.run()
    assert markdown(engine, task).count("seen by small") == 1
    assert len(engine.requests) == 4


def test_a_blank_page_is_done_empty_and_not_paid_for(engine: Engine, tmp_path: Path) -> None:
    task = convert(engine, make_blank(tmp_path / "blank.pdf"), model="openai:large")
    assert (task.done, engine.requests) == (1, ())
    assert engine.item(task, "1").output["markdown"] == ""


@pytest.mark.parametrize("option", ["auto", "never"])
def test_a_scan_that_the_model_refuses_fails_where_ocr_is_not_there_or_not_wanted(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    if option == "auto":
        monkeypatch.setattr(ocr, "available", lambda: False)
    engine.answer(REFUSAL)
    task = convert(engine, make_scan(tmp_path / "scan.pdf", ["A scanned page"]), model="openai:large", ocr=option)
    assert task.state == "failed"
    assert "refuses" in str(engine.items(task)[0].error_message)


def test_a_scan_without_ocr_says_how_to_get_it(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "available", lambda: False)
    scan = make_scan(tmp_path / "scan.pdf", ["A scanned page"])
    [item] = engine.items(convert(engine, scan))
    assert (item.error_code, item.failures) == ("no_ocr", 1)
    assert "pip install 'fanfold[ocr]'" in str(item.error_message)
    left = convert(engine, scan, ocr="never")
    assert engine.item(left, "1").output["note"] == "no text layer"
