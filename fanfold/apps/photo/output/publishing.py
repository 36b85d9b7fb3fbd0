"""Publishes one picture: private first, then the checks, then public.

The name is made of the task, the picture and the content, so that a step that is repeated after a crash writes the same again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import fanfold as ff
from fanfold.apps.photo.inputs.checking import decoded
from fanfold.apps.photo.marking.writing import label_of
from fanfold.apps.photo.output.places import PRIVATE, PUBLIC, Place
from fanfold.apps.photo.sentences import say_of_photo


@dataclass(frozen=True)
class Published:
    """Where a picture is."""

    key: str
    place: str


def published(place: Place, task_id: str, item: str, ending: str, content: bytes, pixels: int) -> Published:
    """Write it to the private part, read it back, check it, and write it to the public part."""
    digest = hashlib.sha256(content).hexdigest()
    name = f"{task_id}/{item}-{digest[:12]}{ending}"
    place.put(f"{PRIVATE}/{name}", content)
    check(place.get(f"{PRIVATE}/{name}"), digest, name, pixels)
    place.put(f"{PUBLIC}/{name}", content)
    place.delete(f"{PRIVATE}/{name}")
    return Published(f"{PUBLIC}/{name}", place.where(f"{PUBLIC}/{name}"))


def check(content: bytes | None, digest: str, name: str, pixels: int) -> None:
    """What must be true of a picture before anybody sees it: it is whole, it is a picture, and it says that AI made it."""
    if content is None or hashlib.sha256(content).hexdigest() != digest:
        raise ff.Temporary(say_of_photo("not_whole", name=name), code="not_whole")
    decoded(name, content, pixels)
    kind, fields = label_of(content)
    if not kind or fields.get("Label") != "1":
        raise ff.Permanent(say_of_photo("no_label", name=name), code="no_label")
