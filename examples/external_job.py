"""Has another service do a long job, and waits for it without holding a worker.

python examples/external_job.py
"""

from typing import Any

import fanfold as ff
from fanfold.testing import Engine

film = ff.Pipeline("render-film")


class RenderService:
    """A stand-in for a service that renders films: a job is done at the third poll, and a key never starts a second job."""

    def __init__(self) -> None:
        self.jobs: dict[str, int] = {}

    def start(self, key: str) -> str:
        """Start a job; the same key gives the same job."""
        self.jobs.setdefault(key, 0)
        return key

    def look(self, job: str) -> Any:
        """The film, or when to poll again if it is still being rendered."""
        self.jobs[job] += 1
        return "film.mp4" if self.jobs[job] == 3 else ff.later(120)

    def find(self, key: str) -> str | None:
        """The job started with this key, or None. Called after a crash to find out whether the job was started."""
        return key if key in self.jobs else None


service = RenderService()


@film.step(wait_limit=3_600)
async def render(task: ff.TaskWork) -> Any:
    """One film. The intent is kept before the call, so a crash never starts a second job."""
    return await task.external(start=service.start, look=service.look, find=service.find)


if __name__ == "__main__":
    with Engine() as engine:  # The test clock is advanced, so there is no waiting. In production: ff.run(film)
        engine.before_settle(stage="render").crash()
        task = engine.submit(film)
        engine.run()
        print(f"{engine.result(task)} after {engine.clock.seconds:.0f} s, {len(service.jobs)} job started")
