"""Takes the answer with which a person lets a task through a gate: checked first, then stored with who and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.lifecycle import TaskState
from fanfold.model.pipelines.gates import checked_answer, must_be_answered
from fanfold.model.plan import Plan
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.store.store import Transaction

SHOWN_LENGTH = 300


def take_answer(tx: Transaction, row: TaskRow, answer: Mapping[str, Any] | None, actor: str) -> str | None:
    """Store the answer at the gate where the task waits; returns the reason for its event, or None if nothing is asked there."""
    stage = row.plan.stage(row.stage)
    if row.state is not TaskState.WAITING or not stage.needs_answer:
        if answer:
            raise BadInput(say("gate_not_asked", task=row.id, state=row.state), code="answer_not_asked")
        return None
    text = serial.dump(checked_answer(stage.asks, stage.name, answer), "The answer")
    tx.gate_answers.add(row.number, stage.name, text, actor)
    shown = text if len(text) <= SHOWN_LENGTH else text[:SHOWN_LENGTH] + "…"
    return say("gate_answered", stage=stage.name, answer=shown)


def check_straight_through(plan: Plan) -> None:
    """Refuse to pass gates unseen that need an answer without a default."""
    for stage in plan.stages:
        if names := must_be_answered(stage.asks):
            raise BadInput(say("gate_needs_answer_first", stage=stage.name, names=names), code="answer_needed")
