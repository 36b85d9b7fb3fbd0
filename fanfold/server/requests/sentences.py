"""Sentences for programs and pages, which have commands and buttons of their own instead of a terminal."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable
from dataclasses import is_dataclass, replace
from typing import Any, TypeVar

from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.text.catalogue import ENGLISH
from fanfold.model.text.sentences import Language, Sentence, read_in

BROUGHT: dict[str, dict[str, str]] = {}
"""The sentences that applications bring, by language and code."""
TEXTS = ("wait_reason", "needs_you", "error_message", "held", "degraded", "reason")
"""The fields of tasks, items, results, attempts and events that have sentences in them."""
Record = TypeVar("Record")


def learn(pipelines: Iterable[Pipeline]) -> None:
    """Take over the sentences of these pipelines."""
    for pipeline in pipelines:
        if (own := pipeline.words.sentences) is not None:
            for language, said in (("en", own.english), *own.languages.items()):
                brought(language).update(said)


def brought(language: str) -> dict[str, str]:
    """The sentences that applications bring in a language."""
    return BROUGHT.setdefault(language, {})


def english() -> Language:
    """How sentences are said in English."""
    return Language(ChainMap(ENGLISH, brought("en")))


def without_commands(text: str) -> str:
    """A sentence without the part that tells people to type a command; what has no code stays as it is."""
    return read_in(text, english()) if isinstance(text, Sentence) else text


def without_state(text: str | None) -> str | None:
    """Why a task waits, without the word for its state where that is all the sentence adds."""
    if not isinstance(text, Sentence) or text.code != "paused_because":
        return text
    why = text.parameters["why"]
    return Sentence(why["text"], why["code"], why["parameters"]) if isinstance(why, dict) else str(why)


def neutral(record: Record) -> Record:
    """A task, item, result, attempt or event whose sentences name no commands of the terminal, with their codes beside them."""
    known: dict[str, Any] = {name: getattr(record, name, None) for name in TEXTS}
    told = {name: without_commands(text) for name, text in known.items() if isinstance(text, Sentence)}
    if not told:
        return record
    if is_dataclass(record) and not isinstance(record, type):
        return replace(record, **told, **sentences_of(told))
    return record._replace(**told)  # type: ignore[attr-defined, no-any-return]


def sentences_of(told: dict[str, Any]) -> dict[str, Any]:
    """The codes and parameters of these texts, as a record has them."""
    return {"sentences": {name: text.data for name, text in told.items() if isinstance(text, Sentence)}}
