"""Costs that handlers report themselves: a task whose budget they have used up is stopped, and nothing is paid for twice."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.money.shared_budgets import utc_now
from fanfold.engine.tasks.moving.used_up import close_task
from fanfold.model.money.amounts import dollars
from fanfold.model.money.shared_budgets import Cap, SharedBudgets
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import Sentence
from fanfold.store.items.find_work import Ready
from tests.engine.live import Live, Switch
from tests.engine.pipelines import batch
from tests.waiting import eventually


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers."""
    made = Live(database_url, tmp_path / "data")
    yield made
    made.store.close()


def codes(live: Live, task: ff.Task) -> list[str]:
    """The codes of the reasons of a task's events."""
    return [event.reason.code for event in live.client.events(task.id) if isinstance(event.reason, Sentence)]


def row_of(live: Live, task: ff.Task) -> TaskRow:
    with live.store.read() as tx:
        return tx.tasks.resolve(task.id)


def test_a_budget_used_up_by_handlers_pauses_the_task_and_raising_it_resumes(live: Live) -> None:
    ran: list[int] = []

    async def pay(item: Any) -> str:
        ran.append(item.input)
        item.used(cost=0.5, model="own")
        return "paid"

    task = live.client.submit(live.know(batch(handler=pay)), items=list(range(10)), budget=1.5)
    with live.working(concurrency=1):
        paused = live.until(task, "paused")
        assert isinstance(paused.wait_reason, Sentence)
        assert "The budget is used up: $1.50 of $1.50 spent. Raise the budget to continue" in paused.wait_reason
        assert (ran, live.client.budget(task.id).spent) == ([0, 1, 2], 1.5)
        assert codes(live, task).count("budget_own_exceeded") == 1
        for _ in range(3):
            with pytest.raises(ff.IllegalMove, match=r"used up: \$1.50 of \$1.50 spent. Raise the budget"):
                live.client.resume(task.id)
        assert live.client.get(task.id).state == "paused"
        live.client.raise_budget(task.id, by=1)
        paused = live.until(task, "paused")
        assert (ran, live.client.budget(task.id).spent) == ([0, 1, 2, 3, 4], 2.5)
        live.client.raise_budget(task.id, to=100)
        done = live.until(task, "completed")
    assert (sorted(ran), done.done, live.client.budget(task.id).spent) == (list(range(10)), 10, 5.0)
    assert row_of(live, task).sample is None


def test_what_runs_when_the_budget_is_used_up_finishes_and_is_paid_once(live: Live) -> None:
    """Items of two workers run when the budget is used up: they are waited for, since pausing would throw their work away."""
    ran: list[int] = []
    go = Switch()

    def pay(item: Any) -> str:
        ran.append(item.input)
        if item.input:
            go.wait()
        item.used(cost=1, model="own")
        return "paid"

    task = live.client.submit(live.know(batch(handler=pay)), items=list(range(12)), budget=1)
    with live.working(concurrency=2), live.working(concurrency=2):
        eventually(lambda: row_of(live, task).is_closed)
        assert live.client.get(task.id).state == "active"
        go.free.set()
        paused = live.until(task, "paused")
        begun = len(ran)  # An item that was claimed before may enter its handler after the task was closed.
        assert paused.done == begun <= 5
        assert live.client.budget(task.id).spent == begun
        live.client.raise_budget(task.id, to=100)
        live.until(task, "completed")
    assert sorted(ran) == list(range(12)), "no item ran twice"


def test_the_next_stage_begins_although_the_last_item_has_used_up_the_budget(live: Live) -> None:
    async def pay(item: Any) -> str:
        item.used(cost=1, model="own")
        return "paid"

    task = live.client.submit(live.know(batch(handler=pay)), items=[1, 2], budget=2)
    with live.working(concurrency=1):
        live.until(task, "completed")


def _paid(*, after: Any = None, **rules: Any) -> ff.Pipeline:
    """Items that cost a dollar each, then a stage and a merge that spend nothing; ``after`` is a stage between these two."""
    made = ff.Pipeline("paid", title="Paid")
    made.each(name="make", retry=ff.Retry(limit=0))(_dollar)
    made.each(name="mark", spends=False, retry=ff.Retry(limit=0), **rules)(_free)
    if after is not None:
        made.each(name="after", retry=ff.Retry(limit=0))(after)

    @made.merge(spends=False)
    def bind(task: Any, results: Any) -> int:
        return len(list(results))

    return made


def test_stages_that_spend_nothing_go_on_when_the_budget_is_used_up(live: Live) -> None:
    task = live.client.submit(live.know(_paid()), items=[1, 2, 3], budget=3)
    with live.working(concurrency=1):
        live.until(task, "completed")
    assert live.client.result(task.id) == 3
    assert codes(live, task).count("budget_own_exceeded") == 1


def test_a_stage_that_spends_waits_for_a_raise_although_one_that_does_not_came_between(live: Live) -> None:
    ran: list[str] = []

    async def after(item: Any) -> str:
        ran.append(item.key)
        return await _dollar(item)

    task = live.client.submit(live.know(_paid(after=after)), items=[1, 2], budget=2)
    with live.working(concurrency=2):
        paused = live.until(task, "paused")
        assert (paused.stage, ran, codes(live, task)[-1]) == ("after", [], "budget_spent_own")
        live.client.raise_budget(task.id, by=2)
        live.until(task, "completed")
    assert (len(ran), live.client.budget(task.id).spent) == (2, 4.0)


def test_only_a_stage_that_may_spend_is_closed(live: Live) -> None:
    task = live.client.submit(live.know(_paid()), items=[1], budget=1)
    number = row_of(live, task).number
    with live.store.write() as tx:
        tx.budgets.settle([f"task:{number}"], 0, 1_000_000_000)
        tx.tasks.move(number, stage="mark")
    close_task(live.store, number)
    assert not row_of(live, task).is_closed
    with live.store.write() as tx:
        tx.tasks.move(number, stage="make")
    close_task(live.store, number)
    assert row_of(live, task).is_closed


def test_a_cost_in_a_stage_that_says_it_spends_nothing_counts_and_fails_the_item(live: Live) -> None:
    ran: list[int] = []

    async def pay(item: Any) -> str:
        ran.append(item.input)
        return await _dollar(item)

    task = live.client.submit(live.know(batch(handler=pay, spends=False, retry=ff.Retry(limit=3))), items=[1], budget=5)
    with live.working(concurrency=1):
        live.until(task, "failed")
    [failure] = live.client.failures(task.id)
    assert "convert reports a cost but is declared with spends=False" in str(failure)
    assert (ran, live.client.budget(task.id).spent) == ([1], 1.0)


def test_a_budget_raised_while_items_still_run_opens_the_task_again(live: Live) -> None:
    task = live.client.submit(live.know(batch(handler=_free)), items=[1, 2], budget=1, sample=2)
    number = row_of(live, task).number
    close_task(live.store, number)
    assert row_of(live, task).sample == 2, "nothing is spent"
    with live.store.write() as tx:
        tx.budgets.settle([f"task:{number}"], 0, 1_000_000_000)
    close_task(live.store, number)
    close_task(live.store, number)
    closed = row_of(live, task)
    assert (closed.is_closed, closed.sample) == (True, 2)
    live.client.raise_budget(task.id, by=1)
    assert (row_of(live, task).is_closed, row_of(live, task).sample) == (False, 2)


def test_a_task_that_moves_while_it_is_closed_is_open_again_and_keeps_its_sample(live: Live) -> None:
    task = live.client.submit(live.know(batch(handler=_free)), items=[1, 2], budget=1, sample=1)
    with live.store.write() as tx:
        tx.tasks.close(row_of(live, task).number)
    assert row_of(live, task).is_closed
    live.client.pause(task.id)
    assert (row_of(live, task).is_closed, row_of(live, task).sample) == (False, 1)


@pytest.mark.parametrize("sample", [0, 2])
def test_nothing_is_claimed_of_a_closed_task(live: Live, sample: int) -> None:
    task = live.client.submit(live.know(batch(handler=_free)), items=[1, 2], budget=1, sample=sample)
    number = row_of(live, task).number
    ready = Ready(number, task.pipeline, task.stage, 0)
    with live.store.write() as tx:
        tx.tasks.close(number)
        assert list(tx.claiming.claim(ready, "somebody", 10, sampled=bool(sample))) == []
        tx.tasks.move(number, closed_at=None)
        assert len(tx.claiming.claim(ready, "somebody", 10, sampled=bool(sample))) == 2


class TestSharedBudgets:
    """What handlers spend themselves counts in the budgets of owners and days too."""

    @pytest.fixture(autouse=True)
    def budgets(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        settings = tmp_path / "fanfold.toml"
        settings.write_text("[budgets]\nday = 9\n[budgets.owners]\nalice = 1.5\n")
        monkeypatch.chdir(tmp_path)
        return settings

    def test_one_that_is_used_up_pauses_the_task_and_raising_it_lets_it_go_on(self, live: Live, budgets: Path) -> None:
        pipeline = live.know(batch(handler=_pay))
        task = live.client.submit(pipeline, items=list(range(10)), owner="alice")
        other = live.client.submit(pipeline, items=[1, 2], owner="bob")
        with live.working(concurrency=1):
            paused = live.until(task, "paused")
            live.until(other, "completed")
            assert "The budget of owner alice is used up: $1.50 of $1.50 spent. Raise it under" in str(
                paused.wait_reason
            )
            assert (paused.done, shared(live)) == (3, {"owner": 1.5, "all": 2.5})
            assert codes(live, task).count("budget_shared_own_exceeded") == 1
            with pytest.raises(ff.IllegalMove, match="The budget of owner alice is used up"):
                live.client.resume(task.id)
            budgets.write_text("[budgets]\nday = 4\n[budgets.owners]\nalice = 100\n")
            live.client.resume(task.id)
            paused = live.until(task, "paused")
            assert (paused.done, shared(live)) == (6, {"owner": 3.0, "all": 4.0}), "the budget of the day is used up"
            budgets.write_text("[budgets]\nday = 100\n")
            live.client.resume(task.id)
            done = live.until(task, "completed")
        assert (done.done, shared(live)) == (10, {"owner": 3.0, "all": 6.0}), "without a budget nobody counts"

    def test_a_mistake_in_the_file_costs_no_result(self, live: Live, budgets: Path) -> None:
        pipeline = live.know(batch(handler=_pay))
        with live.working(concurrency=1):
            live.until(live.client.submit(pipeline, items=[1], owner="alice"), "completed")
            budgets.write_text("[budgets]\ndai = 4\n")
            live.until(live.client.submit(pipeline, items=[1], owner="alice"), "completed")
        assert shared(live) == {"owner": 1.0, "all": 1.0}


def shared(live: Live) -> dict[str, float]:
    """What is spent in the budgets of alice and of the day."""
    scopes = {"owner": "owner@:alice", "all": next(iter(SharedBudgets(day=Cap(1, "day")).scopes("", None, utc_now())))}
    with live.store.read() as tx:
        found = tx.budgets.of(list(scopes.values()))
    return {name: dollars(found[scope].spent) for name, scope in scopes.items()}


async def _pay(item: Any) -> str:
    item.used(cost=0.5, model="own")
    return "paid"


async def _free(item: Any) -> str:
    return "done"


async def _dollar(item: Any) -> str:
    item.used(cost=1, model="own")
    return "paid"
