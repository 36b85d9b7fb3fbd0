"""Sentences of the engine for programs and pages, which have commands and buttons of their own instead of a terminal."""

from __future__ import annotations

import re
from dataclasses import is_dataclass, replace
from typing import Any, TypeVar

COMMAND = re.compile(
    r"(?:(?<=[.;:!?])|^)[^.;:!?]*(?:\bfanfold [a-z]+ t-[a-z0-9]+|:\s*(?:fanfold [a-z]+\b|--[a-z-]+)).*$", re.DOTALL
)
"""A sentence that ends with a command to type, as the engine writes them for a terminal."""
TYPED = re.compile(r":?\s*(?:\bfanfold [a-z]+\b|--[a-z-]+).*$", re.DOTALL)
"""The command alone, where there is no other sentence."""
FLAG = re.compile(r" (?:with --[a-z-]+|\(--[a-z-]+\))")
"""A flag of the command line, named in passing."""
SENTENCES = ("wait_reason", "needs_you", "error_message", "held", "degraded", "reason")
"""The fields of tasks, items, results, attempts and events that have sentences in them."""
Record = TypeVar("Record")


def without_commands(text: str) -> str:
    """A sentence without the part that tells people to type a command."""
    found = COMMAND.sub("", text).rstrip().rstrip(";:")
    return FLAG.sub("", found or TYPED.sub("", text))


def neutral(record: Record) -> Record:
    """A task, item, result, attempt or event whose sentences name no commands of the terminal."""
    known: dict[str, Any] = {name: getattr(record, name, None) for name in SENTENCES}
    shorter = {name: without_commands(text) for name, text in known.items() if isinstance(text, str)}
    if not shorter:
        return record
    if is_dataclass(record) and not isinstance(record, type):
        return replace(record, **shorter)
    return record._replace(**shorter)  # type: ignore[attr-defined, no-any-return]
