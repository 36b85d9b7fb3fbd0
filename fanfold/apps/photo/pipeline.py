"""The pipeline of pictures: download the inputs, build the prompt, generate, watermark and upload each picture, deliver.

fanfold photo "a red dress" --image model.jpg --count 4
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import fanfold as ff
from fanfold.apps.photo import actions, chinese, configuration
from fanfold.apps.photo.configuration import ServiceSettings
from fanfold.apps.photo.late import late
from fanfold.apps.photo.options import OPTIONS, Wishes, check
from fanfold.apps.photo.output import forms
from fanfold.apps.photo.prompting.scenes import EXAMPLE, mistakes
from fanfold.apps.photo.sentences import say_of_photo

SETTINGS = configuration.load()
"""Time limits and retries belong to the stages, so they are read once, when the pipeline is loaded."""
RETRY = ff.Retry(limit=SETTINGS.retries, first=2, cap=60)
ALL_BUT_ONE = 0.99
"""Partial success delivers what there is: a task fails only if no picture is left."""
RULES: dict[str, Any] = {"timeout": SETTINGS.state_seconds, "retry": RETRY, "spends": False}
"""Only the service is paid: a picture that has used up the budget is still watermarked, uploaded and delivered."""
OF_PICTURES: dict[str, Any] = {**RULES, "tolerate": ALL_BUT_ONE, "concurrency": SETTINGS.concurrency}
WORDS = ff.Vocabulary(
    task={"compensating": "cancelled"},
    item={
        "ai_processing.pending": "ai_calling",
        "ai_processing.running": "ai_processing",
        "ai_processing.waiting": "ai_processing",
        "ai_processing.done": "ai_completed",
        "watermarking.pending": "ai_completed",
        "watermarking.running": "watermarking",
        "uploading.pending": "watermarking",
        "uploading.running": "uploading",
        "uploading.done": "completed",
    },
    done_phase="completed",
    languages={"zh": chinese.WORDS},
    sentences=say_of_photo,
)
"""The words of the design are those of the stages: pending, downloading, downloaded, ai_calling, ai_processing, ai_completed,
watermarking, uploading, completed, failed."""

photo = ff.Pipeline(
    "photo",
    title="Make pictures",
    check_options=check,
    options=OPTIONS,
    unit=("picture", "pictures"),
    view="images",
    words=WORDS,
    subtasks=[late],
    templates=[
        ff.TemplateKind(
            "scene", "Scenes", "Named templates of prompts.", check=mistakes, option="scene", example=EXAMPLE
        )
    ],
)
actions.declare(photo)
forms.declare(photo)


@photo.price
def price(work: ff.PriceWork) -> dict[str, int]:
    """What each picture costs its owner. The engine charges at submit, and refunds pictures that are not delivered."""
    wishes, settings = Wishes.read(work.options), configuration.load()
    each = settings.chosen(wishes.service).credits if settings.services else ServiceSettings("default").credits
    return dict.fromkeys(wishes.keys, each)


@photo.step(
    name="downloading", ready="pending", doing="downloading", retrying="downloading", phase="downloading", **RULES
)
def download(task: ff.TaskWork) -> dict[str, Any]:
    """Read the input pictures and store them without their metadata."""
    from fanfold.apps.photo.steps.downloading import downloaded

    return downloaded(task)


@photo.split(
    name="downloaded", ready="downloaded", doing="downloaded", retrying="downloaded", phase="downloaded", **RULES
)
def prompt(task: ff.TaskWork) -> Iterator[ff.NewItem[Any]]:
    """Build the prompt; one item for each picture."""
    wishes = Wishes.read(task.options)
    found = wishes.built(configuration.load().template)
    downloads = task.previous["downloaded_images"]
    given = {
        "prompt": asdict(found),
        "words": wishes.prompt,
        "before": downloads[0]["file"] if downloads else None,
    }
    for key in wishes.keys:
        yield ff.NewItem(key=key, input=given)


@photo.each(
    name="ai_processing",
    ready="ai_calling",
    doing="ai_processing",
    phase="ai_processing",
    wait_limit=SETTINGS.external_seconds,
    **{**OF_PICTURES, "spends": True},
)
async def generate(item: ff.ItemWork[Any, Any]) -> dict[str, Any]:
    """Have the service make one picture, and copy it."""
    from fanfold.apps.photo.steps.generating import generated

    return await generated(item)


@photo.each(name="watermarking", ready="ai_completed", doing="watermarking", phase="watermarking", **OF_PICTURES)
def watermark(item: ff.ItemWork[Any, Any]) -> dict[str, Any]:
    """Mark the picture as made by AI."""
    from fanfold.apps.photo.steps.watermarking import watermarked

    return watermarked(item)


@photo.each(name="uploading", ready="uploading", doing="uploading", phase="uploading", **OF_PICTURES)
def upload(item: ff.ItemWork[Any, Any]) -> dict[str, Any]:
    """Publish the picture."""
    from fanfold.apps.photo.steps.uploading import uploaded

    return uploaded(item)


@photo.on_cancelled
def stop(task: ff.TaskWork) -> None:
    """Cancel the jobs under way at their services."""
    from fanfold.apps.photo.steps.stopping import stopped

    stopped(task)


@photo.merge(name="delivering", ready="uploading", doing="uploading", retrying="uploading", phase="uploading", **RULES)
def deliver(task: ff.TaskWork, results: ff.Results[Any, Any]) -> dict[str, Any]:
    """List the pictures that there are."""
    from fanfold.apps.photo.steps.delivering import delivered

    return delivered(task, results)
