"""Keeps calls within their budgets: plan before the transaction that records a call, reserve in it, settle with the answer.

A call reserves the 95th percentile of what calls of its pipeline and model have cost. Before anything was measured, it reserves
a high guess. It never reserves more than it can cost; in a strict budget it reserves exactly the most that it can cost.
So a budget is exceeded at most by what the calls in flight cost beyond their reservations, and a strict budget only if the
tokens of a prompt were guessed too low. A call that cost more than its computed maximum raises the maximum of later calls.

Unknown outcomes stay reserved. Where there are no budgets, a task costs one query every two seconds.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanfold.engine.money.shared_budgets import BudgetFile, utc_now
from fanfold.errors import PauseTask, Temporary
from fanfold.model.money.amounts import parts_of, told
from fanfold.model.money.batch import LIVE
from fanfold.model.money.budgets import WARN_AT
from fanfold.model.money.shared_budgets import whose
from fanfold.model.text.sentences import Sentence, say
from fanfold.providers.costs.measured_costs import Key, MeasuredCosts
from fanfold.providers.costs.prices import dearest, lane_share
from fanfold.providers.inquiry import Inquiry
from fanfold.providers.question_size import QuestionSize, size_of
from fanfold.store.rows.money.answers import NO_ANSWER, LostCall
from fanfold.store.rows.money.budgets import BudgetRow, Settled, task_scope
from fanfold.store.store import Store, Transaction

LOOK_SECONDS = 2.0
"""How often to read which budgets apply to a task: a budget added to a running task takes effect within this time."""
MOST_KNOWN = 1_000
"""Most tasks whose budgets are remembered."""
ROOM_SECONDS = 0.3
"""How often to check whether calls that were in flight have freed part of a full budget."""
MORE_SECONDS = 30.0
"""How much longer than its timeout a call with a reservation counts as in flight."""
STRICT_ANSWER = 128_000
"""Assumed tokens of the longest answer, if the question sets no limit."""


class BudgetSpent(PauseTask):
    """The budget does not allow the call: the task is paused, and the item goes back without losing a retry."""

    code = "budget"


class BudgetWaits(Temporary):
    """The rest of the budget is reserved for calls in flight: the item is tried again soon, without losing a retry."""

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
    """The budgets that apply to a call, in the order in which they are locked."""

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
    computed: int = 0
    """The most that the call can cost, computed from its tokens."""
    is_priced: bool = True
    share: float = 1.0
    """The price of its lane, as a share of the live price."""
    tries: int = 0
    """How often settling was tried. After a lost connection, only the ledger shows whether it was committed."""
    is_settled: bool = False

    @property
    def noted(self) -> dict[str, Any]:
        """What the ledger stores about the plan until the outcome of the call is known."""
        scopes = self.rules.scopes
        return {"reserved": self.amount, "scopes": json.dumps(scopes)} if scopes else {}

    @property
    def key(self) -> Key:
        """The key under which its cost is counted."""
        return self.inquiry.asking.pipeline, self.inquiry.provider.name, self.inquiry.model


class CallBudget:
    """The budgets of all calls in one event loop; its methods run in threads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.measured = MeasuredCosts(store)
        self.file = BudgetFile()
        self._rules: dict[tuple[int, str], Rules] = {}
        self._lock = threading.Lock()

    def plan(self, inquiry: Inquiry, parameters: Mapping[str, Any], lane: str = LIVE) -> CallPlan:
        """What a call will reserve; BudgetSpent if its price is unknown and unknown costs are not allowed."""
        size, share = size_of(inquiry.question, parameters), lane_share(inquiry.provider, lane)
        plan = CallPlan(inquiry, size, self._rules_of(inquiry), share=share)
        if plan.rules.scopes:
            cost = self._reserved_by(plan)
            plan.amount, plan.is_priced = cost or 0, cost is not None
            if not plan.is_priced and not plan.rules.allow_unknown:
                asking, provider = inquiry.asking, inquiry.provider.name
                model = f"{provider}:{inquiry.model}"
                raise BudgetSpent(say("budget_price_unknown", model=model, provider=provider, task=asking.task_id))
        return plan

    def reserve(self, tx: Transaction, plan: CallPlan) -> None:
        """Reserve in every budget, as the last step of the transaction that records the call; BudgetFull rolls it back."""
        seconds = plan.inquiry.provider.timeout + MORE_SECONDS
        full = tx.budgets.reserve(plan.rules.scopes, plan.amount, seconds)
        if full is not None:
            raise BudgetFull(plan, full)

    async def until_room(self, plan: CallPlan, scope: str, give_up_at: float) -> None:
        """Wait while calls in flight may free part of a full budget; BudgetSpent if they cannot.

        After ``give_up_at``, BudgetWaits frees the item's slot for other work; the item is tried again later.
        """
        while not await asyncio.to_thread(self._has_room, plan, scope):
            if time.monotonic() > give_up_at:
                raise BudgetWaits
            await asyncio.sleep(ROOM_SECONDS * random.uniform(0.5, 1.5))

    def _has_room(self, plan: CallPlan, scope: str) -> bool:
        """Whether the call may be tried again now. It may reserve less than before, since answers were measured."""
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
        """If a call is settled again after a lost connection, find out whether the first try was committed."""
        plan.tries += 1
        plan.is_settled = plan.tries > 1 and call is not None and not tx.calls.is_asked(call)

    def note_gone(self, tx: Transaction, call: int | None, plan: CallPlan) -> None:
        """A call is no longer in the ledger. If a later call replaced it, its reservation was released then."""
        if call is not None and tx.calls.is_withdrawn(call, plan.inquiry.asking.item):
            plan.amount = 0

    def settle(self, tx: Transaction, plan: CallPlan, row: Mapping[str, Any]) -> None:
        """Count the cost of a call; if its price is unknown, the reservation stays. Last step of its transaction."""
        if plan.is_settled:
            return
        self.measured.add(tx, plan.key, plan.size.guessed, row)
        cost = row["cost"]
        self.measured.compare(plan.key, plan.computed, cost)
        if cost is None:
            self._change(tx, plan, 0, unknown=plan.amount, unpriced=1)
        else:
            self._change(tx, plan, parts_of(cost))

    def release(self, tx: Transaction, plan: CallPlan) -> None:
        """The call was refused: it costs nothing."""
        self._change(tx, plan, 0)

    def hold(self, tx: Transaction, plan: CallPlan) -> None:
        """The call may have been charged: its reservation stays, and is shown as unknown."""
        self._change(tx, plan, 0, unknown=plan.amount)

    def _change(self, tx: Transaction, plan: CallPlan, cost: int, unknown: int = 0, unpriced: int = 0) -> None:
        task = plan.inquiry.asking.task
        count_cost(tx, task, plan.rules.scopes, plan.amount, cost, unknown=unknown, unpriced=unpriced)

    def _reserved_by(self, plan: CallPlan) -> int | None:
        """The amount that the call reserves; None if the price is unknown."""
        provider, model, size = plan.inquiry.provider, plan.inquiry.model, plan.size
        high = dearest(provider, model, size.most_input, size.likely_output)
        if high is None:
            return None
        most = dearest(provider, model, size.most_input, STRICT_ANSWER if size.limit is None else size.limit)
        assert most is not None
        plan.computed = parts_of(most)
        most_parts = math.ceil(plan.computed * self.measured.excess(plan.key))
        measured = None if plan.rules.strict else self.measured.likely_most(plan.key)
        likely = parts_of(high) if measured is None else measured
        return int((most_parts if plan.rules.strict else min(most_parts, likely)) * plan.share)

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
        """Read which budgets apply. Those of the file get the cap that the file states now."""
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


def count_cost(
    tx: Transaction,
    task: int,
    scopes: Sequence[str],
    reserved: int,
    cost: int,
    *,
    unknown: int = 0,
    unpriced: int = 0,
) -> None:
    """Release what calls of a task reserved, count what they cost, and warn if a budget is nearly used up."""
    settled = tx.budgets.settle(scopes, reserved, cost, unknown=unknown, unpriced=unpriced)
    tx.events.add([_warning(task, one) for one in settled if one.spent - cost < WARN_AT * one.cap <= one.spent])


def give_back(tx: Transaction, lost: Sequence[LostCall]) -> None:
    """Release the reservations of unanswered calls that the service took for the same call as a later one."""
    for call in lost:
        is_held = call.outcome == NO_ANSWER
        reserved, unknown = (0, -call.reserved) if is_held else (call.reserved, 0)
        tx.budgets.settle(call.scopes, reserved, 0, unknown=unknown)


def _differs(row: BudgetRow, cap: int, shared: Any) -> bool:
    return (row.cap, row.strict, row.allow_unknown) != (cap, shared.strict, shared.allow_unknown_cost)


def _why(row: BudgetRow, amount: int, task: str) -> Sentence:
    """Why no more calls are made, and what to do about it."""
    lost = row.unknown + (0 if row.is_open else row.reserved)
    spent, cap, next_call = told(row.spent), told(row.cap), told(amount)
    if not row.scope.startswith("task:"):
        return say("budget_shared_spent", whose=whose(row.scope), spent=spent, cap=cap, next=next_call)
    if row.strict and row.taken + row.reserved == 0:
        return say("budget_too_small", cap=cap, next=next_call, task=task)
    if lost:
        return say("budget_spent_unknown", spent=spent, cap=cap, next=next_call, unknown=told(lost), task=task)
    return say("budget_spent", spent=spent, cap=cap, next=next_call, task=task)


def _warning(task: int, one: Settled) -> dict[str, Any]:
    """The event that says that a budget is nearly used up."""
    spent, cap, share = told(one.spent), told(one.cap), round(100 * one.spent / max(1, one.cap))
    reason = say("budget_warning", spent=spent, cap=cap, share=share)
    if not one.scope.startswith("task:"):
        reason = say("budget_shared_warning", whose=whose(one.scope), spent=spent, cap=cap, share=share)
    return {"task": task, "actor": "budget", "verb": "budget", "reason": reason}
