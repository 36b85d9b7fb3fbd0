"""The statements that a budget costs per call, the recorded cost of a call, and pauses that come too late."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import fanfold as ff
from fanfold.engine.handlers.stop import NoClock
from fanfold.engine.tasks.steering.set_budget import is_outdated
from fanfold.model.money.questions import AttemptClock, Question, Usage
from fanfold.model.text.sentences import say
from fanfold.providers.inquiry import Inquiry
from fanfold.providers.question_asker import BegunCall, QuestionAsker, _row
from tests.ai_server import AIServer
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.providers.test_budgets import asking, priced


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers."""
    made = Live(database_url, tmp_path / "data")
    yield made
    made.store.close()


@dataclass
class Attempt:
    """The attempt for which a question is asked."""

    task_id: str
    task: int
    item: int
    lease: int
    first_lease: int = 1
    failures: int = 0
    retries_left: int = 0
    pipeline: str = "batch"
    owner: str = ""
    wanted_by: datetime | None = None
    asked: set[str] = field(default_factory=set)
    clock: AttemptClock = field(default_factory=NoClock)

    def fold(self, name: str, text: str, limit: int) -> str:
        """Return the text itself: nothing is stored in a file."""
        return text


def test_the_books_say_why_a_call_was_made(live: Live, ai: AIServer) -> None:
    ai.answer(priced(0))
    ai.next("empty", "empty", "answer", "500", "answer")
    pipeline = live.know(asking(retry=ff.Retry(limit=1, first=0.01)))
    with live.working(concurrency=1):
        fallback = live.client.submit(pipeline, items=[1], options={"fallback": ["fake-small"]})
        live.until(fallback, "completed")
        retried = live.client.submit(pipeline, items=[2])
        live.until(retried, "completed")
    costs = {row.name: row for row in live.client.costs("task")}
    first = costs[fallback.id]
    assert (first.cost, first.bad_answers, first.retries, first.fallbacks) == (3.0, 2.0, 1.0, 1.0)
    assert (costs[retried.id].cost, costs[retried.id].retries) == (1.0, 1.0)


def test_what_a_paused_task_asks_later_is_no_retry_and_its_own_answers_save_nothing(live: Live, ai: AIServer) -> None:
    ai.answer(priced(0))

    async def twice(item: Any) -> str:
        first = await item.ask(f"first {item.input}")
        second = await item.ask(f"second {item.input}")
        return f"{first.text} {second.text}"

    pipeline = live.know(batch("twice", handler=twice, retry=ff.Retry(limit=1, first=0.01)))
    task = live.client.submit(pipeline, items=[1, 2], budget="1.50")
    with live.working(concurrency=1):
        live.until(task, "paused")
        live.client.raise_budget(task.id, by=20)
        live.until(task, "completed")
    [books] = [row for row in live.client.costs("task") if row.name == task.id]
    assert (len(ai.paid), books.cost, books.retries) == (4, 4.0, 0.0)
    assert live.client.get(task.id).spending.cached == 0, (
        "the first answer was read again by the item that had paid for it"
    )


async def made(live: Live) -> QuestionAsker:
    """Make an asker inside an event loop, which it needs."""
    return QuestionAsker(live.store)


def test_a_budget_costs_two_statements_per_call_and_none_without_one(live: Live, ai: AIServer) -> None:
    live.know(asking())
    statements: Counter[str] = Counter()
    asker = asyncio.run(made(live))

    def count(*given: Any) -> None:
        statements[given[2].partition(" ")[0]] += 1

    def asked(budget: float | None) -> int:
        """The number of statements of 100 calls, after 100 others have been measured."""
        task = live.client.submit(live.pipelines[0], items=["a"], budget=budget)
        [claimed] = live.worker(f"w-{task.id}").claim(1)
        asking_of = Attempt(task.id, live.client.lookup.row(task.id).number, claimed.id, claimed.lease)
        for number in range(200):
            if number == 100:
                statements.clear()
            inquiry = Inquiry(asking_of, Question(f"{task.id} {number}"), asker.providers["fake"], "fake-large")
            key = inquiry.key({})
            begun = asker._begin(key, inquiry, {})
            assert isinstance(begun, BegunCall)
            row = _row(inquiry, key, "taken", Usage(1000, 0, 0, 1.0), 0.1, None)
            asker._keep(begun, row, key, ff.Answer("yes", "fake", "fake-large"))
        return statements.total()

    sa.event.listen(sa.Engine, "before_cursor_execute", count)
    try:
        without, within = asked(None), asked(10_000)
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", count)
    assert 1.8 <= (within - without) / 100 < 2.3, (
        "one that reserves, one that settles; what was measured is shared now and then"
    )


def test_a_pause_for_a_budget_that_was_raised_meanwhile_is_passed_over(live: Live) -> None:
    task = live.client.submit(live.know(asking()), items=["a"], budget=7)
    number = live.client.lookup.row(task.id).number
    facts = {"spent": "$5.00", "next": "$1.00", "task": task.id}
    unpriced = say("budget_price_unknown", model="m", provider="fake", task=task.id)
    with live.store.read() as tx:
        assert is_outdated(tx, number, say("budget_spent", cap="$5.00", **facts)), "it was raised from 5 to 7"
        assert not is_outdated(tx, number, say("budget_spent", cap="$7.00", **facts))
        assert not is_outdated(tx, number, unpriced)
        assert not is_outdated(tx, number, "the key is refused")
    live.client.raise_budget(task.id, allow_unknown_cost=True)
    with live.store.read() as tx:
        assert is_outdated(tx, number, unpriced)


def test_a_call_refused_before_a_raise_does_not_pause_the_task_after_it(live: Live) -> None:
    task = live.client.submit(live.know(asking()), items=["a"], budget=6)
    number = live.client.lookup.row(task.id).number
    reason = say("budget_spent", spent="$5.20", cap="$6.00", next="$1.12", task=task.id)
    live.client.raise_budget(task.id, by=2)
    assert live.client.commands.pause(number, reason) is False
    assert live.client.get(task.id).state == "active"
    assert "paused" not in [event.target for event in live.client.events(task.id)]
    live.client.raise_budget(task.id, to=6)
    assert live.client.commands.pause(number, reason) is True
    assert live.client.get(task.id).state == "paused"
