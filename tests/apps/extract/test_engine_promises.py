"""Extractions keep the engine's promises: submits are complete, late answers change nothing, errors are retried by kind."""

import time
from typing import Any

import pytest

import fanfold as ff
from fanfold.apps.extract import extract
from fanfold.testing import Engine, busy, quota_used_up, rate_limited, rejected
from tests.apps.extract.answering import honest
from tests.apps.extract.test_pipeline import KNOWN, PAPER, TEMPLATE, rows
from tests.installation import Installation

OPTIONS = {"template": TEMPLATE, "model": "openai:large"}


def papers(count: int) -> list[ff.NewItem]:
    return [
        ff.NewItem(f"p{number}", {"name": f"{number}.txt", "text": f"{PAPER}\n{number}"}) for number in range(count)
    ]


def test_one_request_makes_a_task_with_all_its_documents_claimable(installation: Installation) -> None:
    client = installation.client
    installation.know(extract)
    client.submit(extract, items=papers(1), options=OPTIONS)
    begun = time.perf_counter()
    task = client.submit(extract, items=papers(100), options=OPTIONS, key="once")
    seconds = time.perf_counter() - begun
    assert (task.total, client.submit(extract, items=papers(100), options=OPTIONS, key="once").id) == (100, task.id)
    # 0.1 s on a quiet machine; the limit here only tells a loop of statements from one.
    assert seconds < 3


def test_a_late_answer_never_overwrites_a_record_and_costs_no_second_call(engine: Engine) -> None:
    engine.answer(honest(KNOWN))
    engine.before_settle(stage="extract", item="p0").crash()
    task = engine.submit(extract, items=papers(2), options=OPTIONS)
    engine.run()
    assert engine.task(task).state == "completed"
    assert (len(engine.requests), len(rows(engine, task))) == (2, 2)


def test_permanent_errors_fail_at_once_and_temporary_ones_are_tried_again(engine: Engine) -> None:
    engine.answer(
        rejected(), to="\n4| The trial began on 12 March 2019 and was funded by nobody in particular.\n5| 0\n"
    )
    engine.answers(busy(), busy(), to="5| 1")
    engine.answers(rate_limited(after=30), to="5| 2")
    engine.answer(honest(KNOWN))
    task = engine.submit(extract, items=papers(3), options=OPTIONS)
    engine.run()
    first, second, third = engine.items(task, "extract")
    assert (first.state, first.failures) == ("failed", 1)
    assert (second.state, second.failures) == ("done", 2)
    assert (third.state, third.failures) == ("done", 0)
    assert engine.task(task).state == "completed"


def test_a_used_up_daily_quota_goes_to_the_next_model(engine: Engine) -> None:
    engine.answer(quota_used_up(), model="large")
    engine.answer(honest(KNOWN), model="small")
    options = OPTIONS | {"model": "openai:large", "fallback": ["openai:small"]}
    task = engine.submit(extract, items=papers(2), options=options)
    engine.run()
    assert (engine.task(task).state, {item.state for item in engine.items(task, "extract")}) == ("completed", {"done"})
    assert engine.clock.seconds < 60


def test_the_row_of_the_task_is_not_written_while_documents_are_asked_about(installation: Installation) -> None:
    installation.know(extract)
    task = installation.client.submit(extract, items=papers(3), options=OPTIONS)
    worker = installation.worker()
    claimed = worker.claim()
    with installation.statements() as said:
        worker.finish(*claimed[:-1], output='{"name": "a", "text": "b", "rows": [], "sha256": "c", "pages": null}')
    assert len(claimed) == 3
    assert not [one for one in said if one.lstrip().upper().startswith("UPDATE TASKS")]
    assert installation.client.get(task.id).done == 2


def test_progress_is_one_grouped_query_whatever_the_number_of_documents(installation: Installation) -> None:
    installation.know(extract)
    counts = []
    for size in (2, 200):
        task = installation.client.submit(extract, items=papers(size), options=OPTIONS)
        with installation.statements() as said:
            shown = installation.client.get(task.id)
        counts.append((len(said), sum("GROUP BY items." in one for one in said)))
        assert (shown.total, shown.done, shown.failed) == (size, 0, 0)
    assert counts[0] == counts[1]
    assert counts[0][1] == 1


def test_a_dead_worker_is_noticed_and_its_document_is_asked_about_again(engine: Engine) -> None:
    engine.answer(honest(KNOWN))
    engine.before_handler(stage="extract", item="p1").crash()
    task = engine.submit(extract, items=papers(3), options=OPTIONS)
    engine.run()
    assert (engine.task(task).state, engine.item(task, "p1", "extract").item.crashes) == ("completed", 1)


@pytest.mark.parametrize("size", [1, 300])
def test_one_document_and_three_hundred_are_the_same_thing(engine: Engine, size: int) -> None:
    engine.answer(honest(KNOWN))
    task = engine.submit(extract, items=papers(size), options=OPTIONS)
    engine.run()
    made: Any = engine.result(task)
    assert (made["rows"], made["cells"]) == (size, {"absent": size, "ok": 3 * size})
    assert len(engine.requests) == size
