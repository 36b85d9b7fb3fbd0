"""Stores what people answered at gates: who, when and what. Nothing is overwritten."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa

from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.tables import gate_answers


class GateAnswerRow(NamedTuple):
    """An answer as stored; the values are JSON."""

    number: int
    stage: str
    answer: str
    actor: str
    at: datetime


SHOWN = tuple(gate_answers.c[name] for name in GateAnswerRow._fields)


class GateAnswers:
    """Verbs on answers, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def add(self, task: int, stage: str, answer: str, actor: str) -> None:
        """Store an answer; the caller holds the task's lock, so numbers are not given twice."""
        last = sa.select(sa.func.max(gate_answers.c.number)).where(gate_answers.c.task == task)
        number = (self.connection.execute(last).scalar() or 0) + 1
        row = {"task": task, "number": number, "stage": stage, "answer": answer, "actor": actor}
        self.connection.execute(sa.insert(gate_answers).values(**row, at=self.clock.now))

    def latest(self, task: int, stage: str) -> str | None:
        """The answer that counts at the gate of a stage."""
        mine = sa.select(gate_answers.c.answer).where(gate_answers.c.task == task, gate_answers.c.stage == stage)
        return self.connection.execute(mine.order_by(gate_answers.c.number.desc()).limit(1)).scalar()

    def of(self, task: int) -> list[GateAnswerRow]:
        """All answers of a task, the first one first."""
        found = sa.select(*SHOWN).where(gate_answers.c.task == task).order_by(gate_answers.c.number)
        return [GateAnswerRow(*row) for row in self.connection.execute(found)]
