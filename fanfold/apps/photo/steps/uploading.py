"""uploading: publishes the picture where the installation says, private first, public after the checks."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.photo import configuration
from fanfold.apps.photo.output.places import opened
from fanfold.apps.photo.output.publishing import check, published


def uploaded(item: ff.ItemWork[Any, Any]) -> dict[str, Any]:
    """The state data of the picture, with the place where it is. Without a place, the task's own files are the result."""
    settings, given = configuration.load(), item.input
    file = given["images"][0]["file"]
    content = file.read_bytes()
    if not settings.output:
        check(content, hashlib.sha256(content).hexdigest(), file.name, settings.pixels)
        return dict(given)
    place = opened(settings.output)
    found = published(place, item.task_id, item.key, Path(file.name).suffix, content, settings.pixels)
    return {**given, "key": found.key, "place": found.place}
