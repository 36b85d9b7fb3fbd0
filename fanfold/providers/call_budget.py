"""Holds calls within their budgets: plan before the transaction that begins a call, reserve in it, settle with the answer.

A call reserves what hardly any call of its pipeline and model has exceeded (the 95th percentile), before anything was measured a
high guess, and never more than it can cost. A strict budget has it reserve the most that it can cost. So the overshoot is at most
the sum of what calls in the air cost beyond what they reserved; with a strict budget, only a wrong guess of the prompt's tokens.

Unknown outcomes stay reserved. A task without a budget, in an installation without any, costs one look every two seconds.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanfold.errors import PauseTask, Temporary
from fanfold.model.text.sentences import Sentence, say
from fanfold.model.values.budgets import WARN_AT
from fanfold.model.values.money import parts_of, told
from fanfold.providers.inquiry import Inquiry
from fanfold.providers.measured_costs import Key, MeasuredCosts
from fanfold.providers.prices import dearest
from fanfold.providers.question_size import QuestionSize, size_of
from fanfold.providers.shared_budgets import BudgetFile, utc_now, whose
from fanfold.store.rows.budgets import BudgetRow, Settled, task_scope
from fanfold.store.store import Store, Transaction

LOOK_SECONDS = 2.0
"""How often to look which budgets a task falls under: one that is added to a running task counts after this time."""
MOST_KNOWN = 1_000
"""Tasks whose budgets are remembered."""
ROOM_SECONDS = 0.3
"""How often to look whether calls in the air have left something of a budget."""
MORE_SECONDS = 30.0
"""How much longer than the time limit of a call its reservation counts as in the air."""
STRICT_ANSWER = 128_000
"""The longest answer where neither the question nor the price list names a limit."""


class BudgetSpent(PauseTask):
    """The budget does not allow the call: the task is paused, and the item goes back unharmed."""

    code = "budget"


class BudgetWaits(Temporary):
    """All that is left of the budget is reserved for calls under way: the item comes back in a moment, unharmed."""

    code = "budget"

    def __init__(self) -> None:
        super().__init__(say("budget_waits"), after=1 + random.uniform(0, 1), counts=False)


class BudgetFull(Exception):
    """One of the budgets has no room for the call now; the transaction is rolled back."""

    def __init__(self, plan: CallPlan, scope: str) -> None:
        super().__init__(scope)
        self.plan = plan
        self.scope = scope


@dataclass(frozen=True)
class Rules:
    """The budgets that a call falls under, in the order in which they are locked."""

    scopes: tuple[str, ...] = ()
    strict: bool = False
    allow_unknown: bool = False
    read_at: float = 0.0


@dataclass
class CallPlan:
    """What a call will reserve, and where."""

    inquiry: Inquiry
    size: QuestionSize
    rules: Rules
    amount: int = 0
    is_priced: bool = True
    tries: int = 0
    """How often settling was tried. After a connection that broke, only the ledger knows whether it was kept."""
    is_settled: bool = False

    @property
    def key(self) -> Key:
        """What its cost is counted under."""
        return self.inquiry.asking.pipeline, self.inquiry.provider.name, self.inquiry.model


class CallBudget:
    """The budgets of all calls in one event loop; its verbs run in threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.measured = MeasuredCosts(store)
        self.file = BudgetFile()
        self._rules: dict[tuple[int, str], Rules] = {}
        self._lock = threading.Lock()

    def plan(self, inquiry: Inquiry, parameters: Mapping[str, Any]) -> CallPlan:
        """What a call will reserve; BudgetSpent when its price is not known and nobody has agreed to that."""
        plan = CallPlan(inquiry, size_of(inquiry.question, parameters), self._rules_of(inquiry))
        if plan.rules.scopes:
            cost = self._reserved_by(plan)
            plan.amount, plan.is_priced = cost or 0, cost is not None
            if not plan.is_priced and not plan.rules.allow_unknown:
                asking, provider = inquiry.asking, inquiry.provider.name
                model = f"{provider}:{inquiry.model}"
                raise BudgetSpent(say("budget_price_unknown", model=model, provider=provider, task=asking.task_id))
        return plan

    def reserve(self, tx: Transaction, plan: CallPlan) -> None:
        """Reserve in every budget, as the last of the transaction that begins the call; BudgetFull rolls it back."""
        seconds = plan.inquiry.provider.timeout + MORE_SECONDS
        full = tx.budgets.reserve(plan.rules.scopes, plan.amount, seconds)
        if full is not None:
            raise BudgetFull(plan, full)

    async def until_room(self, plan: CallPlan, scope: str, give_up_at: float) -> None:
        """Wait while calls in the air may leave something of a full budget; BudgetSpent when they cannot.

        After a while the item gives its place to other work, and comes back.
        """
        while not await asyncio.to_thread(self._has_room, plan, scope):
            if time.monotonic() > give_up_at:
                raise BudgetWaits
            await asyncio.sleep(ROOM_SECONDS * random.uniform(0.5, 1.5))

    def _has_room(self, plan: CallPlan, scope: str) -> bool:
        """Whether the call may be tried again now. The first answers may have shown that it reserves too much."""
        with self.store.read() as tx:
            row = tx.budgets.get(scope)
        if row is None:  # Its task was deleted meanwhile.
            self._forget(plan.inquiry)
            return True
        amount = self._reserved_by(plan) or 0
        used = row.taken + row.reserved
        lets_one_pass = not row.strict and row.cap > 0
        if used + amount <= row.cap or (lets_one_pass and not used):
            return True
        fits_later = row.taken + amount <= row.cap or (lets_one_pass and not row.taken)
        if not (fits_later and row.reserved and row.is_open):
            raise BudgetSpent(_why(row, amount, plan.inquiry.asking.task_id))
        return False

    def note_try(self, tx: Transaction, call: int | None, plan: CallPlan) -> None:
        """Find out, before a call is settled once more after a lost connection, whether that was kept the first time."""
        plan.tries += 1
        plan.is_settled = plan.tries > 1 and call is not None and not tx.calls.is_asked(call)

    def settle(self, tx: Transaction, plan: CallPlan, row: Mapping[str, Any]) -> None:
        """Count what a call has cost; a price that is not known keeps the reservation. The last of its transaction."""
        if plan.is_settled:
            return
        self.measured.add(tx, plan.key, plan.size.guessed, row)
        cost = row["cost"]
        if cost is None:
            self._change(tx, plan, 0, unknown=plan.amount, unpriced=1)
        else:
            self._change(tx, plan, parts_of(cost))

    def release(self, tx: Transaction, plan: CallPlan) -> None:
        """The call was refused: it costs nothing."""
        self._change(tx, plan, 0)

    def hold(self, tx: Transaction, plan: CallPlan) -> None:
        """The call may have been paid: what it reserved stays reserved, and is shown."""
        self._change(tx, plan, 0, unknown=plan.amount)

    def _change(self, tx: Transaction, plan: CallPlan, cost: int, unknown: int = 0, unpriced: int = 0) -> None:
        settled = tx.budgets.settle(plan.rules.scopes, plan.amount, cost, unknown=unknown, unpriced=unpriced)
        events = [_warning(plan, one) for one in settled if one.spent - cost < WARN_AT * one.cap <= one.spent]
        tx.events.add(events)

    def _reserved_by(self, plan: CallPlan) -> int | None:
        """What the call reserves; None when the price is not known."""
        provider, model, size = plan.inquiry.provider, plan.inquiry.model, plan.size
        high = dearest(provider, model, size.most_input, size.likely_output)
        if high is None:
            return None
        most = dearest(provider, model, size.most_input, STRICT_ANSWER if size.limit is None else size.limit)
        assert most is not None
        if plan.rules.strict:
            return parts_of(most)
        measured = self.measured.likely_most(plan.key)
        return min(parts_of(most), parts_of(high) if measured is None else measured)

    def _rules_of(self, inquiry: Inquiry) -> Rules:
        key = inquiry.asking.task, inquiry.provider.name
        known = self._rules.get(key)
        if known is None or time.monotonic() - known.read_at >= LOOK_SECONDS:
            known = self._read_rules(inquiry)
            with self._lock:
                if len(self._rules) >= MOST_KNOWN:
                    self._rules.clear()
                self._rules[key] = known
        return known

    def _forget(self, inquiry: Inquiry) -> None:
        with self._lock:
            self._rules.pop((inquiry.asking.task, inquiry.provider.name), None)

    def _read_rules(self, inquiry: Inquiry) -> Rules:
        """Which budgets there are; those of the file get the cap that the file says now."""
        shared, own = self.file.current(), task_scope(inquiry.asking.task)
        caps = shared.scopes(inquiry.asking.owner, inquiry.provider.name, utc_now())
        with self.store.read() as tx:
            found = tx.budgets.of([own, *caps])
        changed = {
            scope: cap for scope, cap in caps.items() if scope not in found or _differs(found[scope], cap, shared)
        }
        if changed:
            with self.store.write() as tx:
                for scope, cap in changed.items():
                    tx.budgets.put(scope, cap, strict=shared.strict, allow_unknown=shared.allow_unknown_cost)
        mine = found.get(own)
        allowed = shared.allow_unknown_cost if mine is None else mine.allow_unknown
        strict = bool(mine and mine.strict) or (bool(caps) and shared.strict)
        return Rules((*((own,) if mine else ()), *caps), strict, allowed, time.monotonic())


def _differs(row: BudgetRow, cap: int, shared: Any) -> bool:
    return (row.cap, row.strict, row.allow_unknown) != (cap, shared.strict, shared.allow_unknown_cost)


def _why(row: BudgetRow, amount: int, task: str) -> Sentence:
    """Why nothing more is asked, and the way out."""
    lost = row.unknown + (0 if row.is_open else row.reserved)
    spent, cap, next_call = told(row.spent), told(row.cap), told(amount)
    if not row.scope.startswith("task:"):
        return say("budget_shared_spent", whose=whose(row.scope), spent=spent, cap=cap, next=next_call)
    if row.strict and row.taken + row.reserved == 0:
        return say("budget_too_small", cap=cap, next=next_call, task=task)
    if lost:
        return say("budget_spent_unknown", spent=spent, cap=cap, next=next_call, unknown=told(lost), task=task)
    return say("budget_spent", spent=spent, cap=cap, next=next_call, task=task)


def _warning(plan: CallPlan, one: Settled) -> dict[str, Any]:
    """The event that says that a budget will soon be used up."""
    spent, cap, share = told(one.spent), told(one.cap), round(100 * one.spent / max(1, one.cap))
    reason = say("budget_warning", spent=spent, cap=cap, share=share)
    if not one.scope.startswith("task:"):
        reason = say("budget_shared_warning", whose=whose(one.scope), spent=spent, cap=cap, share=share)
    return {"task": plan.inquiry.asking.task, "actor": "budget", "verb": "budget", "reason": reason}
