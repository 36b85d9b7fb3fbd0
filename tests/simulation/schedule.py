"""Chooses who runs next: one actor at a time, by a seeded random choice, on a clock that stands still while any can run.

Every actor is a real thread, but only the one that holds the baton runs. It passes the baton on wherever it waits or comes to a
point where something could come between: before a statement, before a commit, after a commit. So a seed gives the same order,
and the same order gives the same run.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

MOST_DECISIONS = 400_000
"""A worker that spins is found by this. Histories in which calls wait long for a rate limit needed 100 000 and 220 000."""
LONGEST = 130
"""Characters of a line in the trace."""


class ProcessDied(BaseException):
    """The process of this actor was killed: whatever the actor still does has no effect."""


class Violation(AssertionError):
    """Something that must never happen has happened."""


@dataclass(eq=False)
class Process:
    """Something that can die as a whole: a worker with all its threads, a tick, a person at a terminal."""

    name: str
    pid: int
    dead: bool = False
    frozen_until: float = 0.0
    at_risk: bool = True
    """Whether faults may strike it."""


@dataclass(eq=False)
class Actor:
    """One thread of a process."""

    name: str
    process: Process
    until: Callable[[], bool] | None = None
    wake_at: float | None = None
    stalled_until: float = 0.0
    what: str = "start"
    ended: bool = False
    unwinding: bool = False
    go: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.go.acquire()


@dataclass(frozen=True, slots=True)
class Moment:
    """One line of the trace."""

    time: float
    who: str
    what: str

    def __str__(self) -> str:
        flat = " ".join(self.what.split())
        return f"{self.time:10.3f}  {self.who:<18} {flat if len(flat) <= LONGEST else flat[: LONGEST - 3] + '...'}"


class Schedule:
    """The baton, the clock and the trace of one run."""

    def __init__(self, dice: random.Random, *, stickiness: float, leaps: float) -> None:
        self.dice = dice
        self.stickiness = stickiness
        self.leaps = leaps
        """How likely it is that time passes though somebody could run: everybody is slow."""
        self.now = 0.0
        self.trace: list[Moment] = []
        self.actors: list[Actor] = []
        self.decisions = 0
        self.failure: BaseException | None = None
        self.blocked: Callable[[], None] | None = None
        """What to do when nobody can run and no time would help: somebody may wait for a real lock."""
        self.processes = 0
        self.director = Actor("director", self.process("director", at_risk=False))
        self.actors.append(self.director)
        self.current = self.director

    def process(self, name: str, *, at_risk: bool = True) -> Process:
        """A new process."""
        self.processes += 1
        return Process(name, self.processes, at_risk=at_risk)

    def note(self, what: str, who: str | None = None) -> None:
        """Write a line into the trace."""
        self.trace.append(Moment(self.now, who or self.current.name, what))

    def spawn(self, name: str, function: Callable[[], object], process: Process | None = None) -> Actor:
        """A new actor, of the process that is running now unless another is named; it does not run yet."""
        actor = Actor(name, process or self.current.process)
        self.actors.append(actor)
        threading.Thread(target=self._live, args=(actor, function), name=name, daemon=True).start()
        return actor

    def _live(self, actor: Actor, function: Callable[[], object]) -> None:
        actor.go.acquire()
        try:
            if not actor.process.dead:
                function()
        except ProcessDied:
            pass
        except BaseException as error:
            self.fail(error)
        actor.ended = True
        self.actors.remove(actor)
        self._pass_on(None)

    def fail(self, error: BaseException) -> None:
        """The run is over: this is why."""
        if self.failure is None:
            self.failure = error
            self.note(f"VIOLATION {type(error).__name__}: {error}")

    def pause(self, what: str, until: Callable[[], bool] | None = None, seconds: float | None = None) -> bool:
        """Let others run: until a condition holds, or time is over, or just now. Returns whether the condition holds."""
        me = self.current
        if me.process.dead:
            raise ProcessDied(me.name)
        me.what, me.until = what, until
        me.wake_at = None if seconds is None else self.now + max(0.0, seconds)
        self._pass_on(me)
        me.until = me.wake_at = None
        if me.process.dead:
            raise ProcessDied(me.name)
        if me is self.director and self.failure is not None:
            raise self.failure
        return until is None or until()

    def sleep(self, seconds: float) -> None:
        """Let so much time pass."""
        self.pause("sleep", seconds=seconds)

    def kill(self, process: Process) -> None:
        """The process dies now; its threads unwind before anything else runs, and can do nothing more."""
        if not process.dead:
            process.dead = True
            self.note(f"*** {process.name} is killed", "-")
            if self.current.process is process:
                raise ProcessDied(self.current.name)
            self.pause("a killed process unwinds")

    def _pass_on(self, me: Actor | None) -> None:
        chosen = self._choose(me)
        if chosen is me:
            return
        self.current = chosen
        chosen.go.release()
        if me is not None:
            me.go.acquire()

    def _choose(self, me: Actor | None) -> Actor:
        self.decisions += 1
        if self.failure is not None:
            return self.director
        if self.decisions > MOST_DECISIONS:
            self.fail(Violation(f"no end after {MOST_DECISIONS} steps: {self.standing()}"))
            return self.director
        for actor in self.actors:
            if actor.process.dead:
                return actor
        if self.leaps and self.dice.random() < self.leaps:
            self.now += self.dice.choice((0.3, 1.0, 5.0, 20.0))
        for _ in range(1_000):
            if ready := self._ready():
                if me in ready and self.dice.random() < self.stickiness:
                    return me
                return self.dice.choice(ready)
            if not self._let_time_pass():
                if self.blocked is None:
                    break
                self.blocked()
        self.fail(Violation(f"nobody can ever run again: {self.standing()}"))
        return self.director

    def _ready(self) -> list[Actor]:
        """Who can run now. Asked before every step, so it calls no more functions than it has to."""
        now, due, ready = self.now, self.now + 1e-9, []
        for actor in self.actors:
            if actor.process.frozen_until > now or actor.stalled_until > now:
                continue
            until, wake_at = actor.until, actor.wake_at
            if (wake_at is not None and wake_at <= due) or (wake_at is None if until is None else until()):
                ready.append(actor)
        return ready

    def _let_time_pass(self) -> bool:
        """On to the next moment at which somebody can run."""
        moments = [
            max(actor.process.frozen_until, actor.stalled_until, actor.wake_at or 0.0)
            for actor in self.actors
            if actor.wake_at is not None or max(actor.process.frozen_until, actor.stalled_until) > self.now
        ]
        later = [moment for moment in moments if moment > self.now]
        if not later:
            return False
        self.now = min(later)
        return True

    def standing(self) -> str:
        """What everybody waits for."""
        return "; ".join(f"{actor.name} at {actor.what}" for actor in self.actors)

    def end(self) -> None:
        """Kill everything but the director and wait until it is gone."""
        self.failure, self.blocked, self.decisions = None, None, 0
        for actor in self.actors:
            if actor is not self.director:
                actor.process.dead = True
        self.director.process.dead = False
        while len(self.actors) > 1:
            self.pause("all unwind")
