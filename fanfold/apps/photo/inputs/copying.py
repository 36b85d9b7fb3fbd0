"""Copies the pictures of a job into the files of a task, each decoded to verify it."""

from __future__ import annotations

from collections.abc import Callable

import fanfold as ff
from fanfold.apps.photo.inputs.checking import FORMATS, decoded
from fanfold.apps.photo.services.service import Pictures, Service

ENDINGS = {**FORMATS, "AVIF": ".avif", "GIF": ".gif"}
MOST_PICTURES = 20


def copied(
    service: Service, pictures: Pictures, name: str, pixels: int, write: Callable[[str, bytes], ff.File]
) -> list[ff.File]:
    """The files, called after ``name``. The links of a service expire, so this happens at once."""
    contents = [file.read_bytes() for file in pictures.files] or [service.fetch(link) for link in pictures.links]
    kept = []
    for number, content in enumerate(contents[:MOST_PICTURES], 1):
        picture = decoded(f"picture {number}", content, pixels)
        kept.append(write(f"{name}{'' if number == 1 else f'-{number}'}{ENDINGS[picture.format]}", content))
    return kept
