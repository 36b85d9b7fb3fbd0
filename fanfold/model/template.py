"""Templates: what people prepare for tasks of a kind, kept by name and version."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.lifecycle import TaskState
from fanfold.model.text.sentences import say
from fanfold.model.text.texts import shown

NAME = re.compile(r"\w[\w.-]{0,99}")
REFERENCE = re.compile(rf"({NAME.pattern})(?:@([1-9][0-9]{{0,8}}))?")


@dataclass(frozen=True)
class Template:
    """One version of a template. It is never changed: saving another body makes a new version."""

    kind: str
    name: str
    version: int
    body: Any
    note: str
    actor: str
    at: datetime

    @property
    def reference(self) -> str:
        """Its name with its version, `name@2`."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True)
class TemplateUse:
    """A task that used a version of a template."""

    kind: str
    name: str
    version: int
    task: str
    """The id of the task."""
    title: str
    state: TaskState
    at: datetime


def check_name(name: Any) -> str:
    """``name``, if it can name a template; BadInput otherwise."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise BadInput(say("template_name", name=shown(name)))
    return name


def parse_reference(reference: Any) -> tuple[str, int | None]:
    """The name and the version of `name@2`; the version is None for `name`, which means the newest."""
    found = REFERENCE.fullmatch(reference) if isinstance(reference, str) else None
    if found is None:
        raise BadInput(say("template_name", name=shown(reference)))
    return found[1], int(found[2]) if found[2] else None


def is_reference(text: Any) -> bool:
    """Whether a text can name a template, and is not the text of one."""
    return isinstance(text, str) and REFERENCE.fullmatch(text) is not None
