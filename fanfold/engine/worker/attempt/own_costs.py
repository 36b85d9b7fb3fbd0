"""Counts what handlers say they have spent themselves, in the budgets of their task, of its owner and of the day.

Such costs are known only when an attempt is over: nothing can be reserved for them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from fanfold.engine.money.shared_budgets import shared_budgets, utc_now
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.model.money.amounts import parts_of, told
from fanfold.model.money.budgets import WARN_AT
from fanfold.model.money.shared_budgets import whose
from fanfold.model.money.usage import ledger
from fanfold.model.text.sentences import say
from fanfold.store.rows.money.budgets import Settled, in_lock_order, task_scope
from fanfold.store.store import Transaction


def charge(tx: Transaction, spent: Sequence[Settlement]) -> set[int]:
    """Count the costs, and return the tasks with a budget that is used up.

    Budgets are locked in the order task, owner, installation, each only once, as everywhere.
    """
    costs: Counter[int] = Counter()
    for one in spent:
        if cost := ledger(json.loads(one.usage or "{}"))["cost"]:
            costs[one.claimed.task] += parts_of(cost)
    if not costs:
        return set()
    used_up = set[int]()
    for task in sorted(costs):
        for budget in tx.budgets.settle([task_scope(task)], 0, costs[task]):
            tx.events.add(_warnings(task, costs[task], budget))
            used_up |= {task} if budget.spent >= budget.cap else set()
    return used_up | _charge_shared(tx, costs)


def _charge_shared(tx: Transaction, costs: Counter[int]) -> set[int]:
    """Count costs in the budgets of owners and of the day, which get the caps that fanfold.toml states now."""
    shared, now = shared_budgets(), utc_now()
    caps: dict[str, int] = {}
    tasks: dict[str, list[int]] = {}
    for task, owner in sorted(tx.tasks.owners_of(costs).items()):
        for scope, cap in shared.scopes(owner, None, now).items():
            caps[scope] = cap
            tasks.setdefault(scope, []).append(task)
    used_up = set[int]()
    for scope in in_lock_order(caps):
        known = tx.budgets.get(scope)
        if known is None or known.cap != caps[scope]:
            tx.budgets.put(scope, caps[scope], strict=shared.strict, allow_unknown=shared.allow_unknown_cost)
        amount = sum(costs[task] for task in tasks[scope])
        for budget in tx.budgets.settle([scope], 0, amount):
            tx.events.add(_warnings(tasks[scope][0], amount, budget))
            used_up |= set(tasks[scope]) if budget.spent >= budget.cap else set()
    return used_up


def _warnings(task: int, cost: int, budget: Settled) -> list[dict[str, Any]]:
    """Events that say that what handlers spend themselves has nearly used up a budget, or all of it."""
    before, spent, cap = budget.spent - cost, told(budget.spent), told(budget.cap)
    owner = None if budget.scope.startswith("task:") else whose(budget.scope)
    reasons = []
    if before < WARN_AT * budget.cap <= budget.spent:
        share = round(100 * budget.spent / max(1, budget.cap))
        reasons.append(
            say("budget_warning", share=share, spent=spent, cap=cap)
            if owner is None
            else say("budget_shared_warning", share=share, spent=spent, cap=cap, whose=owner)
        )
    if before < budget.cap <= budget.spent:
        reasons.append(
            say("budget_own_exceeded", spent=spent, cap=cap)
            if owner is None
            else say("budget_shared_own_exceeded", spent=spent, cap=cap, whose=owner)
        )
    return [{"task": task, "actor": "budget", "verb": "budget", "reason": reason} for reason in reasons]
