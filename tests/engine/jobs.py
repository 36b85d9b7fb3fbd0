"""A service that does external jobs and counts how often each key was started; it can fail in every way that hurts."""

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import fanfold as ff


class JobService:
    """Starts a new job with every call, whatever the key: it does not de-duplicate, so that a second start is seen."""

    def __init__(self, looks: int = 0) -> None:
        self.looks = looks
        """How often a job is looked at before it is done."""
        self.pause = 5.0
        self.starts: Counter[str] = Counter()
        self.jobs: dict[str, str] = {}
        self.cancelled: list[str] = []
        self.seen: Counter[str] = Counter()
        self.trouble: list[Callable[[], Any]] = []
        """What happens at the end of the next calls that start a job, when the service has done its part."""
        self.refusals: list[BaseException] = []
        """What the next calls that start a job are answered with, without starting anything."""
        self.ends: list[BaseException] = []
        """What the next looks raise."""
        self._lock = threading.Lock()

    @property
    def doubles(self) -> dict[str, int]:
        """Keys that were started more than once."""
        return {key: count for key, count in self.starts.items() if count > 1}

    def start(self, key: str) -> str:
        """Start a job."""
        if self.refusals:
            raise self.refusals.pop(0)
        with self._lock:
            self.starts[key] += 1
            job = f"job-{sum(self.starts.values())}"
            self.jobs[key] = job
        if self.trouble:
            self.trouble.pop(0)()
        return job

    def look(self, job: str) -> Any:
        """Whether it is done."""
        if self.ends:
            raise self.ends.pop(0)
        self.seen[job] += 1
        return ff.later(self.pause) if self.seen[job] <= self.looks else f"made by {job}"

    def find(self, key: str) -> str | None:
        """The job of a key."""
        return self.jobs.get(key)

    def cancel(self, job: str) -> None:
        """Stop it."""
        self.cancelled.append(job)

    def pipeline(self, *, find: bool = True, name: str = "photo", **rules: Any) -> ff.Pipeline:
        """One external job for each item."""
        made = ff.Pipeline(name)

        @made.each(**{"retry": ff.Retry(limit=3, first=1.0), "timeout": 60, **rules})
        async def render(item: ff.ItemWork) -> Any:
            return await item.external(
                start=self.start, look=self.look, find=self.find if find else None, cancel=self.cancel
            )

        return made


def raising(error: BaseException) -> Callable[[], None]:
    """Something that raises the error when it is called."""

    def trouble() -> None:
        raise error

    return trouble


def in_loop(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function as a coroutine function."""

    async def call(*arguments: Any) -> Any:
        await asyncio.sleep(0)
        return function(*arguments)

    return call
