"""A service that answers questions in batches, and the way there: the real lane, rounds and budgets, driven by the schedule."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fanfold.engine.discovery import beside_service
from fanfold.engine.handlers.ask import AskingWork
from fanfold.engine.handlers.work import Work
from fanfold.errors import Temporary
from fanfold.model.money.batch import BATCH, OPEN_BATCHES, OPEN_MEMBERS
from fanfold.model.money.questions import Question, Usage
from fanfold.model.money.shared_budgets import Cap, SharedBudgets
from fanfold.providers.batches import batch_round, question_lane
from fanfold.providers.batches.batch_service import BatchLimits, BatchStatus, MemberResult, ProviderConnection
from fanfold.providers.configuration import Provider
from fanfold.providers.costs.call_budget import CallBudget
from fanfold.providers.costs.ledger_rows import ledger_row
from fanfold.providers.costs.prices import cost_of
from fanfold.providers.inquiry import Inquiry
from fanfold.providers.services.service import Finish, Request, ServiceReply, ServiceTrouble, TroubleKind
from fanfold.store.schema.money.batch_tables import batch_members, batches
from fanfold.store.schema.money.budget_tables import budgets
from fanfold.store.store import Store
from tests.simulation.faults import HANDLER, Faults
from tests.simulation.parts import STAGE
from tests.simulation.schedule import Violation

if TYPE_CHECKING:
    from tests.simulation.world import World

PROVIDER = Provider("simulated", model="m", price_input=1_000.0, price_output=1_000.0, batch=1)
USED = cost_of(PROVIDER, "m", Usage(1_000, 0))
"""What each answer uses: one dollar live, half of it in a batch."""
PARTS = 500_000_000
"""That half, in billionths of a dollar."""
CREATES = (*["answered"] * 5, "refused", "lost before", "lost after")
"""How a call that creates a batch ends, while there is trouble: the last two leave open whether it was created."""
ENDINGS = (*["answered"] * 6, "expired", "expired", "errored")
"""What becomes of a question in a batch, while there is trouble."""
SECONDS = (0.0, 0.0, 0.5, 3.0, 7.0)
LIMITS = BatchLimits(questions=3, bytes=1_000_000)
BUDGETS = SharedBudgets(owner=Cap(10**15))
"""Everything of an owner counts in one budget, which is never full."""
AGAIN_SECONDS = 2.0


@dataclass
class Job:
    """A batch at the service."""

    name: str
    requests: dict[str, str]
    """Prompt by the name of the question."""
    looks: int
    """How often one must look until it is over."""
    results: list[tuple[str, str]] = field(default_factory=list)
    is_over: bool = False


@dataclass
class BatchService:
    """Answers batches for money, counts what it was paid for, and never forgets."""

    faults: Faults
    limits: BatchLimits = LIMITS
    jobs: dict[str, Job] = field(default_factory=dict)
    paid: Counter[str] = field(default_factory=Counter)
    """How often each prompt was answered."""
    troubles: Counter[str] = field(default_factory=Counter)
    """How often each batch or prompt met trouble, of which there is only so much."""

    def line(self, name: str, request: Request) -> str:
        """A question as one line of the file that is sent."""
        return json.dumps({"name": name, "prompt": request.prompt})

    async def create(self, name: str, lines: Path, check: Callable[[], None]) -> str:
        """Take a batch, unless trouble comes first; the reply may be lost."""
        check()
        ending = self._draw(CREATES, name)
        STAGE.schedule.note(f"sends the batch {name}: {ending}")
        job = f"job of {name}"
        if ending in ("answered", "lost after"):
            if job in self.jobs:
                STAGE.schedule.fail(Violation(f"the batch {name} was created twice"))
            asked = [json.loads(line) for line in lines.read_text().splitlines()]
            requests = {one["name"]: one["prompt"] for one in asked}
            self.jobs[job] = Job(name, requests, STAGE.schedule.dice.choice((0, 1, 2)))
        self._passes(ending)
        return job

    async def find(self, name: str, questions: int, since: datetime, known: set[str]) -> str | None:
        """The batch of this name."""
        self._passes()
        found = self.jobs.get(f"job of {name}")
        if found is not None and len(found.requests) != questions:
            STAGE.schedule.fail(Violation(f"{name} has {len(found.requests)} questions, not {questions}"))
        return f"job of {name}" if found is not None else None

    async def look(self, job: str) -> BatchStatus:
        """How far it is."""
        self._passes()
        found = self.jobs[job]
        found.looks -= 1
        if found.looks < 0:
            self._finish(found)
        answered = sum(ending == "answered" for _, ending in found.results)
        return BatchStatus(found.is_over, answered, len(found.results) - answered)

    def _finish(self, job: Job) -> None:
        if job.is_over:
            return
        job.is_over = True
        for name, prompt in job.requests.items():
            ending = self._draw(ENDINGS, prompt)
            self.paid[prompt] += ending == "answered"
            if self.paid[prompt] > 1:
                STAGE.schedule.fail(Violation(f"paid for twice: {prompt}"))
            job.results.append((name, ending))

    async def results(self, job: str, model: str) -> AsyncIterator[MemberResult]:
        """What became of each question; reading may break off."""
        for name, ending in self.jobs[job].results:
            self._passes(self._draw((*["answered"] * 12, "refused"), f"results of {job}"))
            prompt = self.jobs[job].requests[name]
            if ending == "answered":
                yield MemberResult(name, ServiceReply(f"answer to {prompt}", Finish.WHOLE, USED))
            elif ending == "errored":
                yield MemberResult(name, trouble=trouble(TroubleKind.REFUSED))
            else:
                yield MemberResult(name)

    async def cancel(self, job: str) -> None:
        """Stop: what is not answered will not be, and is not paid."""
        self._passes()
        found = self.jobs[job]
        if not found.is_over:
            found.is_over = True
            found.results = [(name, "cancelled") for name in found.requests]

    async def remove(self, name: str, job: str | None) -> None:
        """Delete an ended batch; it stays known here, for the reckoning."""
        self._passes()

    async def close(self) -> None:
        """Nothing to close."""

    async def call(self, request: Request) -> ServiceReply:
        """Nobody asks live in this world."""
        raise AssertionError("asked live")

    def _draw(self, endings: tuple[str, ...], whose: str) -> str:
        troubled = self.faults.on and self.troubles[whose] < 2
        ending = STAGE.schedule.dice.choice(endings) if troubled else "answered"
        self.troubles[whose] += ending != "answered"
        return ending

    def _passes(self, ending: str = "answered") -> None:
        """Time passes while a call is under way, in which its process may die; then it ends well or not."""
        STAGE.schedule.sleep(STAGE.schedule.dice.choice(SECONDS) if self.faults.on else 0.0)
        self.faults.at(HANDLER)
        if ending == "refused":
            raise trouble(TroubleKind.UNREACHABLE)
        if ending != "answered":
            raise trouble(TroubleKind.BUSY, unknown=True)


def trouble(kind: TroubleKind, *, unknown: bool = False) -> ServiceTrouble:
    """What the service says when something is wrong."""
    return ServiceTrouble(PROVIDER, kind, "simulated: no", unknown=unknown)


class Lane:
    """What the batch lane needs of an asker."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.budget = CallBudget(store)
        self.budget.file.current = lambda: BUDGETS  # type: ignore[method-assign]

    def account(self, inquiry: Inquiry, key: str | None, outcome: str, usage: Usage, seconds: float) -> None:
        """Write a call into the ledger."""
        asking = inquiry.asking
        row = ledger_row(PROVIDER, "m", outcome, usage, item=asking.item, lease=asking.lease, key=key, seconds=seconds)
        with self.store.write() as tx:
            tx.calls.add([row])

    async def ask(self, work: Work) -> None:
        """One question of an item in the batch lane, as `item.ask` asks it: the attempt ends, or the answer is there."""
        claimed = work._claimed
        prompt = f"{work.task_id}/{claimed.stage}/{claimed.id}"
        question = Question(prompt, (), None, ("simulated:m",), None, {}, lane=BATCH)
        inquiry = Inquiry(AskingWork(work), question, PROVIDER, "m")
        try:
            answer = await question_lane.batched_answer(self, inquiry, {})  # type: ignore[arg-type]
        except ServiceTrouble as met:
            raise Temporary(met.message, after=2, counts=False) from None
        if answer is None or answer.text != f"answer to {prompt}":
            STAGE.schedule.fail(Violation(f"{prompt} was answered with {answer}"))


class InOneThread:
    """Stands for `asyncio` in the batch lane: what it does in another thread is done here."""

    @staticmethod
    async def to_thread(function: Any, *words: Any) -> Any:
        """Call it."""
        return function(*words)

    sleep = asyncio.sleep


def carry_in_the_run(world: World) -> Any:
    """Stands for `beside_service`: the real rounds carry batches to the service of this world."""

    def chosen(name: str, beside: str) -> Any:
        return carry_now if beside == "carry_batches" else beside_service(name, beside)

    def carry_now(store: Store, worker: str) -> None:
        round_ = batch_round.BatchRound(store, worker)
        service = world.witness.batches
        round_._connections = {PROVIDER.name: ProviderConnection(service, service)}
        at_once(round_.run())

    return chosen


def at_once(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine that never waits for an event loop."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("it waits for an event loop")


def are_over(world: World) -> bool:
    """Whether no batch and no question is open any more."""
    with world.store.database.undisturbed() as connection:
        open_ones = sa.select(batches.c.id).where(batches.c.state.in_([str(state) for state in OPEN_BATCHES]))
        waiting = sa.select(batch_members.c.id).where(batch_members.c.state.in_([str(state) for state in OPEN_MEMBERS]))
        return connection.execute(open_ones.union_all(waiting).limit(1)).first() is None


def every_answer_is_paid_and_counted_once(world: World) -> None:
    """The budgets have what the service was paid for, also for tasks that are deleted, and nothing is reserved."""
    if not are_over(world):
        raise Violation("questions or batches are open in the end")
    shared = sa.select(budgets.c.spent, budgets.c.reserved, budgets.c.unknown).where(budgets.c.task.is_(None))
    with world.store.database.undisturbed() as connection:
        rows = connection.execute(shared).all()
    paid = world.witness.batches.paid.total()
    spent, reserved, unknown = (sum(row[place] for row in rows) for place in range(3))
    if (spent, reserved, unknown) != (paid * PARTS, 0, 0):
        raise Violation(f"{paid} answers were paid: spent {spent}, reserved {reserved}, unknown {unknown}")
