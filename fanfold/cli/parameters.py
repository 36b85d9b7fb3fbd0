"""Converts command-line words into the options, inputs and items that the engine accepts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import IO, TYPE_CHECKING, Any

import click

from fanfold.errors import BadInput

if TYPE_CHECKING:
    from fanfold.model.pipelines.pipeline import Pipeline

option = click.option(
    "--option", "-O", "options", multiple=True, metavar="NAME=VALUE",
    help="Option passed to the handlers; VALUE is JSON if it parses, otherwise text. Repeatable.",
)  # fmt: skip
items_file = click.option(
    "--items", "items_file", type=click.File("r", encoding="utf-8"), metavar="FILE",
    help="Items, one per line (JSON lines if the name ends in .jsonl); - reads standard input.",
)  # fmt: skip
target = click.option(
    "--target", "targets", multiple=True, metavar="TARGET",
    help="Where to find the pipeline if it is not installed and its code is needed. Repeatable.",
)  # fmt: skip
rerun_target = click.option(
    "--target", "targets", multiple=True, metavar="TARGET",
    help="Where to find the pipeline if it is not installed; its current stages are used. Repeatable.",
)  # fmt: skip


class FiniteRange(click.FloatRange):
    """A finite number within bounds: rejects `nan` and `inf`, which Python parses as floats."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse the number."""
        found = super().convert(value, param, ctx)
        if not isfinite(found):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return found


@dataclass(frozen=True)
class Given:
    """Inputs of a task, or its items if the pipeline starts with `each`."""

    inputs: tuple[Any, ...] = ()
    items: Iterable[Any] | None = None


def parse_options(pairs: Sequence[str], what: str = "an option", flag: str = "--option") -> dict[str, Any]:
    """Parse NAME=VALUE pairs into options."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise BadInput(f"'{pair}' is not {what}. Write it as {flag} NAME=VALUE.")
        found[name.strip()] = value_of(value)
    return found


def secrets(password: str | None) -> dict[str, str]:
    """The password as an option, if one was given. The engine uses it at once and does not store it."""
    from fanfold.running.terminal.declared import secret

    found = secret(password)
    return {} if found is None else {"password": found}


def value_of(text: str) -> Any:
    """Parse as JSON, or return the text unchanged."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text


def moment(text: str | None) -> datetime | None:
    """A time as typed; without a time zone it is local."""
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise BadInput(
            f"'{text}' is not a time. Write it as 2026-12-24T20:00, or with a zone: 2026-12-24T20:00+01:00."
        ) from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def given(pipeline: Pipeline, words: Sequence[str], items: IO[str] | None = None) -> Given:
    """Interpret command-line words for this pipeline: as files, function arguments or items."""
    from fanfold.model.plan import Kind

    if pipeline.calls_with_arguments:
        return Given(tuple(value_of(word) for word in words), None if items is None else lines_of(items))
    if pipeline.plan().stages[0].kind is not Kind.EACH:
        return Given(tuple(words), None if items is None else lines_of(items))
    if items is None and not words:
        raise BadInput(
            f"Pipeline {pipeline.name} processes each INPUT. Name at least one, or pass a file with --items."
        )
    return Given((), [*words, *(lines_of(items) if items else ())])


def lines_of(source: IO[str]) -> Iterator[Any]:
    """Read items from a file, skipping empty lines."""
    as_json = str(source.name).endswith(".jsonl")
    number = 0
    try:
        for line in source:
            number += 1
            if line.strip():
                yield json.loads(line) if as_json else line.rstrip("\r\n")
    except json.JSONDecodeError as error:
        raise BadInput(f"Line {number} of {source.name} is not JSON: {error.msg}.") from None
    except UnicodeDecodeError:
        raise BadInput(f"{source.name} is not UTF-8 text.") from None
    except RecursionError:
        raise BadInput(f"Line {number} of {source.name} is nested too deeply.") from None
    except ValueError:  # Python limits integers to 4300 digits.
        raise BadInput(f"Line {number} of {source.name} has a number with too many digits.") from None
