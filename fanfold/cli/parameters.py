"""What was given on the command line? Options, inputs and items, as the engine takes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import IO, TYPE_CHECKING, Any

import click

from fanfold.errors import BadInput

if TYPE_CHECKING:
    from fanfold.model.pipelines.pipeline import Pipeline

option = click.option(
    "--option", "-O", "options", multiple=True, metavar="NAME=VALUE",
    help="An option for the handlers; VALUE is JSON, or else text. Repeatable.",
)  # fmt: skip
items_file = click.option(
    "--items", "items_file", type=click.File("r", encoding="utf-8"), metavar="FILE",
    help="Items, one per line (each line JSON if the name ends in .jsonl); - is the standard input.",
)  # fmt: skip
target = click.option(
    "--target", "targets", multiple=True, metavar="TARGET",
    help="The pipeline, where its code is needed and it is not installed. Repeatable.",
)  # fmt: skip
rerun_target = click.option(
    "--target", "targets", multiple=True, metavar="TARGET",
    help="The pipeline, where it is not installed: its stages are those of the code as it is now. Repeatable.",
)  # fmt: skip


class FiniteRange(click.FloatRange):
    """A number within bounds; `nan` and `inf`, which Python takes for numbers, are refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number."""
        found = super().convert(value, param, ctx)
        if not isfinite(found):
            self.fail(f"{value} is not a number that can be used here.", param, ctx)
        return found


@dataclass(frozen=True)
class Given:
    """Inputs, or for a pipeline that begins with `each`, items."""

    inputs: tuple[Any, ...] = ()
    items: Iterable[Any] | None = None


def parse_options(pairs: Sequence[str]) -> dict[str, Any]:
    """The options of NAME=VALUE pairs."""
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise BadInput(f"'{pair}' is not an option. Write it as --option NAME=VALUE.")
        found[name.strip()] = value_of(value)
    return found


def secrets(password: str | None) -> dict[str, str]:
    """The password among the options, where one was given; the engine uses it at once and does not store it."""
    from fanfold.running.terminal.declared import secret

    found = secret(password)
    return {} if found is None else {"password": found}


def value_of(text: str) -> Any:
    """JSON if it is, text otherwise."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def given(pipeline: Pipeline, words: Sequence[str], items: IO[str] | None = None) -> Given:
    """What the words on the command line are to this pipeline: files, arguments of a function, or items."""
    from fanfold.model.plan import Kind

    if pipeline.calls_with_arguments:
        return Given(tuple(value_of(word) for word in words), None if items is None else lines_of(items))
    if pipeline.plan().stages[0].kind is not Kind.EACH:
        return Given(tuple(words), None if items is None else lines_of(items))
    if items is None and not words:
        raise BadInput(f"Pipeline {pipeline.name} works on each INPUT: name at least one, or give a file with --items.")
    return Given((), [*words, *(lines_of(items) if items else ())])


def lines_of(source: IO[str]) -> Iterator[Any]:
    """The items of a file; empty lines are passed over."""
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
    except ValueError:  # Python reads integers of up to 4300 digits.
        raise BadInput(f"Line {number} of {source.name} has a number with too many digits.") from None
