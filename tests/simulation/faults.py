"""Faults that a seed deals out at the points where a run can be interrupted."""

from __future__ import annotations

import errno
import os
import random
import sqlite3
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import psycopg
import sqlalchemy as sa

from fanfold.errors import DatabaseProblem
from tests.simulation.schedule import Process, Schedule

BEGINNING = datetime(2031, 5, 4, 12, 0, tzinfo=UTC)
STATEMENT, BEFORE_COMMIT, AFTER_COMMIT, HANDLER = "statement", "before commit", "after commit", "handler"
FREEZES = (2.0, 9.0, 16.5, 40.0)
STALLS = (0.5, 3.0, 12.0)
STEPS = (-400.0, -40.0, -5.0, 5.0, 40.0, 400.0)

REFUSALS: tuple[tuple[str | None, int | None, str], ...] = (
    *((state, None, f"simulated: SQLSTATE {state}") for state in (
        "25006", "25P03", "25P04", "40001", "40P01", "53300", "57014", "57P01", "26000", "08006",
    )),
    (None, 5, "database is locked"),
    (None, 13, "database or disk is full"),
    (None, 8, "attempt to write a readonly database"),
    (None, 10, "disk I/O error"),
)  # fmt: skip
"""SQLSTATE of PostgreSQL or error code of SQLite, and what is said. None of them is about the data: all are tried again."""
SERVICES = ("/sweep", "/cleaning", "/pulse")
"""The threads of a worker that must survive any error."""


SHORT = (errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT)


def is_short(error: OSError) -> bool:
    """Whether an error is one of the simulated shortages."""
    return error.errno in SHORT


def refusal(sqlstate: str | None, sqlite_errorcode: int | None, said: str) -> Exception:
    """An error of a driver."""
    if sqlstate is not None:
        return psycopg.errors.lookup(sqlstate)(said)
    error = sqlite3.OperationalError(said)
    error.sqlite_errorcode = sqlite_errorcode or 0
    return error


@dataclass
class Odds:
    """How likely each fault is at each point."""

    crash: float = 0.0
    freeze: float = 0.0
    lost_statement: float = 0.0
    failed_commit: float = 0.0
    lost_answer: float = 0.0
    clock_step: float = 0.0
    lost_hint: float = 0.0
    refused: float = 0.0
    short: float = 0.0
    """No open files, or no space, when a file is to be opened."""
    stall: float = 0.0
    """One thread stands still behind a transaction."""

    @classmethod
    def drawn(cls, dice: random.Random) -> Odds:
        """Some seeds are calm, some are wild, most have two or three kinds of trouble."""
        some = dice.choice((0.0, 0.004, 0.004, 0.012))

        def now_and_then(share: float, odds: float) -> float:
            return odds if dice.random() < share else 0.0

        return cls(
            crash=now_and_then(0.7, some or 0.004),
            freeze=now_and_then(0.5, some),
            lost_statement=now_and_then(0.3, some),
            failed_commit=now_and_then(0.4, 4 * some),
            lost_answer=now_and_then(0.5, 8 * some),
            clock_step=now_and_then(0.25, some),
            lost_hint=now_and_then(0.5, dice.choice((0.1, 0.9, 1.0))),
        )


@dataclass
class Faults:
    """Strikes while it is told to, and counts what it did."""

    schedule: Schedule
    odds: Odds
    on: bool = False
    most: int = 25
    shift: float = 0.0
    """Seconds by which the database's clock is off."""
    set_back: float = 0.0
    """Seconds by which it was set back in all: where that happens between two sweeps, a back-off may last so much longer."""
    counted: Counter[str] = field(default_factory=Counter)

    def clock(self) -> datetime:
        """The database's clock."""
        return BEGINNING + timedelta(seconds=self.schedule.now + self.shift)

    def _strikes(self, name: str, odds: float) -> bool:
        if not (self.on and odds and self.schedule.current.process.at_risk and self.counted.total() < self.most):
            return False
        if self.schedule.dice.random() >= odds:
            return False
        self.counted[name] += 1
        return True

    def at(self, point: str) -> None:
        """A fault may strike the running process here; then others may run."""
        process = self.schedule.current.process
        commits = 4 if point in (BEFORE_COMMIT, AFTER_COMMIT) else 1
        if self._strikes(f"crash at {point}", self.odds.crash * commits):
            self.schedule.kill(process)
        if self._strikes("freeze", self.odds.freeze * commits):
            self.freeze(process)
        if self._strikes("clock step", self.odds.clock_step):
            step = self.schedule.dice.choice(STEPS)
            self.shift += step
            self.set_back -= min(0.0, step)
            self.schedule.note(f"*** the clock is stepped; it is off by {self.shift:+g} s", "-")
        self.schedule.pause(point)

    def freeze(self, process: Process) -> None:
        """Nothing of the process runs for a while; then it continues as if nothing had happened."""
        seconds = self.schedule.dice.choice(FREEZES)
        process.frozen_until = self.schedule.now + seconds
        self.schedule.note(f"*** {process.name} is frozen for {seconds:g} s", "-")

    def stall(self) -> None:
        """One thread stands still while the others of its process continue: what it knows becomes outdated. Never a heartbeat."""
        actor = self.schedule.current
        if actor.name.endswith("/pulse") or not self._strikes("stall", self.odds.stall):
            return
        seconds = self.schedule.dice.choice(STALLS)
        actor.stalled_until = self.schedule.now + seconds
        self.schedule.note(f"*** stands still for {seconds:g} s")
        self.schedule.pause("stalled")

    def statement(self) -> None:
        """The connection may be lost in the middle of a transaction."""
        if self._strikes("lost statement", self.odds.lost_statement):
            self.schedule.note("*** the connection is lost")
            raise sa.exc.OperationalError("a statement", None, Exception("simulated: connection lost"))
        if self._strikes("refused statement", self.odds.refused):
            raise self._refusal()
        if self.schedule.current.name.endswith(SERVICES) and self._strikes("error in a service", 4 * self.odds.refused):
            self.schedule.note("*** a file is gone")
            raise FileNotFoundError("simulated: removed meanwhile")

    def opening(self) -> None:
        """A file is opened to be written: there may be no open file, or no space, left."""
        if self._strikes("shortage", self.odds.short):
            number = self.schedule.dice.choice(SHORT)
            self.schedule.note(f"*** {os.strerror(number)}")
            raise OSError(number, os.strerror(number))

    def lasting_shortage(self) -> str | None:
        """What a worker that probes for files and space finds."""
        lasts = self.on and self.schedule.dice.random() < 0.5
        return "simulated: too many open files" if lasts else None

    def commit(self) -> None:
        """The commit may fail: nothing was written."""
        if self._strikes("failed commit", self.odds.failed_commit):
            self.schedule.note("*** the commit fails")
            raise sa.exc.OperationalError("COMMIT", None, Exception("simulated: commit failed"))
        if self._strikes("refused commit", 4 * self.odds.refused):
            raise self._refusal()

    def _refusal(self) -> sa.exc.OperationalError:
        """What the database says when it is busy, full, read-only, restarting, or ends the transaction for another one."""
        said = self.schedule.dice.choice(REFUSALS)
        self.schedule.note(f"*** the database says {said}")
        return sa.exc.OperationalError("a statement", None, refusal(*said))

    def answer(self) -> None:
        """The commit succeeded, but its answer is lost."""
        if self._strikes("lost answer", self.odds.lost_answer):
            self.schedule.note("*** the answer to the commit is lost")
            raise DatabaseProblem("Simulated: the connection was lost after the commit.", code="unreachable")

    def hint_is_lost(self) -> bool:
        """Whether a hint does not arrive."""
        return bool(self.odds.lost_hint) and self.schedule.dice.random() < self.odds.lost_hint
