"""Each external job of one attempt has its own name."""

import asyncio
from typing import Any

import pytest

import fanfold as ff
from tests.installation import Installation


class Jobs:
    """A service that notes the key of every start."""

    def __init__(self, installation: Installation, together: bool) -> None:
        self.installation, self.together = installation, together
        self.starts: list[str] = []
        self.names = ["job"] * 3
        pipeline = installation.know(ff.Pipeline("sizes"))
        pipeline.each(name="render", retry=ff.Retry(limit=0))(self.render)
        self.task = installation.client.submit(pipeline, items=[ff.NewItem("a")])

    async def render(self, item: Any) -> list[str]:
        async def one(size: str, name: str) -> str:
            found: str = await item.external(start=lambda key: self.start(key, size), look=lambda job: job, name=name)
            return found

        wanted = list(zip(("small", "medium", "large"), self.names, strict=True))
        if self.together:
            return list(await asyncio.gather(*(one(*job) for job in wanted)))
        return [await one(*job) for job in wanted]

    def start(self, key: str, size: str) -> str:
        self.starts.append(key)
        return f"{size} picture"


@pytest.mark.parametrize("together", [False, True], ids=["in turn", "together"])
def test_a_second_job_of_one_name_is_refused_and_no_job_is_lost_by_it(
    installation: Installation, together: bool
) -> None:
    """It would have got the first job's result, or would have been started with its key."""
    jobs = Jobs(installation, together)
    installation.work()
    [item] = installation.client.items(jobs.task.id)
    assert (item.state, item.error_code) == ("failed", "job_name")
    assert len(jobs.starts) <= 1
    jobs.names = ["job", "medium", "large"]
    installation.client.retry(jobs.task.id)
    installation.work()
    assert installation.client.result(jobs.task.id) == [["small picture", "medium picture", "large picture"]]
    assert len(jobs.starts) == len(set(jobs.starts)) == 3
    assert len(installation.client.external_jobs(jobs.task.id)) == 3
