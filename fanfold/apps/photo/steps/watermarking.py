"""watermarking: draws the visible mark, and writes the labels that say that AI made the picture."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.photo import configuration
from fanfold.apps.photo.inputs.checking import decoded, on_screen
from fanfold.apps.photo.marking.provenance import Label, xmp
from fanfold.apps.photo.marking.signing import signed
from fanfold.apps.photo.marking.watermark import Mark, marked
from fanfold.apps.photo.marking.writing import FORMATS, encoded
from fanfold.apps.photo.options import IMAGE_MARK, Wishes
from fanfold.apps.photo.sentences import say_of_photo


def watermarked(item: ff.ItemWork[Any, Any]) -> dict[str, Any]:
    """The state data of the picture, with the marked picture before the unmarked one."""
    settings, wishes, given = configuration.load(), Wishes.read(item.options), item.input
    first, *others = given["images"]
    picture, profile = on_screen(decoded(first["file"].name, first["file"].read_bytes(), settings.pixels))
    final = marked(picture, _mark(wishes.mark, settings))
    label = Label(f"{item.task_id}-{item.key}", settings.producer, from_picture=given["before"] is not None)
    content = signed(encoded(final, wishes.format, xmp(label), profile), wishes.format, label, settings)
    file = item.write(f"{item.key}{FORMATS[wishes.format][1]}", content)
    images = [
        {"file": file, "label": "watermarked", "kind": "result"},
        {**first, "label": "without watermark", "kind": "unmarked"},
        *others,
    ]
    return {**given, "images": images, "width": final.width, "height": final.height}


def _mark(mark: Mark, settings: configuration.PhotoSettings) -> Mark:
    """The mark, with the picture of the installation if that is wanted."""
    if mark.text != IMAGE_MARK:
        return mark
    if not settings.watermark_image:
        raise ff.Permanent(say_of_photo("no_mark_image"), code="bad_mark")
    return replace(mark, text="", image=Path(settings.watermark_image))
