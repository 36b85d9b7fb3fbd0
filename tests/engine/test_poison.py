"""An item fails as poison when it was lost too often without progress, and not before."""

import json
from dataclasses import replace
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.claiming.room import Room
from fanfold.engine.worker.turn import take_turn
from fanfold.model.endings import Ending
from fanfold.model.plan import Plan
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.installation import HandClock, HandWorker, Installation

LOST = ("reclaim", "crash")
"""A lost item comes back through the sweep, or through the worker whose child process died."""


class Doomed:
    """One item whose process dies again and again."""

    def __init__(self, installation: Installation, clock: HandClock, how: str, **rules: Any) -> None:
        self.installation, self.clock, self.how = installation, clock, how
        self.task = installation.client.submit(installation.know(batch(timeout=None, **rules)), items=["a"])
        self.deaths = 0

    def die(self, progress: float | None = None, memory: dict[str, Any] | None = None) -> str:
        """Run once more, get so far, die; returns the state of the item afterwards."""
        self.deaths += 1
        worker = self.installation.worker(f"victim-{self.deaths}")
        [one] = worker.claim()
        with self.installation.store.write() as tx:
            if progress is not None:
                assert tx.settling.note_progress(one.id, one.lease, progress, None)
            if memory is not None:
                assert tx.settling.remember(one.id, one.lease, json.dumps(memory))
        self._lose(worker, one)
        return self.installation.states(self.task)

    def _lose(self, worker: HandWorker, one: Any) -> None:
        if self.how == "reclaim":
            self.clock.advance(20)
            self.installation.sweep()
        else:
            worker.settle(
                Settlement(one, Ending.RECLAIM, error_code="crash", error_message="The process died (SIGKILL).")
            )

    @property
    def item(self) -> Any:
        return self.installation.client.items(self.task.id)[0]


@pytest.fixture(params=LOST)
def how(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_an_item_that_gets_further_each_time_is_not_poison(
    installation: Installation, clock: HandClock, how: str
) -> None:
    doomed = Doomed(installation, clock, how)
    for step in range(1, 10):
        assert doomed.die(progress=step / 10) == "pending"
    assert doomed.item.crashes == 9, "all are counted, so that a suspect stays one"
    assert doomed.die(progress=0.9) == "pending"
    assert doomed.die(progress=0.9) == "failed"


def test_an_attempt_that_gets_further_is_forgiven_all_crashes_before_it(
    installation: Installation, clock: HandClock, how: str
) -> None:
    doomed = Doomed(installation, clock, how)
    assert [doomed.die(), doomed.die(), doomed.die(progress=0.5)] == ["pending", "pending", "pending"]


def test_an_item_that_reports_the_same_progress_and_dies_is_poison(
    installation: Installation, clock: HandClock, how: str
) -> None:
    doomed = Doomed(installation, clock, how)
    assert [doomed.die(progress=0.1) for _ in range(3)] == ["pending", "pending", "failed"]


def test_less_than_before_and_hardly_more_than_before_are_no_progress(
    installation: Installation, clock: HandClock, how: str
) -> None:
    doomed = Doomed(installation, clock, how)
    assert [doomed.die(progress=share) for share in (0.5, 0.1, 0.501)] == ["pending", "pending", "failed"]


def test_small_steps_add_up_to_progress(installation: Installation, clock: HandClock, how: str) -> None:
    doomed = Doomed(installation, clock, how)
    shares = (0.5, 0.506, 0.512, 0.518, 0.524)
    assert [doomed.die(progress=share) for share in shares] == ["pending"] * 5


def test_an_item_that_remembers_more_each_time_is_forgiven_but_not_for_ever(
    installation: Installation, clock: HandClock, how: str
) -> None:
    doomed = Doomed(installation, clock, how)
    memory: dict[str, Any] = {}
    states: list[str] = []
    while not states or states[-1] == "pending":
        memory[f"part-{len(states)}"] = "done"
        states.append(doomed.die(memory=memory))
        assert len(states) < 50
    assert 10 <= len(states) <= 15


def test_memory_that_only_changes_is_no_progress(installation: Installation, clock: HandClock, how: str) -> None:
    doomed = Doomed(installation, clock, how)
    states = [doomed.die(memory={"began": f"10:0{number}"}) for number in range(3)]
    assert states == ["pending", "pending", "failed"]


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_stage_has_a_crash_limit_of_its_own(
    installation: Installation, clock: HandClock, how: str, limit: int
) -> None:
    doomed = Doomed(installation, clock, how, crash_limit=limit)
    states = [doomed.die() for _ in range(limit)]
    assert states == ["pending"] * (limit - 1) + ["failed"]


def test_a_plan_of_an_older_version_has_the_limit_of_the_settings(
    installation: Installation, clock: HandClock, how: str
) -> None:
    doomed = Doomed(installation, clock, how, crash_limit=9)
    [row] = installation.sql("SELECT plan FROM tasks")
    plan = json.loads(row.plan)
    for stage in plan["stages"]:
        del stage["crash_limit"]
    installation.sql("UPDATE tasks SET plan = :plan", plan=json.dumps(plan))
    assert [doomed.die() for _ in range(3)] == ["pending", "pending", "failed"]


def test_the_sentence_says_how_often_what_it_means_and_how_to_retry(
    installation: Installation, clock: HandClock, how: str
) -> None:
    doomed = Doomed(installation, clock, how)
    for _ in range(3):
        doomed.die()
    item = doomed.item
    assert item.error_code == "poison"
    assert "Its process died 3 times" in item.error_message
    assert "killed from outside" in item.error_message
    assert f"fanfold retry {doomed.task.id} --item 1" in item.error_message
    if how == "crash":
        assert item.error_message.startswith("The process died (SIGKILL).")


def test_a_retry_starts_the_count_anew(installation: Installation, clock: HandClock, how: str) -> None:
    doomed = Doomed(installation, clock, how)
    for share in (0.2, 0.4, 0.6, 0.6, 0.6):
        doomed.die(progress=share)
    installation.sweep()
    assert doomed.item.state == "failed"
    installation.client.retry(doomed.task.id)
    states = [doomed.die(progress=share) for share in (0.1, 0.1, 0.1)]
    assert states == ["pending", "pending", "failed"], "nothing of the earlier attempts is known"


def test_a_crash_limit_must_be_positive_and_is_part_of_the_plan() -> None:
    pipeline = ff.Pipeline("p")
    with pytest.raises(ff.BadPipeline, match="crash_limit"):
        pipeline.step(crash_limit=0, name="x")(lambda task: None)
    for make in (pipeline.split, pipeline.each, pipeline.merge, pipeline.step):
        make(crash_limit=7, name=make.__name__)(lambda *words: None)
    plan = pipeline.plan()
    assert [stage.crash_limit for stage in plan.stages] == [7] * 4
    assert Plan.from_json(plan.to_json()) == plan
    assert replace(plan.stages[0], crash_limit=None).crash_limit is None


def suspects(installation: Installation, clock: HandClock, count: int = 6, ordinary: int = 0) -> Any:
    """A task whose first items were all lost twice with their worker; then come ordinary ones."""
    pipeline = installation.know(batch(timeout=None))
    task = installation.client.submit(pipeline, items=[f"k{number}" for number in range(count + ordinary)])
    for name in ("first", "second"):
        assert len(installation.worker(name).claim(free=count)) == count
        clock.advance(20)
        installation.sweep()
    return task


def claim_beside(worker: HandWorker, free: int, suspects: int) -> list[Any]:
    """What a worker claims that has children for this many suspects."""
    room = Room(free, suspects=suspects, isolates_suspects=lambda stage: True)
    store, claimer = worker.store, worker.claimer
    turn = take_turn(store, claimer, worker.pipelines, worker.name, (), room, in_flight=set(), hinted=True)
    return [claimed for _, claimed in turn.claimed]


def crashes(installation: Installation, task: Any) -> list[int]:
    return sorted(item.crashes for item in installation.client.items(task.id))


def test_a_suspect_that_could_not_begin_is_not_lost_with_the_worker(
    installation: Installation, clock: HandClock
) -> None:
    task = suspects(installation, clock)
    begun = claim_beside(installation.worker("third"), free=16, suspects=2)
    assert [one.attempts for one in begun] == [3, 3]
    clock.advance(20)
    installation.sweep()
    assert crashes(installation, task) == [2, 2, 2, 2, 3, 3]
    assert installation.states(task) == "failed failed pending pending pending pending"


def test_suspects_that_cannot_begin_leave_their_places_to_other_items(
    installation: Installation, clock: HandClock
) -> None:
    task = suspects(installation, clock, ordinary=4)
    worker = installation.worker("third")
    assert sorted(one.crashes for one in claim_beside(worker, free=5, suspects=1)) == [0, 0, 0, 0, 2]
    assert claim_beside(worker, free=5, suspects=0) == []
    assert [one.crashes for one in claim_beside(worker, free=5, suspects=2)] == [2, 2]
    rows = {item.key: item for item in installation.client.items(task.id)}
    assert [rows[key].attempts for key in ("5", "6")] == [2, 2], "nobody sees that they were claimed"


def test_suspects_of_a_stage_that_cannot_be_isolated_begin_at_once(
    installation: Installation, clock: HandClock
) -> None:
    suspects(installation, clock)
    assert len(installation.worker("third").claim(free=16)) == 6


@pytest.mark.slow
@pytest.mark.one_database
def test_a_worker_comes_to_the_end_of_many_suspects(live: Live) -> None:
    task = live.client.submit(live.know(batch(handler=double)), items=list(range(9)))
    live.sql("UPDATE items SET crashes = 2")
    with live.working():
        live.until(task, "completed")
    assert live.client.result(task.id) == [number * 2 for number in range(9)]


def double(item: Any) -> Any:
    """A handler that a child can find."""
    return item.input * 2
