"""The start of a child process costs its item nothing: no time, no retry, no suspicion."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fanfold.engine.handlers.stop import NoClock
from fanfold.engine.tasks.recovery.sweep import HANG_GRACE_SECONDS, recover
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.attempt.call import Call
from fanfold.engine.worker.processes import child
from fanfold.engine.worker.processes.child import find_handler
from fanfold.engine.worker.processes.children import _request
from fanfold.errors import DatabaseProblem
from fanfold.store.items.find_work import Ready
from fanfold.store.rows.workers import Report
from tests.engine import slow_import
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.installation import HandClock, Installation, number_of
from tests.waiting import eventually

pytestmark = pytest.mark.one_database


def only(live: Live, task: Any) -> Any:
    [item] = live.client.items(task.id)
    return item


def test_imports_of_a_child_do_not_count_against_the_time_limit(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(slow_import.HOW, "sleep 6")
    task = live.client.submit(live.know(slow_import.slow), items=["a"])
    with live.working():
        live.until(task, "completed", 60)
    item = only(live, task)
    assert (item.attempts, item.failures, item.crashes) == (1, 0, 0)


def test_time_stands_still_while_a_child_starts_for_a_part_of_a_handler(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(slow_import.HOW, "sleep 6")

    async def handler(item: Any) -> Any:
        return await item.in_child(slow_import.double, item.input)

    task = live.client.submit(live.know(batch(handler=handler, timeout=4.0)), items=[4])
    with live.working():
        live.until(task, "completed", 60)
    assert live.client.result(task.id) == [8]
    assert only(live, task).attempts == 1


def test_time_goes_on_when_a_part_of_a_handler_has_begun(live: Live) -> None:
    async def handler(item: Any) -> Any:
        return await item.in_child(time.sleep, 3_600)

    task = live.client.submit(live.know(batch(handler=handler, timeout=4.0)), items=[1])
    with live.working():
        live.until(task, "failed", 60)
    assert only(live, task).error_code == "timeout"


def test_a_suspect_has_its_time_from_its_call_on(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(slow_import.HOW, "sleep 6")
    monkeypatch.setitem(slow_import.plain.stages, "shout", replace(slow_import.plain.stages["shout"], timeout=4.0))
    task = live.client.submit(live.know(slow_import.plain), items=["a"])
    live.sql("UPDATE items SET crashes = 2")
    with live.working():
        live.until(task, "completed", 60)
    item = only(live, task)
    assert (item.attempts, item.failures, item.crashes) == (1, 0, 2)


def test_a_child_that_never_starts_is_given_up_and_costs_its_item_nothing(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = Live(database_url, tmp_path / "data", child_start_seconds=2.0)
    monkeypatch.setenv(slow_import.HOW, "sleep 3600")
    task = live.client.submit(live.know(slow_import.slow), items=["a"])
    with live.working():
        eventually(lambda: live.states(task) == "retrying")
        item = only(live, task)
        assert (item.error_code, item.failures, item.crashes) == ("child_start", 0, 0)
        assert "not ready after 2 s" in str(item.error_message)
        assert "FANFOLD_CHILD_START_SECONDS" in str(item.error_message)
    live.store.close()
    monkeypatch.delenv(slow_import.HOW)
    patient = Live(database_url, tmp_path / "data")
    with patient.working(slow_import.slow):
        patient.until(task, "completed", 120)
    item = only(patient, task)
    assert (item.failures, item.crashes) == (0, 0)
    patient.store.close()


def test_a_child_that_dies_while_it_starts_costs_its_item_nothing(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(slow_import.HOW, "exit")
    task = live.client.submit(live.know(slow_import.slow), items=["a"])
    with live.working():
        eventually(lambda: live.states(task) == "retrying")
        item = only(live, task)
        assert (item.error_code, item.failures, item.crashes) == ("child_start", 0, 0)
        assert "died while it started (exit code 7)" in str(item.error_message)
        monkeypatch.delenv(slow_import.HOW)
        live.until(task, "completed", 90)


def test_an_import_that_raises_is_an_error_of_the_stage(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(slow_import.HOW, "raise")
    task = live.client.submit(live.know(slow_import.slow), items=["a"])
    with live.working():
        live.until(task, "failed", 60)
    item = only(live, task)
    assert (item.error_code, item.crashes) == ("not_isolated", 0)
    said = str(item.error_message)
    for part in ("The stage read", "tests.engine.slow_import", "RuntimeError: the model file is missing"):
        assert part in said
    assert f"fanfold retry {task.id}" in said


def test_an_import_that_raises_in_a_part_of_a_handler_is_said_as_well(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(slow_import.HOW, "raise")

    async def handler(item: Any) -> Any:
        return await item.in_child(slow_import.double, item.input)

    task = live.client.submit(live.know(batch(handler=handler)), items=[4])
    with live.working():
        live.until(task, "failed", 60)
    item = only(live, task)
    assert item.error_code == "not_isolated"
    assert "importing tests.engine.slow_import there raised RuntimeError: the model file is missing" in str(
        item.error_message
    )


def test_a_slow_start_keeps_the_sweep_away(installation: Installation, clock: HandClock) -> None:
    task = installation.client.submit(installation.know(batch(timeout=5.0)), items=["a"])
    ready = Ready(number_of(installation, task), "batch", "convert", 0)
    with installation.store.write() as tx:
        tx.workers.register("w", "host", 1, [], 1)
        [claimed] = tx.claiming.claim(ready, "w", 1, timeout=5.0)
    with installation.store.write() as tx:
        tx.settling.put_off_deadline(claimed.id, claimed.lease - 1, 1_000.0)  # Not the owner: nothing happens.
        tx.settling.put_off_deadline(claimed.id, claimed.lease, 60.0)

    def after(seconds: float) -> str:
        clock.advance(seconds)
        with installation.store.write() as tx:
            assert tx.workers.beat("w", Report(1), 1e9)
        recover(installation.store, "sweep")
        return installation.states(task)

    assert after(5 + HANG_GRACE_SECONDS + 30) == "running"
    assert after(31) == "pending"


def test_a_handler_is_found_also_when_its_module_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "alone.py").write_text("def work():\n    return 5\n")
    assert find_handler("not_importable_by_name", str(tmp_path / "alone.py"), "work")() == 5


def test_a_child_without_a_database_hands_its_item_back(live: Live) -> None:
    def unreachable() -> Any:
        raise DatabaseProblem("Nobody there.", code="unreachable")

    pipeline = live.know(slow_import.slow)
    task = live.client.submit(pipeline, items=["a"])
    with live.store.write() as tx:
        [row] = tx.tasks.by_ids([task.id])
        [claimed] = tx.claiming.claim(Ready(row.number, "slow-import", "read", 0), "w", 1)
    call = Call(live.store, pipeline, pipeline.stages["read"], row, claimed)
    begun: list[bool] = []
    settlement = child._settlement(unreachable, _request(call), lambda: begun.append(True), NoClock())
    assert isinstance(settlement, Settlement)
    assert (settlement.ending, settlement.counted, begun) == ("back_off", False, [])
