"""Workers are killed while questions are under way: the service counts what it was asked to answer, and is paid for."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from fanfold.model.task import Task
from tests.acceptance.fleet import Fleet, fleet, patiently
from tests.ai_protocol import slow
from tests.ai_server import AIServer
from tests.chaos.findings import FULL, Finding, kind_of, note, one_database_is_enough, only_in_full
from tests.chaos.handlers import __name__ as module
from tests.chaos.handlers import asking
from tests.chaos.test_workers import is_past
from tests.databases import Databases
from tests.engine.live import Live
from tests.providers.batch_crashes import QUICK, Mortal, speak
from tests.providers.batch_worker import STEPS

ITEMS = 600 if FULL else 60
KILLS = 15 if FULL else 3
WORKERS, SLOTS = 2, 4
CALL_SECONDS = 0.5
"""Long enough for a kill to hit calls in flight; it comes when more wait than one worker has slots."""
ADDRESS = "FANFOLD_PROVIDERS_FAKE_BASE_URL"
QUICK_BATCHES = {
    "FANFOLD_PROVIDERS_FAKE_BATCH": "1",
    "FANFOLD_BATCH_QUIET_SECONDS": "0.5",
    "FANFOLD_BATCH_POLL_SECONDS": "0.3",
    "FANFOLD_BATCH_TRIAL": "0",
    "FANFOLD_CRASH_LIMIT": "1000",
}
SMALL_BATCH = ITEMS * 12
"""Most characters of a batch at the service, so that the questions need several batches."""


def start(ours: Fleet) -> subprocess.Popen[bytes]:
    """A worker that asks."""
    return ours.run("-m", "fanfold.cli", "worker", f"{module}:asking", "--concurrency", str(SLOTS))


def killed_until_done(ours: Fleet, task: Task, is_time: Callable[[], bool] = lambda: True) -> tuple[Task, int]:
    """Kill a worker each second, if it is time, and start another, until there were enough; then wait for the end."""
    dice, workers, killed = random.Random(20), [start(ours) for _ in range(WORKERS)], 0
    number, due = ours.number(task.id), time.monotonic() + 2.0
    while killed < KILLS and ours.state(number) == "active":
        patiently(partial(is_past, due), 10)
        patiently(lambda: is_time() or ours.state(number) != "active", 90, ours.said)
        known = {worker.pid for worker in ours.client.workers()}
        at_work = [place for place, worker in enumerate(workers) if worker.pid in known]
        if at_work:
            place = dice.choice(at_work)
            workers[place].kill()
            workers[place].wait(60)
            workers[place] = start(ours)
            killed += 1
        due = time.monotonic() + dice.uniform(0.5, 1.5)
    return ours.until(task.id, seconds=400), killed


def test_live_calls_are_paid_once_but_for_those_in_the_air_at_a_kill(
    database_url: str, tmp_path: Path, ai: AIServer
) -> None:
    one_database_is_enough(database_url)
    ai.answer(lambda call: f"You said {call.prompt}")
    ai.always(slow(CALL_SECONDS))
    items = [f"question {number}" for number in range(ITEMS)]
    with fleet(database_url, tmp_path, FANFOLD_CRASH_LIMIT="1000") as ours:
        task = ours.client.submit(asking, items=items)
        done, killed = killed_until_done(ours, task, is_time=lambda: ai.waiting > SLOTS)
        # A service bills every request that it has received, also when the process that asked is gone by then.
        billed, lost = len(ai.calls), done.spending.possibly_paid
        assert done.done == done.spending.calls == ITEMS
        assert {call.prompt for call in ai.calls} == set(items), "nothing is lost"
        assert billed <= ITEMS + lost, "every wasted call is named as possibly paid"
        assert lost <= killed * SLOTS, "only what was in flight at a kill"
    promised = "A question is paid for once, except for calls in flight when a worker is killed; these are reported."
    seen = f"{killed} workers killed: {billed} paid for {ITEMS} needed calls, {lost} in flight at the kills"
    paid = killed, ITEMS, billed, lost
    note(Finding("paid calls, live", kind_of(database_url), promised, seen, paid=paid))


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_questions_in_batches_are_paid_once_whenever_workers_are_killed(
    database_url: str, tmp_path: Path, ai: AIServer, kind: str
) -> None:
    one_database_is_enough(database_url)
    ai.answer(lambda call: f"You said {call.prompt}")
    if kind == "openai":
        ai.batches.token_limit = SMALL_BATCH
    dice, before = random.Random(5), set[str]()

    def expires(prompt: str) -> bool:
        is_first = prompt not in before
        before.add(prompt)
        return is_first and dice.random() < 0.3

    ai.batches.expires = expires
    items = [f"question {number}" for number in range(ITEMS)]
    speaks = {"FANFOLD_PROVIDERS_FAKE_KIND": kind} | ({} if kind == "openai" else {ADDRESS: ai.url})
    with fleet(database_url, tmp_path, **QUICK_BATCHES, **speaks) as ours:
        task = ours.client.submit(asking, items=items, options={"lane": "batch"})
        done, killed = killed_until_done(ours, task)
        assert done.done == done.spending.calls == ITEMS
        assert ai.batches.paid == dict.fromkeys(items, 1), "nothing is lost, and nothing paid for twice"
        sent, paid = len(ours.client.batches(limit=1_000)), ai.batches.paid.total()
        assert ai.calls == []
    promised = (
        "A question is paid for once, no matter when a worker is killed; expired questions go into the next batch."
    )
    seen = f"{killed} workers killed: {paid} paid for {ITEMS} needed calls in {sent} batches, 30 % expired at first"
    counted = killed, ITEMS, paid, 0
    note(Finding(f"paid calls, in batches ({kind})", kind_of(database_url), promised, seen, paid=counted))


@only_in_full
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_worker_killed_at_any_single_step_of_a_batch_costs_nothing_twice(
    databases: Databases, tmp_path: Path, ai: AIServer, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Each step has a task and a database of its own; the tests of the lane kill at all steps of one batch."""
    steps = [step for step in STEPS if kind == "openai" or step != "uploaded"]
    needed = paid = 0
    for step in steps:
        speak(kind, ai, monkeypatch)
        ai.batches.paid.clear()
        with databases.fresh() as url:
            live = Live(url, tmp_path / step, **QUICK)
            # A batch is searched for only after a worker has died before it knew the batch's id.
            deaths = ["created", step] if step == "found" else [step]
            with Mortal(live, deaths) as mortal:
                done = mortal.run(ai)
                assert mortal.deaths() == dict.fromkeys(deaths, -9)
            assert (ai.batches.paid, done.spending.calls) == (dict.fromkeys(mortal.items, 1), len(mortal.items))
            needed, paid = needed + len(mortal.items), paid + ai.batches.paid.total()
            database = kind_of(url)
            live.store.close()
    assert ai.calls == []
    promised = "A question is paid for once, at whichever step of its batch a worker is killed."
    seen = f"killed at each of {len(steps)} steps ({', '.join(steps)}): {paid} paid for {needed} needed calls"
    counted = len(steps), needed, paid, 0
    note(Finding(f"each step of a batch ({kind})", database, promised, seen, paid=counted))
