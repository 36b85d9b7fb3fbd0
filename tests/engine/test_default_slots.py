"""A worker has slots for what its stages allow, and says what limits them."""

import asyncio
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.worker.claiming.slots import capped, slots_for
from fanfold.engine.worker.loop import Worker
from tests.engine.live import Live


async def in_loop(_item: Any) -> int:
    return 1


def in_thread(_item: Any) -> int:
    return 1


def stages(*made: tuple[Any, dict[str, Any]]) -> list[Any]:
    pipeline = ff.Pipeline("p")
    for number, (handler, rules) in enumerate(made):
        pipeline.each(name=f"s{number}", **rules)(handler)
    return [(pipeline, stage) for stage in pipeline.all_stages()]


def test_places_follow_what_the_stages_ask_for() -> None:
    assert slots_for(stages((in_loop, {}))) == 8
    assert slots_for(stages((in_loop, {"concurrency": 4}))) == 8
    assert slots_for(stages((in_loop, {"concurrency": 1_000}), (in_thread, {}))) == 1_000
    assert slots_for(stages((in_loop, {"concurrency": 100}), (in_thread, {"concurrency": 20}))) == 120
    assert slots_for(stages((in_loop, {"concurrency": 100, "limit": 10}))) == 10


def test_plain_functions_get_no_thousand_threads_by_surprise() -> None:
    assert slots_for(stages((in_thread, {"concurrency": 1_000}))) == 64
    assert slots_for(stages((in_thread, {"concurrency": 1_000, "isolate": True}))) == 8


def test_what_caps_a_stage_is_said() -> None:
    served = stages((in_thread, {"concurrency": 1_000}), (in_loop, {"concurrency": 4}), (in_loop, {}))
    [sentence] = capped(served, 64)
    assert sentence == (
        "Stage p.s0 allows 1000 at a time; this worker has 64 slots. For more: --concurrency 1000 (concurrency=1000)"
    )


@pytest.mark.parametrize(("given", "setting", "expected"), [(None, 0, 50), (3, 0, 3), (None, 5, 5), (200, 5, 200)])
def test_a_number_that_was_given_counts(live: Live, given: int | None, setting: int, expected: int) -> None:
    pipeline = ff.Pipeline("p")
    pipeline.each(name="s", concurrency=50)(in_loop)
    made = Live(live.settings.database, live.settings.data_folder, concurrency=setting)
    worker = Worker([pipeline], store=made.store, concurrency=given)
    assert worker.concurrency == expected
    assert bool(worker.capped) == (expected < 50)
    made.store.close()


def test_a_run_uses_the_places_its_stage_allows(live: Live) -> None:
    running, most = [0], [0]
    everyone = asyncio.Event()

    async def handler(_item: Any) -> int:
        running[0] += 1
        most[0] = max(most[0], running[0])
        if running[0] == 30:
            everyone.set()
        await asyncio.wait_for(everyone.wait(), 60)
        return 1

    pipeline = ff.Pipeline("p")
    pipeline.each(name="s", concurrency=30)(handler)
    ff.run(pipeline, items=range(30), database=live.settings.database, data=live.settings.data, progress=False)
    assert most == [30]
