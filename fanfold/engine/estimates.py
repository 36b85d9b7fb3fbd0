"""The client's way to estimates: what a task will cost, before it is submitted or from a sample of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from fanfold.engine.tasks.submitting.submission import Submission
from fanfold.model.pipelines.pipeline import Target, as_pipeline
from fanfold.model.values.estimates import Estimate, check_sample

if TYPE_CHECKING:
    from fanfold.engine.client import Client


class Estimates:
    """Questions about what tasks will cost."""

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
        """What a task will cost: low, expected and high for each lane, and how that is known.

        Without a sample nothing is submitted or asked. ``sample=3`` submits the task (with ``key``, if given), processes three
        of its items in this process, pauses it and extrapolates; their results are kept, and ``resume`` does the rest.
        """
        from fanfold.engine.estimate_task import estimate_sample, estimate_task

        client, owner = self.client, self.client.owner
        wanted = Submission(
            inputs, items, options or {}, key=key, owner=owner or "", literal=literal, actor=client.actor
        )
        if not check_sample(sample):
            return estimate_task(client, as_pipeline(pipeline), wanted)
        task, _ = client.submit_or_find(pipeline, wanted)
        return estimate_sample(client, as_pipeline(pipeline), task, sample)
