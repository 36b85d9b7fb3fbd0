"""Scenes: named templates of prompts, kept in the database by name and version.

A scene is text, or an object with `prompt` and, if wanted, `negative`, `parameters` (defaults for its placeholders) and
`request` (parameters for the service).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import fanfold as ff
from fanfold.apps.photo.sentences import say_of_photo

PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
BRACES = re.compile(r"[{}]")
KNOWN = ("prompt", "negative", "parameters", "request", "title")
PROMPT = "prompt"
"""The placeholder of a person's own words."""
PAID = ("model", "version", "n", "num_images", "num_outputs", "batch_size", "webhook", "webhook_url", "fal_webhook")
"""Parameters that decide what is paid for, or who is told: only the operator sets them, with the service."""
LONGEST = 20_000
EXAMPLE = '{\n  "prompt": "{prompt}, in a bright studio, {mood} mood",\n  "parameters": {"mood": "calm"}\n}'


@dataclass(frozen=True)
class Scene:
    """A template of a prompt, with defaults for its placeholders."""

    prompt: str = "{prompt}"
    negative: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    request: Mapping[str, Any] = field(default_factory=dict)

    @property
    def places(self) -> set[str]:
        """The names of its placeholders."""
        return set(PLACE.findall(self.prompt)) | set(PLACE.findall(self.negative))


def mistakes(body: Any) -> Iterator[str]:
    """A sentence for each mistake of a scene; used before one is saved."""
    if isinstance(body, str):
        body = {"prompt": body}
    if not isinstance(body, dict):
        yield say_of_photo("scene_shape")
        return
    for name in sorted(set(body) - set(KNOWN)):
        yield say_of_photo("scene_unknown", name=str(name), known=list(KNOWN))
    prompt = body.get("prompt")
    if not isinstance(prompt, str) or not prompt.strip():
        yield say_of_photo("scene_no_prompt")
        return
    if len(prompt) > LONGEST:
        yield say_of_photo("scene_long", most=LONGEST)
    for name in ("prompt", "negative"):
        text = body.get(name, "")
        if not isinstance(text, str) or BRACES.search(PLACE.sub("", text)):
            yield say_of_photo("scene_braces", name=name)
    yield from _bad_tables(body)


def _bad_tables(body: dict[str, Any]) -> Iterator[str]:
    for name in ("parameters", "request"):
        if not isinstance(body.get(name, {}), dict):
            yield say_of_photo("scene_table", name=name)
            return
    for name in sorted(set(body.get("request", {})) & set(PAID)):
        yield say_of_photo("scene_paid", name=name)
    used = set(PLACE.findall(body["prompt"])) | set(PLACE.findall(str(body.get("negative", ""))))
    for name in sorted(set(body.get("parameters", {})) - used):
        yield say_of_photo("scene_unused", name=str(name))


def read_scene(text: str) -> Scene:
    """A scene from its text, as the option has it; ff.Permanent lists its mistakes."""
    if not text.strip():
        return Scene()
    try:
        body = json.loads(text)
    except ValueError:
        body = text
    if not isinstance(body, dict):
        body = {"prompt": text if not isinstance(body, str) else body}
    if found := list(mistakes(body)):
        raise ff.Permanent(say_of_photo("bad_scene", mistakes=found), code="bad_scene")
    parameters = {name: str(value) for name, value in body.get("parameters", {}).items()}
    return Scene(body["prompt"], body.get("negative", ""), parameters, dict(body.get("request", {})))
