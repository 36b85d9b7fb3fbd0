"""A pipeline can be run where an event loop runs already, and `run` says so when it is called there."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from tests.engine.pipelines import batch
from tests.waiting import eventually


@pytest.fixture
def place(tmp_path: Path) -> dict[str, Any]:
    """Where a run keeps its things."""
    return {"database": f"sqlite:///{tmp_path / 'run.db'}", "data": str(tmp_path / "data"), "progress": False}


def test_run_in_a_running_loop_names_the_way_out(place: dict[str, Any]) -> None:
    async def notebook() -> None:
        ff.run(batch(), items=["a"], **place)

    with pytest.raises(ff.BadInput, match=r"await fanfold\.arun"):
        asyncio.run(notebook())


def test_a_worker_in_a_running_loop_names_the_way_out(place: dict[str, Any]) -> None:
    async def notebook() -> None:
        ff.Worker([batch()], database=place["database"], data=place["data"]).run(drain=True)

    ff.run(batch(), items=["a"], **place)
    with pytest.raises(ff.BadInput, match=r"await asyncio\.to_thread\(worker\.run\)"):
        asyncio.run(notebook())


def test_arun_gives_the_result_while_the_loop_goes_on(place: dict[str, Any]) -> None:
    turns = 0

    async def notebook() -> Any:
        nonlocal turns
        running = asyncio.create_task(ff.arun(batch(), items=["a", "b"], **place))
        while not running.done():
            await asyncio.sleep(0.01)
            turns += 1
        return await running

    assert asyncio.run(notebook()) == ["A", "B"]
    assert turns > 1


def test_two_at_once_in_one_loop(place: dict[str, Any]) -> None:
    async def notebook() -> Any:
        return await asyncio.gather(
            ff.arun(batch("one"), items=["a"], **place), ff.arun(batch("two"), items=["b"], **place)
        )

    assert asyncio.run(notebook()) == [["A"], ["B"]]


def test_an_error_of_the_run_comes_out_of_arun(place: dict[str, Any]) -> None:
    with pytest.raises(ff.TaskStopped, match="failed"):
        asyncio.run(ff.arun(batch(), items=["bad"], **place))


def test_a_cancelled_arun_hands_back_and_goes_on_later(place: dict[str, Any]) -> None:
    calls: list[str] = []

    async def slow(item: Any) -> str:
        calls.append(item.key)
        await asyncio.sleep(0 if len(calls) > 1 else 600)
        return "done"

    async def notebook() -> None:
        running = asyncio.create_task(ff.arun(batch(handler=slow, timeout=None), items=["a"], **place))
        await asyncio.to_thread(eventually, lambda: calls, 60)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(notebook())
    assert asyncio.run(ff.arun(batch(handler=slow, timeout=None), items=["a"], **place)) == ["done"]
    assert len(calls) == 2
