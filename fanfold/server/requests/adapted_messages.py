"""Adapts messages for programs and pages, which have their own commands and buttons instead of a terminal."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable
from dataclasses import is_dataclass, replace
from typing import Any, TypeVar

from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.text.catalogue import ENGLISH
from fanfold.model.text.sentences import Language, Sentence, read_in

BROUGHT: dict[str, dict[str, str]] = {}
"""Messages of applications, by language and code."""
TEXTS = ("wait_reason", "still_running", "changed_subtasks", "needs_you", "error_message", "held", "degraded", "reason")
"""Fields of tasks, items, results, attempts and events that contain messages."""
Record = TypeVar("Record")


def learn(pipelines: Iterable[Pipeline]) -> None:
    """Register the messages of these pipelines."""
    for pipeline in pipelines:
        if (own := pipeline.words.sentences) is not None:
            for language, said in (("en", own.english), *own.languages.items()):
                brought(language).update(said)


def brought(language: str) -> dict[str, str]:
    """Messages of applications in a language."""
    return BROUGHT.setdefault(language, {})


def english() -> Language:
    """The English language for messages."""
    return Language(ChainMap(ENGLISH, brought("en")))


def without_commands(text: str) -> str:
    """A message without the part about typing a command; text without a code stays unchanged."""
    return read_in(text, english()) if isinstance(text, Sentence) else text


def without_state(text: str | None) -> str | None:
    """The wait reason, without the state if that is all the message adds."""
    if not isinstance(text, Sentence) or text.code != "paused_because":
        return text
    why = text.parameters["why"]
    return Sentence(why["text"], why["code"], why["parameters"]) if isinstance(why, dict) else str(why)


def neutral(record: Record) -> Record:
    """The record with messages that name no terminal commands, and with their codes."""
    known: dict[str, Any] = {name: getattr(record, name, None) for name in TEXTS}
    told = {name: without_commands(text) for name, text in known.items() if isinstance(text, Sentence)}
    if not told:
        return record
    if is_dataclass(record) and not isinstance(record, type):
        return replace(record, **told, **sentences_of(told))
    return record._replace(**told)  # type: ignore[attr-defined, no-any-return]


def sentences_of(told: dict[str, Any]) -> dict[str, Any]:
    """Codes and parameters of these texts, in the form records use."""
    return {"sentences": {name: text.data for name, text in told.items() if isinstance(text, Sentence)}}
