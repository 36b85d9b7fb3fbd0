"""Paid calls within the budget of a task: the real plans, reservations and settlements, driven by the schedule.

Each transaction that moves money checks the budget: it is exceeded at most by what calls cost beyond their reservations.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fanfold.engine.handlers.ask import AskingWork
from fanfold.engine.handlers.work import Work
from fanfold.engine.tasks.steering.set_budget import BudgetChange, change_budget
from fanfold.errors import DatabaseProblem
from fanfold.model.lifecycle import TaskState
from fanfold.model.money.amounts import PARTS, parts_of, told
from fanfold.model.money.budgets import USED_UP, BudgetWish
from fanfold.model.money.questions import Question, Usage
from fanfold.model.money.shared_budgets import SharedBudgets
from fanfold.model.text.sentences import Sentence
from fanfold.providers.costs.call_budget import BudgetFull, BudgetSpent, BudgetWaits, CallBudget, CallPlan
from fanfold.providers.costs.ledger_rows import ledger_row
from fanfold.providers.costs.prices import cost_of
from fanfold.providers.inquiry import Inquiry
from fanfold.store.rows.money.answers import ASKED, TAKEN
from fanfold.store.rows.money.budgets import task_scope
from fanfold.store.store import Store, Transaction
from tests.simulation.batched import PROVIDER
from tests.simulation.faults import HANDLER, Faults
from tests.simulation.money import Till
from tests.simulation.parts import STAGE
from tests.simulation.schedule import Violation

if TYPE_CHECKING:
    from tests.simulation.world import World

CAPS = (0.5, 1.5, 3.0, 6.0)
"""Budgets in dollars: some are full after one call."""
TOKENS = (900, 1_000, 1_000, 1_100, 1_600)
"""What an answer uses, at a tenth of a cent each: more than was measured before, now and then."""
OWN_PARTS = PARTS
"""What an attempt uses by itself, where it does: see `Till.uses`."""
SECONDS = (0.0, 0.5, 3.0, 9.0)
PATIENCE_SECONDS = 5.0
"""How long a call waits for room before it frees its slot."""


@dataclass
class Purse:
    """Pays for calls, and knows how far each budget may be exceeded."""

    store: Store
    beyond: Counter[int] = field(default_factory=Counter)
    """By task: what its calls have cost beyond their reservations, in billionths of a dollar."""
    largest: Counter[int] = field(default_factory=Counter)
    """By task: the largest reservation, which one call may make whatever the budget is."""
    raises: Counter[int] = field(default_factory=Counter)
    """By task: how often somebody raised its budget."""

    def __post_init__(self) -> None:
        self.budget = CallBudget(self.store)
        self.budget.file.current = SharedBudgets  # type: ignore[method-assign]

    def wish(self) -> BudgetWish:
        """The budget of a new task."""
        return BudgetWish(int(STAGE.schedule.dice.choice(CAPS) * PARTS))

    def pay(self, work: Work, faults: Faults, till: Till) -> None:
        """One call: reserved and noted, sent, and settled with what it has cost."""
        question = Question(f"{work.task_id}/{work._claimed.id}", (), None, ("simulated:m",), None, {})
        inquiry = Inquiry(AskingWork(work), question, PROVIDER, "m")
        call, plan = self._begin(inquiry, till)
        if call is None:
            return
        till.sent[inquiry.asking.item] += 1
        faults.at(HANDLER)
        dice = STAGE.schedule.dice
        STAGE.schedule.sleep(dice.choice(SECONDS) if faults.on else 0.0)
        usage = cost_of(PROVIDER, "m", Usage(0, dice.choice(TOKENS)))
        self.beyond[inquiry.asking.task] += max(0, parts_of(usage.cost or 0.0) - plan.amount)
        row = _row(inquiry, TAKEN, usage)
        while True:
            try:
                self.store.transact(lambda tx: self._settle(tx, call, plan, row))
                till.answered[inquiry.asking.item] += 1
                return
            except DatabaseProblem:
                STAGE.schedule.sleep(0.5)

    def _begin(self, inquiry: Inquiry, till: Till) -> tuple[int | None, CallPlan]:
        give_up_at = STAGE.schedule.now + PATIENCE_SECONDS
        while True:
            plan = self.budget.plan(inquiry, {})
            self.largest[inquiry.asking.task] = max(self.largest[inquiry.asking.task], plan.amount)
            till.unsure[inquiry.asking.item] += 1
            try:
                with self.store.write() as tx:
                    call = tx.calls.begin(_row(inquiry, ASKED, Usage()) | plan.noted)
                    self.budget.reserve(tx, plan)
                    self._check(tx, inquiry.asking.task)
                till.unsure[inquiry.asking.item] -= 1
                return call, plan
            except BudgetFull as full:
                till.unsure[inquiry.asking.item] -= 1
                self._wait(plan, full.scope, give_up_at)

    def _wait(self, plan: CallPlan, scope: str, give_up_at: float) -> None:
        try:
            if not self.budget._has_room(plan, scope):
                if STAGE.schedule.now > give_up_at:
                    raise BudgetWaits
                STAGE.schedule.sleep(0.3)
        except BudgetSpent:
            with self.store.read() as tx:
                row = tx.budgets.get(scope)
            if row is not None and not row.taken + row.reserved:
                STAGE.schedule.fail(Violation(f"stopped by a budget of which nothing is used: {row}"))
            raise

    def _settle(self, tx: Transaction, call: int, plan: CallPlan, row: dict[str, Any]) -> None:
        self.budget.note_try(tx, call, plan)
        if not tx.calls.settle(call, row):
            self.budget.note_gone(tx, call, plan)
        self.budget.settle(tx, plan, row)
        self._check(tx, plan.inquiry.asking.task)

    def _check(self, tx: Transaction, task: int) -> None:
        row = tx.budgets.get(task_scope(task))
        if row is None:
            return
        used, most = row.taken + row.reserved, max(row.cap, self.largest[task]) + self.beyond[task]
        if used > most or row.reserved < 0:
            STAGE.schedule.fail(Violation(f"a budget is exceeded: {row}, and at most {most} may be used"))


def _row(inquiry: Inquiry, outcome: str, usage: Usage) -> dict[str, Any]:
    asking = inquiry.asking
    return ledger_row(PROVIDER, "m", outcome, usage, item=asking.item, lease=asking.lease, key=None, seconds=1.0)


def is_stopped_by_budget(world: World, number: int) -> bool:
    """Whether a task is paused and its budget is used up: it is the reason of the pause, or keeps a person from ending it."""
    with world.store.read() as tx:
        row = tx.tasks.get(number)
        is_closed = row is not None and row.state is TaskState.PAUSED and row.is_closed
        return is_closed or _stopped(tx, number) is not None


def _stopped(tx: Transaction, number: int) -> Sentence | None:
    """The reason of a task that is paused because its budget is used up."""
    row = tx.tasks.get(number)
    if row is None or row.state is not TaskState.PAUSED or not isinstance(row.reason, Sentence):
        return None
    return row.reason if row.reason.code in USED_UP else None


def raise_budget(world: World, number: int) -> None:
    """Somebody raises the budget of a task; a task that it had paused goes on.

    Calls may use it up again at once, so what is wrong is only a pause whose reason is not this budget. Somebody who has to
    raise it often raises it by more: beside a reservation that was lost, each raise costs minutes.
    """
    raises = world.witness.purse.raises
    change_budget(world.store, world.pipelines, number, BudgetChange(by=2.0 * (1 + raises[number] // 5)), "person")
    raises[number] += 1
    with world.store.read() as tx:
        row, reason = tx.budgets.get(task_scope(number)), _stopped(tx, number)
    if row is None or reason is None or world.faults.on:
        return
    if row.taken < row.cap and reason.parameters.get("cap") != told(row.cap):
        raise Violation(f"task {number} has room in its budget again, and stays paused: {row}, {reason}")
