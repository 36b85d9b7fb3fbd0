"""Copies the pictures of a job into the files of a task, each decoded to verify it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import fanfold as ff
from fanfold.apps.photo.inputs.checking import FORMATS, decoded
from fanfold.apps.photo.sentences import say_of_photo
from fanfold.apps.photo.services.service import Pictures, Service

ENDINGS = {**FORMATS, "AVIF": ".avif", "GIF": ".gif"}
MOST_PICTURES = 20


def copied(
    service: Service, pictures: Pictures, name: str, pixels: int, write: Callable[[str, bytes], ff.File]
) -> list[ff.File]:
    """The files, called after ``name``. The links of a service expire, so this happens at once.

    A link that leads to no picture now may lead to one later: half a file, or a page that says "one moment".
    """
    found: Iterator[bytes] = (service.fetch(link) for link in pictures.links[:MOST_PICTURES])
    if pictures.files:
        found = (file.read_bytes() for file in pictures.files[:MOST_PICTURES])
    kept = []
    for number, content in enumerate(found, 1):
        try:
            picture = decoded(f"picture {number}", content, pixels)
        except ff.Permanent as problem:
            if pictures.files or problem.code != "bad_picture":
                raise
            said = say_of_photo("not_copied", service=service.settings.name, why=problem.message)
            raise ff.Temporary(said, code="not_copied") from problem
        kept.append(write(f"{name}{'' if number == 1 else f'-{number}'}{ENDINGS[picture.format]}", content))
    return kept
