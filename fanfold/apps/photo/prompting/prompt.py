"""Builds the prompt of a picture from the template of the installation, a scene, parameters and a person's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import fanfold as ff
from fanfold.apps.photo.prompting.scenes import PLACE, PROMPT, Scene
from fanfold.apps.photo.sentences import say_of_photo

LONGEST = 30_000


@dataclass(frozen=True)
class Prompt:
    """What a service is told."""

    text: str
    negative: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)


def built(words: str, scene: Scene, parameters: Mapping[str, str], template: str = "{prompt}") -> Prompt:
    """The prompt; ff.Permanent names a parameter that is missing or that nothing uses."""
    values = {**scene.parameters, **parameters}
    if unknown := sorted(set(parameters) - scene.places):
        raise ff.Permanent(
            say_of_photo("unused_parameter", name=unknown[0], known=sorted(scene.places - {PROMPT})), code="parameters"
        )
    if missing := sorted(scene.places - {PROMPT} - set(values)):
        raise ff.Permanent(say_of_photo("missing_parameter", name=missing[0]), code="parameters")
    inner = _filled(scene.prompt, {**values, PROMPT: words.strip()})
    if PROMPT not in PLACE.findall(scene.prompt) and words.strip():
        inner = f"{inner.rstrip(' ,.')}, {words.strip()}"
    text = " ".join(_filled(template, {PROMPT: inner}).split(" ")).strip(" ,")
    if not text:
        raise ff.Permanent(say_of_photo("no_prompt"), code="no_prompt")
    if len(text) > LONGEST:
        raise ff.Permanent(say_of_photo("prompt_long", most=LONGEST), code="prompt_long")
    return Prompt(text, _filled(scene.negative, {**values, PROMPT: words.strip()}), scene.request)


def read_parameters(given: Sequence[str]) -> dict[str, str]:
    """Parameters from a list such as `mood=calm`; ff.Permanent for one without a name."""
    found: dict[str, str] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name.strip():
            raise ff.Permanent(say_of_photo("bad_parameter", value=one[:80]), code="parameters")
        found[name.strip()] = value.strip()
    return found


def _filled(text: str, values: Mapping[str, str]) -> str:
    return PLACE.sub(lambda found: values.get(found.group(1), ""), text)
