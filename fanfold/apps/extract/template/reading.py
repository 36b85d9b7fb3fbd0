"""Reads a template from text or a Pydantic model, and rejects one with mistakes before anything is paid for."""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from functools import lru_cache
from typing import Any

import fanfold as ff
from fanfold.apps.extract.template.fields import Template
from fanfold.apps.extract.template.notations import read

MODEL = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
MOST_SHOWN = 20


class BadTemplate(ff.Permanent):
    """A template with mistakes: ``mistakes`` has a sentence for each."""

    def __init__(self, mistakes: list[str]) -> None:
        shown = mistakes[0] if len(mistakes) == 1 else " ".join(mistakes[:MOST_SHOWN])
        super().__init__(shown, code="bad_template")
        self.mistakes = mistakes


@lru_cache(maxsize=64)
def read_template(text: str) -> Template:
    """The template of a text. Raises BadTemplate."""
    template, mistakes = read(text)
    if template is None:
        raise BadTemplate(mistakes)
    return template


def mistakes_of(body: Any) -> list[str]:
    """A sentence for each mistake in a template, given as text or as parsed JSON."""
    return read(body if isinstance(body, str) else json.dumps(body, ensure_ascii=False))[1]


def names_model(text: str) -> bool:
    """Whether a text names a class in a module, such as `papers:Trial`."""
    return MODEL.fullmatch(text) is not None


def template_of_model(place: str) -> Template:
    """The template of a Pydantic model or dataclass, `module:Class`. Imports the module, so only for a local command."""
    from pydantic import TypeAdapter

    module, _, name = place.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    schema = TypeAdapter(getattr(importlib.import_module(module), name)).json_schema()
    return read_template(json.dumps(schema, ensure_ascii=False))
