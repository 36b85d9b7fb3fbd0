"""A process that follows a hint takes many fast items per turn, and still lets go of them when they are not wanted."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from fanfold.carriers.hint import Hint, follow
from fanfold.engine.tasks.recovery.tick import CARRIED_AHEAD_SECONDS
from fanfold.engine.worker.claiming.ahead import HandlerTimes, room_ahead
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.waiting import eventually

HINT = Hint("batch", "convert", 600.0)
PAIR = ("batch", "convert")


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    made = Live(database_url, tmp_path / "data")
    yield made
    made.store.close()


def echo(item: Any) -> Any:
    return item.input


def test_one_slot_has_a_third_of_a_second_of_work_ahead() -> None:
    pipeline, times = batch(handler=echo), HandlerTimes()
    times.add(PAIR, 0.01)
    served = [(pipeline, pipeline.stages["convert"])]
    assert room_ahead(served, 1, times, {}, CARRIED_AHEAD_SECONDS) == {PAIR: 30}
    assert room_ahead(served, 1, times, {PAIR: 29}, CARRIED_AHEAD_SECONDS) == {PAIR: 1}
    times.at_least(PAIR, 0.5)
    assert room_ahead(served, 1, times, {}, CARRIED_AHEAD_SECONDS) == {}, "slow items are claimed when they can start"


def test_functions_one_at_a_time_take_less_than_a_statement_each(live: Live) -> None:
    """A turn for each of them would be more than ten."""
    count = 600
    pipeline = live.know(batch(handler=echo))
    task = live.client.submit(pipeline, items=range(count))
    said: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        said.append(statement)

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        report = follow(live.store, [pipeline], HINT)
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)
    assert report is not None
    assert report.finished == count
    assert live.client.get(task.id).state == "completed"
    assert len(said) < count, len(said)


def test_a_pause_lets_go_of_what_waits_in_the_process(live: Live) -> None:
    def handler(item: Any) -> Any:
        time.sleep(0.002)
        return item.input

    count = 20_000
    pipeline = live.know(batch(handler=handler))
    task = live.client.submit(pipeline, items=range(count))
    process = threading.Thread(target=follow, args=(live.store, [pipeline], HINT))
    process.start()
    eventually(lambda: live.client.get(task.id).done > 0)
    live.client.pause(task.id)
    process.join(100)
    assert not process.is_alive(), "nothing is left to do"
    found = live.client.get(task.id)
    assert found.state == "paused"
    assert live.sql("SELECT count(*) FROM items WHERE state = 'running'") == [(0,)]
    assert found.done < count
    assert live.sql("SELECT count(*) FROM items WHERE state = 'pending' AND crashes + failures > 0") == [(0,)]
