"""A wait for a state says at once, and with all it knows, that a task has ended in another one."""

from typing import Any

import pytest

from tests.engine import live as waiting
from tests.engine.live import Live
from tests.engine.pipelines import batch


def fails(_item: Any) -> None:
    raise ValueError("no such page")


def test_waiting_for_a_state_ends_when_the_task_has_ended_in_another(
    sqlite_live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "STAYS_SECONDS", 0.0)
    task = sqlite_live.client.submit(sqlite_live.know(batch(handler=fails)), items=["a"])
    with sqlite_live.working():
        with pytest.raises(AssertionError, match="failed instead of completed") as caught:
            sqlite_live.until(task, "completed", 600)
        assert sqlite_live.until(task, "failed").state == "failed"
    assert "no such page" in str(caught.value)
