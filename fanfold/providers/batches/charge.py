"""Counts the cost of answers in the batch lane, in the budgets of their questions and in the usage history."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fanfold.model.money.amounts import parts_of
from fanfold.model.money.batch import BATCH
from fanfold.model.money.questions import Usage
from fanfold.providers.configuration import Provider
from fanfold.providers.costs.call_budget import count_cost
from fanfold.providers.costs.ledger_rows import ledger_row
from fanfold.providers.costs.measured_costs import history_rows
from fanfold.providers.costs.prices import at_lane_price
from fanfold.store.rows.money.batched_questions import MemberRow
from fanfold.store.rows.money.budgets import in_lock_order
from fanfold.store.store import Transaction


@dataclass(frozen=True)
class PaidAnswer:
    """An answer to a question of the batch lane; its usage has the price of a live call."""

    member: MemberRow
    usage: Usage
    lane: str = BATCH
    """How it was really asked: in a batch, or live as a trial."""

    def row(self, provider: Provider, outcome: str, raw: str | None = None) -> dict[str, Any]:
        """Its row in the ledger."""
        member = self.member
        return ledger_row(
            provider, member.model, outcome, self.usage,
            item=member.item, lease=member.lease, key=member.key, lane=self.lane, raw=raw,
            purpose=member.purpose,
        )  # fmt: skip


def charge(tx: Transaction, provider: Provider, answers: Sequence[PaidAnswer]) -> None:
    """Count answers in budgets and in the usage history. Last step of its transaction, because workers share these rows."""
    if not answers:
        return
    pipelines = tx.batched.pipelines({answer.member.task for answer in answers})
    measured = [
        ((pipeline, provider.name, answer.member.model), answer.member.tokens, answer.usage)
        for answer in answers
        if (pipeline := pipelines.get(answer.member.task)) is not None
    ]
    tx.usage_history.add(history_rows(measured))
    costs: Counter[str] = Counter()
    unpriced: Counter[str] = Counter()
    tasks: dict[str, int] = {}
    for answer in answers:
        cost = at_lane_price(provider, answer.usage, answer.lane).cost
        for scope in json.loads(answer.member.scopes or "[]"):
            costs[scope] += parts_of(cost or 0.0)
            unpriced[scope] += int(cost is None)
            tasks.setdefault(scope, answer.member.task)
    for scope in in_lock_order(costs):
        count_cost(tx, tasks[scope], [scope], 0, costs[scope], unpriced=unpriced[scope])
