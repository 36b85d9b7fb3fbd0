"""An item leaves its worker only with its current lease, while its task wants it."""

from typing import Any

import pytest

from fanfold.model.item import Claimed
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import Task
from tests.installation import HandClock, HandWorker, Installation

VERBS = ("finish", "fail", "back_off", "postpone", "release", "reclaim")
TARGETS = {
    "finish": "done", "fail": "failed", "back_off": "retrying", "postpone": "waiting", "release": "pending", "reclaim": "pending",
}  # fmt: skip


def work(_work: object, *_more: object) -> None:
    """A handler."""


class Scene:
    """A task of three items, all claimed by one worker."""

    def __init__(self, installation: Installation) -> None:
        book = Pipeline("book")
        book.each(name="pages", limit=10)(work)
        book.merge(name="bind")(work)
        self.installation = installation
        installation.know(book)
        self.task: Task = installation.client.submit(book, items=["a", "b", "c"])
        self.worker: HandWorker = installation.worker()
        self.claimed: list[Claimed] = self.worker.claim()

    def settle(self, verb: str, *claimed: Claimed, **more: Any) -> set[int]:
        """Settle as the store does, without anything the engine keeps beside it."""
        rows = [{"id": one.id, "lease": one.lease, "delay": 5, "counted": 1, "limit": 3, **more} for one in claimed]
        with self.installation.store.write() as tx:
            moved: set[int] = getattr(tx.settling, verb)(rows)
            return moved


@pytest.fixture
def scene(installation: Installation) -> Scene:
    return Scene(installation)


@pytest.mark.parametrize("verb", VERBS)
def test_the_holder_of_the_lease_moves_the_item(scene: Scene, verb: str) -> None:
    first = scene.claimed[0]
    assert scene.settle(verb, first) == {first.id}
    assert scene.installation.states(scene.task) == f"{TARGETS[verb]} running running"


@pytest.mark.parametrize("verb", VERBS)
def test_a_stale_worker_changes_nothing_at_all(scene: Scene, verb: str) -> None:
    stale = scene.claimed[0]
    scene.settle("release", stale)
    scene.worker.claim()
    before = scene.installation.rows()
    assert scene.settle(verb, stale) == set()
    assert scene.installation.rows() == before


@pytest.mark.parametrize("verb", VERBS)
def test_a_lease_of_the_future_changes_nothing_at_all(scene: Scene, verb: str) -> None:
    before = scene.installation.rows()
    assert scene.settle(verb, scene.claimed[0], lease=99) == set()
    assert scene.settle(verb, scene.claimed[0], id=999_999) == set()
    assert scene.installation.rows() == before


@pytest.mark.parametrize("verb", VERBS)
def test_an_item_is_settled_once(scene: Scene, verb: str) -> None:
    scene.settle("finish", scene.claimed[0])
    before = scene.installation.rows()
    assert scene.settle(verb, scene.claimed[0]) == set()
    assert scene.installation.rows() == before


@pytest.mark.parametrize("command", ["pause", "cancel"])
@pytest.mark.parametrize("verb", ["finish", "fail", "back_off", "postpone"])
def test_no_result_is_taken_for_a_task_that_is_not_active(scene: Scene, verb: str, command: str) -> None:
    getattr(scene.installation.client, command)(scene.task.id)
    before = scene.installation.rows()
    assert scene.settle(verb, *scene.claimed) == set()
    assert scene.installation.rows() == before


@pytest.mark.parametrize("verb", ["finish", "fail", "back_off", "postpone"])
def test_no_result_is_taken_for_a_stage_that_the_task_has_left(scene: Scene, verb: str) -> None:
    scene.installation.sql("UPDATE tasks SET stage = 'bind'")
    before = scene.installation.rows()
    assert scene.settle(verb, *scene.claimed) == set()
    assert scene.installation.rows() == before


@pytest.mark.parametrize("command", ["pause", "cancel"])
@pytest.mark.parametrize("verb", ["release", "reclaim"])
def test_an_item_can_be_handed_back_whatever_became_of_its_task(scene: Scene, verb: str, command: str) -> None:
    getattr(scene.installation.client, command)(scene.task.id)
    assert scene.settle(verb, *scene.claimed) == {one.id for one in scene.claimed}
    assert scene.installation.states(scene.task) == "pending pending pending"


def test_only_an_error_uses_up_a_retry(scene: Scene) -> None:
    one = scene.claimed[0]
    counted = []
    for verb, more in (
        ("release", {}),
        ("postpone", {}),
        ("reclaim", {}),
        ("back_off", {"counted": 0}),
        ("back_off", {}),
    ):
        scene.settle(verb, one, delay=0, **more)
        one = next(again for again in scene.worker.claim() if again.id == one.id)
        counted.append((one.failures, one.crashes, one.attempts))
    assert counted == [(0, 0, 2), (0, 0, 3), (0, 1, 4), (0, 1, 5), (1, 1, 6)]


def test_the_item_that_took_its_process_down_too_often_fails(scene: Scene) -> None:
    one = scene.claimed[0]
    assert scene.settle("reclaim", one, limit=1) == {one.id}
    assert scene.installation.states(scene.task) == "failed running running"


def test_some_of_a_batch_may_have_lost_their_lease(scene: Scene) -> None:
    first, second, third = scene.claimed
    scene.settle("release", second)
    assert scene.settle("finish", first, second, third) == {first.id, third.id}
    assert scene.installation.states(scene.task) == "done pending done"


def test_a_back_off_and_a_postponement_last_as_long_as_they_say(scene: Scene, clock: HandClock) -> None:
    scene.settle("back_off", scene.claimed[0], delay=1.5)
    scene.settle("postpone", scene.claimed[1], delay=60)
    waits = [item.available_at for item in scene.installation.client.items(scene.task.id)]
    assert [(moment - clock.now).total_seconds() for moment in waits[:2] if moment] == pytest.approx([1.5, 60])


def test_the_time_of_an_external_job_runs_from_its_first_postponement(scene: Scene, clock: HandClock) -> None:
    scene.settle("postpone", scene.claimed[0], delay=10)
    waited = []
    for _ in range(3):
        clock.advance(10)
        one = scene.worker.claim()[0]
        waited.append(one.waiting_seconds)
        scene.settle("postpone", one, delay=10)
    assert waited == pytest.approx([10, 20, 30])


def test_what_a_job_last_said_stays_while_it_waits(scene: Scene) -> None:
    one = scene.claimed[0]
    with scene.installation.store.write() as tx:
        assert tx.settling.note_progress(one.id, one.lease, 0.25, "queued at the provider")
    scene.settle("postpone", one)
    [item, *_] = scene.installation.client.items(scene.task.id)
    assert (item.progress, item.message) == (0.25, "queued at the provider")


def test_progress_of_an_item_never_goes_back(scene: Scene) -> None:
    one = scene.claimed[0]
    seen = []
    for share in (0.5, 0.2, 0.8):
        with scene.installation.store.write() as tx:
            assert tx.settling.note_progress(one.id, one.lease, share, f"at {share}")
        [item, *_] = scene.installation.client.items(scene.task.id)
        seen.append((item.progress, item.message))
    assert seen == [(0.5, "at 0.5"), (0.5, "at 0.2"), (0.8, "at 0.8")]


@pytest.mark.parametrize("write", ["note_progress", "remember"])
def test_progress_and_memory_need_the_lease_too(scene: Scene, write: str) -> None:
    stale = scene.claimed[0]
    scene.settle("release", stale)
    scene.worker.claim()
    before = scene.installation.rows()
    values: tuple[Any, ...] = (0.5, "half") if write == "note_progress" else ("{}",)
    with scene.installation.store.write() as tx:
        assert getattr(tx.settling, write)(stale.id, stale.lease, *values) is False
    assert scene.installation.rows() == before


def test_a_permit_is_held_while_an_item_runs(scene: Scene) -> None:
    assert len(scene.installation.sql("SELECT * FROM permits")) == 3
    scene.worker.finish(scene.claimed[0])
    scene.worker.fail(scene.claimed[1])
    assert [row.item for row in scene.installation.sql("SELECT item FROM permits")] == [scene.claimed[2].id]


def test_a_stale_worker_does_not_free_the_permit_of_the_new_one(scene: Scene) -> None:
    stale = scene.claimed[0]
    scene.settle("release", stale)
    again = next(one for one in scene.worker.claim() if one.id == stale.id)
    scene.worker.finish(stale)
    held = scene.installation.sql("SELECT item, lease FROM permits WHERE item = :item", item=stale.id)
    assert [tuple(row) for row in held] == [(again.id, again.lease)]
