"""completed: lists the finished pictures of a task, and the ones that are missing with their reasons."""

from __future__ import annotations

from typing import Any

import fanfold as ff

KEPT = ("prompt", "seed", "service", "model", "cost", "seconds", "width", "height", "key", "place")


def delivered(task: ff.TaskWork, results: ff.Results[Any, Any]) -> dict[str, Any]:
    """The result of a task: what there is, in the order of the pictures."""
    images = [
        {"file": one.output["images"][0]["file"], "label": one.key}
        | {name: one.output[name] for name in KEPT if one.output.get(name) is not None}
        for one in results
        if one.ok
    ]
    missing = [{"picture": one.key, "code": one.error_code, "reason": one.error_message} for one in results.missing()]
    downloads = task.output("downloading")["downloaded_images"]
    return {"images": images, "before": downloads[0]["file"] if downloads else None, "missing": missing}
