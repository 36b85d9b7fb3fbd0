"""The options of a task, declared once, and what they mean together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import fanfold as ff
from fanfold.apps.photo import configuration
from fanfold.apps.photo.marking.watermark import LEAST_PERCENT, POSITIONS, Mark
from fanfold.apps.photo.marking.writing import FORMATS
from fanfold.apps.photo.prompting.prompt import Prompt, built, read_parameters
from fanfold.apps.photo.prompting.scenes import read_scene
from fanfold.apps.photo.sentences import say_of_photo

MOST_PICTURES = 50
NO_MARK = "none"
IMAGE_MARK = "image"
"""The watermark that means: the picture of the installation."""
MARKING = "Watermark"
LONGEST_IMAGE = 2_000
"""Longest text of an input picture among the options; a longer data URI belongs among the inputs."""
OPTIONS = (
    ff.Option("prompt", "text", "What the pictures show.", ""),
    ff.Option("count", "number", "How many pictures to make.", 1, at_least=1, at_most=MOST_PICTURES, unit="pictures"),
    ff.Option("scene", "file", "A scene: a template of a prompt, or the name of a kept one.", ""),
    ff.Option("service", "text", "The image service of `fanfold.toml`; empty for the default.", "", helps=("no_service",)),
    ff.Option("parameters", "text", "Values for placeholders of the scene, such as `mood=calm`.", (), many=True),
    ff.Option("image", "text", "Input pictures: URLs, or keys in the object storage.", (), many=True, label="Images"),
    ff.Option("seed", "number", "The seed of the first picture; the next ones count up.", at_least=0, at_most=2**31 - 1),
    ff.Option("format", "choice", "The format of the finished pictures.", "jpeg", choices=tuple(FORMATS)),
    ff.Option(
        "watermark", "text", f"The visible watermark; `{IMAGE_MARK}` for the configured picture, `{NO_MARK}` for none.", "AI",
        group=MARKING, helps=("no_font",),
    ),
    ff.Option(
        "watermark_percent", "number", "Its height, in percent of the short side.", LEAST_PERCENT,
        at_least=1, at_most=50, unit="%", group=MARKING,
    ),
    ff.Option(
        "watermark_position", "choice", "Where it is.", "bottom-right", choices=POSITIONS, group=MARKING,
        label="Watermark position",
    ),
    ff.Option("watermark_opacity", "number", "How opaque it is.", 80, at_least=5, at_most=100, unit="%", group=MARKING),
    ff.Option("late", "flag", "Only take a picture that came late; order none.", False, hidden=True),
)  # fmt: skip


@dataclass(frozen=True)
class Wishes:
    """The options of a task, checked."""

    prompt: str
    scene: str
    parameters: tuple[str, ...]
    count: int
    service: str
    images: tuple[str, ...]
    seed: int | None
    format: str
    mark: Mark
    late: bool
    """Only a picture that came late is wanted: nothing is ordered."""

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Wishes:
        """From the options of a task or an item."""
        found = ff.read_options(OPTIONS, dict(given))
        text = found["watermark"].strip()
        mark = Mark(
            "" if text.lower() == NO_MARK else text,
            percent=found["watermark_percent"],
            position=found["watermark_position"],
            opacity=found["watermark_opacity"],
        )
        return cls(
            prompt=found["prompt"],
            scene=found["scene"] or "",
            parameters=tuple(found["parameters"]),
            count=found["count"],
            service=found["service"],
            images=tuple(found["image"]),
            seed=found["seed"],
            format=found["format"],
            mark=mark,
            late=found["late"],
        )

    @property
    def keys(self) -> list[str]:
        """The keys of its pictures."""
        return [f"{number:02}" for number in range(1, self.count + 1)]

    def built(self, template: str) -> Prompt:
        """The prompt that they ask for."""
        return built(self.prompt, read_scene(self.scene), read_parameters(self.parameters), template)


def check(given: dict[str, Any]) -> None:
    """Check the options together, before anything is begun; ff.Permanent says what is wrong.

    The service is checked only where services are configured: the process that submits need not be the one that works.
    """
    wishes = Wishes.read(given)
    settings = configuration.load()
    wishes.built(settings.template)
    if settings.services:
        settings.chosen(wishes.service)
    for one in wishes.images:
        if len(one) > LONGEST_IMAGE:
            raise ff.Permanent(say_of_photo("image_as_input"), code="bad_input")
