"""A decision causes one more merge exactly where one is needed, whatever happens at the same time."""

import threading
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.client import Client
from fanfold.engine.tasks.moving import merge_again
from fanfold.engine.tasks.steering import decide as deciding
from fanfold.engine.worker.attempt.settle_batch import settle
from tests.engine.live import Live
from tests.engine.reviewing import QUIET, Review, decided
from tests.installation import HandClock, Installation, number_of
from tests.rows import rows_counted
from tests.waiting import eventually


@pytest.fixture
def review(installation: Installation) -> Review:
    return Review(installation).finish()


def test_a_decision_makes_the_last_merge_due_and_nothing_else(review: Review, clock: HandClock) -> None:
    task = review.decide("b", "word", "reject")
    assert (task.state, task.stage, task.status) == ("active", "bind", "ready to merge")
    assert task.wait_reason == "merges again in a moment: there are new decisions about its results"
    review.settle(clock)
    assert review.calls == ["bind"]
    assert review.merged() == {"b": {"word": "reject"}}
    assert review.state() == ("completed", "bind")
    moves = [(event.verb, event.source, event.target) for event in review.client.events(review.task.id)]
    assert moves[-2:] == [("decide", "completed", "active"), ("advance", "active", "completed")]


def test_many_decisions_in_quick_succession_cause_one_merge(review: Review, clock: HandClock) -> None:
    for number in range(6):
        review.decide("a", f"p{number}")
        review.settle(clock, QUIET * 0.8)
        assert review.calls == [], "it waits until nothing more comes"
    review.settle(clock)
    assert review.calls == ["bind"]
    assert review.merged() == {"a": {f"p{number}": "accept" for number in range(6)}}


def test_decisions_without_end_do_not_put_the_merge_off_for_ever(review: Review, clock: HandClock) -> None:
    passed = 0.0
    while not review.calls:
        review.decide("a", f"p{passed}")
        review.settle(clock, QUIET * 0.8)
        passed += QUIET * 0.8
        assert passed < 2 * merge_again.LONGEST_SECONDS
    assert passed >= merge_again.LONGEST_SECONDS * 0.9


def test_the_quiet_time_is_a_rule_of_the_merge(installation: Installation, clock: HandClock) -> None:
    review = Review(installation, quiet_seconds=20).finish()
    review.decide("a")
    review.settle(clock, 19)
    assert review.calls == []
    review.settle(clock, 1)
    assert review.calls == ["bind"]


def test_only_a_merge_has_a_quiet_time() -> None:
    pipeline = ff.Pipeline("wrong")
    with pytest.raises(ff.BadPipeline, match="only a merge can have it"):
        pipeline.step(name="s", quiet_seconds=1)(lambda task: None)
    with pytest.raises(ff.BadPipeline, match="0 or more"):
        pipeline.merge(name="m", quiet_seconds=-1)(lambda task, results: None)


def test_a_decision_that_comes_while_it_merges_leads_to_one_more_merge(review: Review, clock: HandClock) -> None:
    review.while_merging = lambda: review.decide("b", "late")
    review.decide("a", "early")
    review.settle(clock)
    assert review.state() == ("active", "bind")
    review.settle(clock)
    assert review.reads == [{"a": {"early": "accept"}}, {"a": {"early": "accept"}, "b": {"late": "accept"}}]
    assert review.state() == ("completed", "bind")
    review.settle(clock, 100)
    assert review.calls == ["bind", "bind"]


def test_the_first_merge_as_well_is_done_once_more(installation: Installation, clock: HandClock) -> None:
    review = Review(installation)
    review.while_merging = lambda: review.decide("b", "late")
    installation.work()
    review.settle(clock)
    assert review.reads == [{}, {"b": {"late": "accept"}}]
    assert review.calls.count("b") == 1


def test_a_decision_before_the_merge_waits_for_it_and_costs_no_further_one(
    installation: Installation, clock: HandClock
) -> None:
    review = Review(installation)
    worker = installation.worker()
    [cut] = worker.turn().claimed
    worker.turn([worker.call(*cut)], free=0)
    assert review.decide("b").state == "active"
    installation.work()
    review.settle(clock, 100)
    assert review.calls.count("bind") == 1
    assert review.merged() == {"b": {"word": "accept"}}


def test_a_decision_between_claim_and_handler_is_read_and_not_merged_twice(review: Review, clock: HandClock) -> None:
    review.decide("a")
    clock.advance(QUIET)
    worker = review.installation.worker()
    [claimed] = worker.turn().claimed
    review.decide("b")
    worker.turn([worker.call(*claimed)], free=0)
    assert review.state() == ("completed", "bind")
    assert review.merged() == {"a": {"word": "accept"}, "b": {"word": "accept"}}


def test_a_decision_is_merged_after_the_worker_that_merges_has_died(review: Review, clock: HandClock) -> None:
    review.decide("a")
    clock.advance(QUIET)
    dies = review.installation.worker("dies")
    [claimed] = dies.turn().claimed
    lost = dies.call(*claimed)
    review.decide("b")
    clock.advance(1_000)
    review.installation.sweep()
    review.installation.work()
    dies.settle(lost)
    assert review.merged() == {"a": {"word": "accept"}, "b": {"word": "accept"}}
    assert review.calls == ["bind", "bind"], "the attempt that was lost, and one that has seen both"
    assert review.state() == ("completed", "bind")


def test_a_stale_worker_does_not_say_what_the_merge_has_read(review: Review, clock: HandClock) -> None:
    review.decide("a")
    clock.advance(QUIET)
    stale = review.installation.worker("stale")
    [claimed] = stale.turn().claimed
    clock.advance(1_000)
    review.installation.sweep()
    fresh = review.installation.worker("fresh")
    [again] = fresh.turn().claimed
    ended = fresh.call(*again)
    review.decide("b")
    stale.call(*claimed)  # It would record that decision, which the current attempt has not read.
    fresh.turn([ended], free=0)
    assert review.state() == ("active", "bind")
    review.settle(clock)
    assert review.merged() == {"a": {"word": "accept"}, "b": {"word": "accept"}}


def test_the_sweep_finishes_what_a_worker_that_died_after_its_commit_has_left(review: Review, clock: HandClock) -> None:
    """Killed between the commit of the merge and the advance, with a decision in between."""
    review.while_merging = lambda: review.decide("b")
    review.decide("a")
    clock.advance(QUIET)
    dies = review.installation.worker("dies")
    [claimed] = dies.turn().claimed
    ended = dies.call(*claimed)
    with review.installation.store.write() as tx:
        settle(tx, [ended], "dies", 3)
    clock.advance(100)
    review.installation.sweep()
    assert review.state() == ("active", "bind")
    review.settle(clock)
    assert review.merged() == {"a": {"word": "accept"}, "b": {"word": "accept"}}


def test_five_thousand_decisions_in_one_call_are_merged_once_in_short_transactions(
    review: Review, clock: HandClock
) -> None:
    wanted = [ff.NewDecision("abc"[n % 3], f"part-{n}", "replace", n) for n in range(5_000)]
    with rows_counted(review.installation.store) as meter:
        review.client.decide_many(review.task.id, wanted)
    assert meter.most <= deciding.AT_ONCE + 10, meter.written
    review.settle(clock)
    assert review.calls == ["bind"]
    assert sum(map(len, review.merged().values())) == 5_000
    assert review.state() == ("completed", "bind")


def test_large_values_are_kept_a_few_at_a_time(review: Review, clock: HandClock) -> None:
    wanted = [ff.NewDecision("a", f"part-{n}", "replace", "x" * 900_000) for n in range(5)]
    with rows_counted(review.installation.store) as meter:
        review.client.decide_many(review.task.id, wanted)
    assert meter.commits >= 3
    review.settle(clock)
    assert review.calls == ["bind"]


def test_a_call_that_dies_between_two_chunks_has_its_first_ones_merged(
    review: Review, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "AT_ONCE", 2)
    wanted = [ff.NewDecision("a", f"part-{n}", "accept") for n in range(6)]

    def die(commits: int) -> None:
        if commits == 2:
            raise KeyboardInterrupt

    with rows_counted(review.installation.store) as meter:
        meter.before_commit = die
        with pytest.raises(KeyboardInterrupt):
            review.client.decide_many(review.task.id, wanted)
    assert len(review.client.decisions(review.task.id)) == 4
    review.settle(clock)
    assert review.calls == [], "more were to come"
    review.settle(clock, merge_again.MORE_SECONDS)
    assert review.calls == ["bind"]
    review.client.decide_many(review.task.id, wanted)
    review.settle(clock)
    assert review.calls == ["bind", "bind"]
    assert len(review.merged()["a"]) == 6
    assert len(review.client.decisions(review.task.id, history=True)) == 6


@pytest.mark.parametrize("ending", ["cancel", "fail"])
def test_decisions_about_a_task_that_was_stopped_are_kept_and_move_nothing(
    installation: Installation, clock: HandClock, ending: str
) -> None:
    review = Review(installation, retry=ff.Retry(limit=0))
    if ending == "fail":
        review.while_merging = lambda: 1 / 0
        installation.work()
    else:
        worker = installation.worker()
        [cut] = worker.turn().claimed
        worker.turn([worker.call(*cut)], free=0)
        review.client.cancel(review.task.id)
    state = review.state()
    before = installation.rows("decisions", "tasks")
    review.decide("b", "word", "reject")
    assert review.state() == state
    assert installation.rows("decisions", "tasks") == before
    review.settle(clock, 100)
    assert review.state() == state
    assert len(review.client.decisions(review.task.id)) == 1
    review.client.retry(review.task.id)
    installation.work()
    assert review.merged() == {"b": {"word": "reject"}}


def test_decisions_about_a_partial_task_are_read_by_the_merge_that_a_person_asks_for(
    installation: Installation, clock: HandClock
) -> None:
    review = Review(installation)

    def read(item: Any) -> str:
        if item.key == "a":
            raise ff.Permanent("broken")
        return "text"

    review.read = read  # type: ignore[method-assign]
    review.pipeline = review.made()
    installation.know(review.pipeline)
    installation.work()
    assert review.state() == ("partial", "read")
    review.decide("b")
    review.settle(clock, 100)
    assert review.state() == ("partial", "read"), "nobody has said to continue without what failed"
    review.client.merge(review.task.id)
    installation.work()
    assert review.merged() == {"b": {"word": "accept"}}
    assert review.calls.count("bind") == 1


def test_a_paused_task_merges_after_it_is_resumed(review: Review, clock: HandClock) -> None:
    review.decide("a")
    review.client.pause(review.task.id)
    review.decide("b")
    review.settle(clock, 100)
    assert (review.state(), review.calls) == (("paused", "bind"), [])
    review.client.resume(review.task.id)
    review.installation.work()
    assert review.reads == [{"a": {"word": "accept"}, "b": {"word": "accept"}}]


def test_a_retry_takes_decisions_that_wait_for_their_merge_along(review: Review, clock: HandClock) -> None:
    review.decide("a")
    review.client.retry(review.task.id, ["b"])
    review.installation.work()
    review.settle(clock, 100)
    assert review.calls == ["b", "bind"]
    assert review.merged() == {"a": {"word": "accept"}}


class Published(Review):
    """A review with a step, or more items, behind its merge."""

    gate, recut = False, False
    while_publishing: Any = None

    def made(self, **rules: Any) -> ff.Pipeline:
        made = super().made(**rules)
        if self.recut:
            made.split(name="recut")(lambda task: [ff.NewItem("x", 1)])
            made.each(name="again")(self.read)
        else:
            made.step(name="publish", gate=self.gate)(self.publish)
        return made

    def publish(self, task: Any) -> Any:
        self.calls.append("publish")
        act, self.while_publishing = self.while_publishing, None
        if act is not None:
            act()
        return task.previous


def test_steps_behind_the_merge_follow_it_again(installation: Installation, clock: HandClock) -> None:
    review = Published(installation).finish()
    review.decide("a")
    assert review.state() == ("active", "bind")
    review.settle(clock)
    assert review.calls == ["bind", "publish"]
    assert review.merged() == {"a": {"word": "accept"}}


def test_a_decision_while_a_later_step_runs_goes_back_to_the_merge(
    installation: Installation, clock: HandClock
) -> None:
    review = Published(installation).finish()
    review.while_publishing = lambda: review.decide("b")
    review.decide("a")
    review.settle(clock)
    assert review.state() == ("active", "bind")
    review.settle(clock)
    assert review.calls == ["bind", "publish", "bind", "publish"]
    assert review.merged() == {"a": {"word": "accept"}, "b": {"word": "accept"}}


def test_a_task_at_a_gate_behind_its_merge_goes_back_and_waits_there_again(
    installation: Installation, clock: HandClock
) -> None:
    class Gated(Published):
        gate = True

    review = Gated(installation).finish()
    assert review.state() == ("waiting", "publish")
    review.decide("a")
    assert review.state() == ("active", "bind")
    review.settle(clock)
    assert review.state() == ("waiting", "publish")
    assert review.calls == ["bind"]
    review.client.resume(review.task.id)
    installation.work()
    assert review.merged() == {"a": {"word": "accept"}}


def test_a_merge_behind_a_gate_is_not_let_through_by_a_decision(installation: Installation, clock: HandClock) -> None:
    review = Review(installation, gate=True).finish()
    assert review.state() == ("waiting", "bind")
    review.decide("a")
    review.settle(clock, 100)
    assert review.state() == ("waiting", "bind")
    review.client.resume(review.task.id)
    installation.work()
    assert review.merged() == {"a": {"word": "accept"}}
    review.decide("b")
    review.settle(clock)
    assert review.state() == ("completed", "bind"), "the gate was passed before"


def test_items_made_from_the_merge_are_not_redone_by_a_decision(installation: Installation, clock: HandClock) -> None:
    class Recut(Published):
        recut = True

    review = Recut(installation).finish()
    review.decide("a")
    review.settle(clock, 100)
    assert (review.state(), review.calls) == (("completed", "again"), [])
    assert decided(review.client.results(review.task.id, "read")) == {"a": {"word": "accept"}}


def test_a_merge_that_waits_for_an_external_job_is_not_hurried_and_done_once_more(
    installation: Installation, clock: HandClock
) -> None:
    """The job was started with earlier decisions: the attempt that takes its result has not used the later ones."""
    review = Review(installation)
    jobs: list[Any] = []

    def bind(task: Any, results: Any) -> Any:
        read = decided(results)
        if "read" not in task.memory:
            task.remember(read=read)
            jobs.append(read)
            return ff.later(60)
        return task.memory["read"]

    review.bind = bind  # type: ignore[method-assign]
    review.pipeline = review.made()
    installation.know(review.pipeline)
    installation.work()
    due = installation.sql("SELECT available_at FROM items WHERE stage = 'bind'")
    review.decide("b")
    assert installation.sql("SELECT available_at FROM items WHERE stage = 'bind'") == due
    assert str(review.client.get(review.task.id).wait_reason).startswith("waits for an external job")
    for _ in range(3):
        review.settle(clock, 60)
    assert jobs == [{}, {"b": {"word": "accept"}}]
    assert review.merged() == {"b": {"word": "accept"}}
    assert review.state() == ("completed", "bind")


def test_the_merge_that_follows_a_decision_is_other_work_for_other_services(review: Review, clock: HandClock) -> None:
    keys: list[str] = []
    bind = review.bind

    def noting(task: Any, results: Any) -> Any:
        keys.append(task.idempotency_key)
        return bind(task, results)

    review.bind = noting  # type: ignore[method-assign]
    review.installation.know(review.made())
    for part in "xy":
        review.decide("a", part)
        review.settle(clock)
    assert len(set(keys)) == 2


def test_a_mirror_is_told_and_without_it_nothing_is_kept(installation: Installation, clock: HandClock) -> None:
    review = Review(installation)
    review.client.delete(review.client.pause(review.task.id).id)
    moves: list[tuple[str, str | None, str | None]] = []
    review.pipeline.on_move(lambda connection, change: moves.append((change.verb, change.source, change.target)))
    review.task = review.client.submit(review.pipeline)
    review.finish()
    before = installation.rows()
    with pytest.raises(ff.BadInput, match="this pipeline is needed here"):
        Client(store=installation.store).decide(review.task.id, "a", "p", "accept")
    assert installation.rows() == before
    review.decide("a")
    assert moves[-1] == ("decide", "completed", "active")


def test_a_decision_about_a_running_task_writes_its_row_without_a_move(installation: Installation) -> None:
    """A process that counts its items at this moment need not count again."""
    review = Review(installation)
    worker = installation.worker()
    [cut] = worker.turn().claimed
    worker.turn([worker.call(*cut)], free=0)
    with installation.store.read() as tx:
        before = tx.tasks.get(number_of(installation, review.task))
    events = len(review.client.events(review.task.id))
    review.decide("a")
    with installation.store.read() as tx:
        after = tx.tasks.get(number_of(installation, review.task))
    assert before is not None
    assert after is not None
    assert (after.updated_at, after.state, after.decided) == (before.updated_at, before.state, 1)
    assert len(review.client.events(review.task.id)) == events


def test_people_decide_while_real_workers_merge(live: Live) -> None:
    review = Review(live, quiet_seconds=0.01)
    wanted = {f"{key}{number}" for key in "abc" for number in range(40)}
    problems: list[BaseException] = []

    def person(key: str) -> None:
        try:
            for number in range(40):
                review.client.decide(review.task.id, key, f"{key}{number}", "accept")
        except BaseException as problem:
            problems.append(problem)

    with live.working(), live.working():
        live.until(review.task, "completed")
        people = [threading.Thread(target=person, args=(key,)) for key in "abc"]
        for one in people:
            one.start()
        for one in people:
            one.join(100)
        assert problems == []
        eventually(lambda: review.state() == ("completed", "bind"), 60)
    merged = review.merged()
    assert {part for parts in merged.values() for part in parts} == wanted
    assert len(review.calls) < 3 + len(wanted), "several decisions share a merge"
    assert review.calls.count("a") == 1
