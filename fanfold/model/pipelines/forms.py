"""Forms: the formats in which the result of a task can be downloaded, such as a web page or a table."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fanfold.errors import BadPipeline

NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+")
ENDING = re.compile(r"(\.[A-Za-z0-9]{1,16})+")


@dataclass(frozen=True)
class Form:
    """A form of a pipeline: ``make`` gets a ``FormWork`` and returns text, bytes, a path or a ``File``."""

    name: str
    make: Callable[[Any], Any]
    label: str
    media_type: str
    ending: str
    partial: bool = False
    """Whether it is available before the task is completed, from the results so far."""

    def __post_init__(self) -> None:
        check_name("form", self.name)
        check_plain("form", self.name, self.make)
        if not MEDIA_TYPE.fullmatch(self.media_type):
            raise BadPipeline(f"The form {self.name} has the media type '{self.media_type}'. Write it like text/html.")
        if not ENDING.fullmatch(self.ending):
            raise BadPipeline(f"The form {self.name} has the file ending '{self.ending}'. Write it like .html.")

    def described(self) -> dict[str, Any]:
        """Its description for clients."""
        return {"name": self.name, "label": self.label, "media_type": self.media_type, "ending": self.ending} | {
            "partial": self.partial
        }

    @property
    def is_text(self) -> bool:
        """Whether it is text rather than bytes."""
        return self.media_type.startswith("text/") or self.media_type == "application/json"


def check_name(what: str, name: str) -> None:
    """BadPipeline if a form or an action cannot have this name: the name is used in commands and URLs."""
    if not NAME.fullmatch(name):
        raise BadPipeline(
            f"'{name}' cannot name {'an' if what == 'action' else 'a'} {what}: "
            "use lower-case letters, digits, - and _, starting with a letter."
        )


def check_plain(what: str, name: str, function: Callable[..., Any]) -> None:
    """BadPipeline for `async def`, as forms and actions run in a thread of the process that was asked, and for a function that
    cannot be called with its work.
    """
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise BadPipeline(f"The {what} {name} must be a plain `def` that returns its outcome.")
    try:
        inspect.signature(function).bind(None)
    except TypeError as error:
        called = getattr(function, "__name__", "function")
        raise BadPipeline(
            f"The {what} {name} is called with its work alone: write def {called}(work). {error}."
        ) from None
    except ValueError:
        return  # A function written in C may not report its parameters.
