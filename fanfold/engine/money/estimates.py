"""The client's methods for estimates: the cost of a task before it is submitted, or from a sample of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fanfold.engine.tasks.submitting.submission import Submission
from fanfold.model.money.estimates import Estimate, check_sample
from fanfold.model.pipelines.pipeline import Target, as_pipeline

if TYPE_CHECKING:
    from fanfold.engine.client import Client


class Estimates:
    """Queries about the expected cost of tasks."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def estimate(
        self,
        pipeline: Target,
        *inputs: Any,
        items: Iterable[Any] | None = None,
        options: dict[str, Any] | None = None,
        sample: int = 0,
        key: str | None = None,
        literal: bool = False,
    ) -> Estimate:
        """The expected cost of a task: low, expected and high for each lane, and what that is based on.

        Without a sample, nothing is submitted and no model is asked. ``sample=3`` submits the task (with ``key``, if given),
        processes three of its items in this process, pauses it and extrapolates; their results are kept, and ``resume``
        continues with the rest. To leave the sample to the workers: ``submit(…, sample=3)``, then ``extrapolate``.
        """
        from fanfold.engine.money.estimate_task import estimate_sample, estimate_task

        client, owner = self.client, self.client.owner
        wanted = Submission(
            inputs, items, options or {}, key=key, owner=owner or "", literal=literal, actor=client.actor, sample=sample
        )
        if not check_sample(sample):
            return estimate_task(client, as_pipeline(pipeline), wanted)
        task, _ = client.submit_or_find(pipeline, wanted)
        return estimate_sample(client, as_pipeline(pipeline), task, sample)

    def extrapolate(self, task_id: str) -> Estimate:
        """The expected cost of a task that was submitted with a sample, from what its items have cost so far."""
        from fanfold.engine.money.estimate_task import extrapolate

        return extrapolate(self.client, task_id)
