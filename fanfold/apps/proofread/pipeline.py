"""The pipeline of proofreading: validate the book, process its chunks, merge them.

fanfold proofread novel.txt
"""

from __future__ import annotations

import asyncio
from typing import Any

import fanfold as ff
from fanfold.apps.proofread import chinese
from fanfold.apps.proofread.estimating import expected_calls
from fanfold.apps.proofread.options import PROOFREAD_OPTIONS, Options
from fanfold.apps.proofread.output import forms
from fanfold.apps.proofread.review import actions
from fanfold.apps.proofread.sentences import say_of_proofread

ACCEPTS = (".txt", ".text", ".md", ".markdown", ".epub", ".docx")
QUIET_SECONDS = 0.2
"""Time without a decision before the book is merged again. Short, because such a merge reads only the changed chunks."""
WORDS = ff.Vocabulary(
    task={
        "pending": "queued",
        "waiting": "paused",
        "partial": "error",
        "failed": "error",
        "completed": "done",
    },
    item={"running": "processing", "failed": "error", "waiting": "pending"},
    languages={"zh": chinese.WORDS},
    sentences=say_of_proofread,
)
"""The words of the design: a job is queued, running, paused, done, error or cancelled; a chunk pending, processing, retrying,
done or error."""

proofread = ff.Pipeline(
    "proofread",
    title="Proofread a book",
    check_options=Options.of_proofread,
    options=PROOFREAD_OPTIONS,
    accepts=ACCEPTS,
    unit=("chunk", "chunks"),
    view="changes",
    words=WORDS,
)
forms.declare(proofread, forms.SHARED)
actions.declare(proofread)
proofread.estimate(expected_calls)


@proofread.split(name="validate", doing="running", retrying="running", timeout=900)
async def validate(task: ff.TaskWork) -> list[ff.NewItem]:
    """Read the book, divide it into chunks, and apply the rules."""
    from fanfold.apps.proofread.stages.validating import items, named_file, validated

    path = await asyncio.to_thread(named_file, task)
    return list(items(await task.in_child(validated, path, Options.of_proofread(task.options))))


@proofread.each(name="process", gate=True, ready="queued", doing="running", timeout=3_600, retry=ff.Retry(limit=3))
async def process(item: ff.ItemWork) -> dict[str, Any]:
    """Have a model correct one chunk, and check every paragraph of its answer."""
    from fanfold.apps.proofread.stages.processing import processed

    return await processed(item, Options.of_proofread(item.options))


@proofread.merge(
    name="merge", gate=True, ready="queued", doing="running", retrying="running", timeout=900, quiet_seconds=QUIET_SECONDS
)  # fmt: skip
def merge(task: ff.TaskWork, results: ff.Results) -> dict[str, Any]:
    """Write the book from its chunks and the decisions about their changes."""
    from fanfold.apps.proofread.stages.merging import merged

    return merged(task, results, Options.of_proofread(task.options))
