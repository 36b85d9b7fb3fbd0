"""downloading: reads the input pictures, checks them by decoding, and stores them without metadata."""

from __future__ import annotations

from typing import Any

import fanfold as ff
from fanfold.apps.photo import configuration
from fanfold.apps.photo.inputs.checking import checked
from fanfold.apps.photo.inputs.sources import read
from fanfold.apps.photo.options import Wishes
from fanfold.apps.photo.sentences import say_of_photo

MOST_IMAGES = 16


def downloaded(task: ff.TaskWork) -> dict[str, Any]:
    """The state data: each input picture with its size. One that cannot be used fails the step with the reason."""
    settings = configuration.load()
    values = [*task.inputs, *Wishes.read(task.options).images]
    if len(values) > MOST_IMAGES:
        raise ff.Permanent(say_of_photo("too_many_images", count=len(values), most=MOST_IMAGES), code="bad_input")
    found = []
    for number, value in enumerate(values, 1):
        task.check()
        name, content = read(value, task.scratch, settings)
        picture = checked(name, content, task.scratch / f"input-{number}", settings.pixels)
        file = task.write(picture.path.name, picture.path)
        found.append({"file": file, "name": name[:200], "width": picture.width, "height": picture.height})
    return {"downloaded_images": found}
