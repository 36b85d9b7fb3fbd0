"""A service that does external jobs for money: it counts what is started under each key, and never forgets."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from fanfold.engine.handlers.work import Work
from fanfold.errors import JobFailed
from fanfold.model.item import later
from tests.simulation.faults import HANDLER, Faults
from tests.simulation.parts import STAGE
from tests.simulation.schedule import Violation

CALLS = (*["answered"] * 5, "refused", "lost before", "lost after")
"""How a call that starts a job ends, while there is trouble: the last two leave open whether the job was started."""
SECONDS = (0.0, 0.0, 0.5, 3.0, 7.0)
"""How long it takes: others may pause, cancel, kill or stop meanwhile."""


@dataclass
class Service:
    """Knows every job that was started, and why more than one may have been."""

    faults: Faults
    started: dict[str, list[str]] = field(default_factory=dict)
    """The jobs of each key."""
    of_item: dict[int, dict[str, str]] = field(default_factory=dict)
    """For each item, the keys that were started for it, in order, with the last job of each."""
    resent: Counter[str] = field(default_factory=Counter)
    """How often a person wanted a job to be started again, by the task's id."""
    lost: Counter[str] = field(default_factory=Counter)
    """How often a person said that jobs were lost, by the task's id."""
    errors: Counter[int] = field(default_factory=Counter)
    """Calls for an item that ended with an error."""
    looked: Counter[str] = field(default_factory=Counter)
    redone: Callable[[int], int] = lambda task: 0
    """How often people have had a task, or items of it, done again."""
    used: dict[tuple[int, int], str] = field(default_factory=dict)
    """Which job the result of an attempt comes from."""
    ended_badly: set[str] = field(default_factory=set)
    """Keys whose job came to a bad end, or was cancelled: the next one needs another key."""
    cancelled: set[str] = field(default_factory=set)
    """Jobs that were cancelled at the service."""
    was_cancelled: Callable[[int], bool] = lambda task: True
    """Whether people have cancelled a task."""
    spent: set[str] = field(default_factory=set)
    """Jobs whose results people did not want any more."""
    tokens: list[str] = field(default_factory=list)
    """With which the service may wake items."""

    async def do(self, work: Work, wanted: dict[str, Any]) -> None:
        """One job for one item, as a handler has it done."""
        start: Callable[[str, str | None], Any] = (
            self._starting(work) if wanted["waits"] else self._starting_in_thread(work)
        )
        find = self._find if wanted["finds"] else None
        job = await work.external(
            start=start,
            look=lambda job: self._look(work, job, wanted),
            find=find,
            cancel=lambda job: self._cancel(work, job),
            wake=True,
        )
        claimed = work._claimed
        self.used[claimed.id, claimed.lease] = job
        if job in self.spent:
            self._fail(f"{claimed.key} was redone on purpose, and got the result of job {job} again")

    def _starting(self, work: Work) -> Callable[[str, str | None], Awaitable[str]]:
        async def start(key: str, url: str | None) -> str:
            ending, seconds = self._begins(work, key, url)
            await asyncio.sleep(seconds)
            return self._ends(work, key, ending)

        return start

    def _starting_in_thread(self, work: Work) -> Callable[[str, str | None], str]:
        def start(key: str, url: str | None) -> str:
            ending, seconds = self._begins(work, key, url)
            STAGE.schedule.sleep(seconds)
            return self._ends(work, key, ending)

        return start

    def _begins(self, work: Work, key: str, url: str | None) -> tuple[str, float]:
        """The request arrives: how the call will end, and when."""
        self.tokens.append(str(url).rpartition("/")[2])
        dice, claimed = STAGE.schedule.dice, work._claimed
        troubled = self.faults.on and not self.errors[claimed.id]
        ending = dice.choice(CALLS) if troubled else "answered"
        STAGE.schedule.note(f"asks for the job {key}: {ending}")
        if not key.startswith(f"{work.task_id}/{claimed.stage}/{claimed.key}"):
            self._fail(f"the job of {claimed.stage} {claimed.key} has the key {key}")
        if ending != "answered":
            self.errors[claimed.id] += 1
        if ending in ("answered", "lost after"):
            self._start(work, key)
        return ending, dice.choice(SECONDS) if self.faults.on else 0.0

    def _start(self, work: Work, key: str) -> None:
        if key in self.ended_badly:
            self._fail(f"started again under a key whose job came to a bad end: {key}")
        jobs = self.started.setdefault(key, [])
        jobs.append(f"job-{len(jobs) + 1} of {key}")
        # A process that was frozen between its intent and its call may have been given up; nobody can call it back.
        thawed = 0.0 <= STAGE.schedule.now - STAGE.schedule.current.process.frozen_until < 1.0
        if len(jobs) > 1 + self.resent[work.task_id] and not thawed:
            self._fail(f"started {len(jobs)} times: {key}")
        mine = self.of_item.setdefault(work._claimed.id, {})
        mine.pop(key, None)
        mine[key] = jobs[-1]
        bad = sum(one in self.ended_badly for one in mine)
        reasons = self.redone(work._row.number) + self.lost[work.task_id] + bad
        if len(mine) > 1 + reasons:
            self._fail(f"another key without a reason: {list(mine)}")

    def _ends(self, work: Work, key: str, ending: str) -> str:
        self.faults.at(HANDLER)
        if ending == "refused":
            raise ConnectionRefusedError("simulated: the service is not there")
        if ending != "answered":
            raise TimeoutError("simulated: no answer")
        return self.started[key][-1]

    def _look(self, work: Work, job: str, wanted: dict[str, Any]) -> Any:
        self.faults.at(HANDLER)
        self.looked[job] += 1
        item = work._claimed.id
        if job in self.cancelled or (wanted["fails"] and not self.errors[item]):
            self.errors[item] += 1
            self.ended_badly.add(job.partition(" of ")[2])
            raise JobFailed("simulated: the job came to a bad end", after=2)
        return job if self.looked[job] > wanted["looks"] else later(2)

    def _cancel(self, work: Work, job: str) -> None:
        self.faults.at(HANDLER)
        if not self.was_cancelled(work._row.number):
            self._fail(f"{job} was cancelled at the service, and nobody has cancelled the task")
        self.cancelled.add(job)

    def _find(self, key: str) -> str | None:
        self.faults.at(HANDLER)
        jobs = self.started.get(key)
        return jobs[-1] if jobs else None

    def _fail(self, what: str) -> None:
        STAGE.schedule.fail(Violation(what))
