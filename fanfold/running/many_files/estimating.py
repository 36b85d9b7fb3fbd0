"""Estimates the cost of a command on files, file by file. With a sample, its tasks are started, and continue later."""

from __future__ import annotations

from collections.abc import Sequence

from fanfold.engine.money.estimate_task import estimate_sample
from fanfold.model.money.estimates import Estimate
from fanfold.running.many_files.beginning import begin
from fanfold.running.many_files.many import Document, Run


def estimates(run: Run, documents: Sequence[Document], sample: int) -> list[tuple[str, Estimate]]:
    """An estimate for each source."""
    pipeline = run.command.pipeline
    found: list[tuple[str, Estimate]] = []
    for document in documents:
        if sample:
            made = estimate_sample(run.client, pipeline, begin(run, document, sample), sample)
        else:
            made = run.client.estimate(pipeline, document.path, options=document.options)
        found.append((document.name, made))
    return found
