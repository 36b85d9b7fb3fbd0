"""Builds command-line options from an application's declarations and reads the values given."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

import click

from fanfold.errors import BadInput
from fanfold.model.money.budgets import BudgetWish, wish
from fanfold.model.pipelines.options import CHOICE, FILE, FLAG, MODEL, NUMBER, PROVIDER, RANGE, SECRET, Option
from fanfold.model.template import is_reference

Command = TypeVar("Command", bound=Callable[..., Any])
METAVARS = {RANGE: "RANGE", PROVIDER: "NAME", MODEL: "MODEL", NUMBER: "N", SECRET: "TEXT"}
BUDGET = (
    click.option("--budget", metavar="DOLLARS", help="Pause the task before its calls to models cost more than this."),
    click.option("--strict-budget", is_flag=True, help="Reserve the most that each call can cost."),
    click.option(
        "--allow-unknown-cost", is_flag=True, help="Ask models without a known price even if there is a budget."
    ),
)
sample = click.option(
    "--sample", type=click.IntRange(min=0), default=0, metavar="N",
    help="Process N items for real to estimate from them; their results are kept.",
)  # fmt: skip
ESTIMATE = (click.option("--estimate", is_flag=True, help="Only say what it would cost."), sample)
password = click.option(
    "--password", metavar="TEXT", help="Password of an encrypted file, never stored; - asks for it."
)


def budget_options(command: Command) -> Command:
    """Decorator that adds the budget options, which every command that starts tasks has."""
    for option in reversed(BUDGET):
        command = option(command)
    return command


def estimate_options(command: Command) -> Command:
    """Decorator for commands on files: adds the options that estimate the cost, optionally from a sample."""
    for option in reversed(ESTIMATE):
        command = option(command)
    return command


def sample_wish(given: Mapping[str, Any]) -> int | None:
    """How many items ``estimate_options`` ask to process for an estimate; None if the work is to be done."""
    return int(given["sample"] or 0) if given["estimate"] or given["sample"] else None


def spending(given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of ``budget_options``, as ``submit`` takes them."""
    return {name: given[name] for name in ("budget", "strict_budget", "allow_unknown_cost")}


def budget_wish(given: Mapping[str, Any]) -> BudgetWish | None:
    """The budget given with ``budget_options``."""
    allowed = bool(given.get("allow_unknown_cost"))
    return wish(given.get("budget"), strict=bool(given.get("strict_budget")), allow_unknown_cost=allowed)


class FileOrTemplate(click.File):
    """A file, or the name of a kept template where there is no file of this name."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The open file, or the name as if it were the content of one."""
        if isinstance(value, str) and is_reference(value) and not Path(value).exists():
            return io.StringIO(value)
        return super().convert(value, param, ctx)


def click_options(
    options: Iterable[Option],
    *,
    only: Sequence[str] = (),
    notes: Mapping[str, str] | None = None,
    templates: Collection[str] = (),
) -> Callable[[Command], Command]:
    """Decorator that adds one click option per declaration (``only`` the named ones, in that order).

    Options have no default here: a value that is not given is not stored, so that the same command means the same task. A
    flag that is on by default becomes ``--no-NAME``. ``notes`` are appended to the help. Options among ``templates`` also take
    the name of a template.
    """
    known = {option.name: option for option in options}
    chosen = [known[name] for name in only] or list(known.values())

    def decorate(command: Command) -> Command:
        for option in reversed(chosen):
            file = FileOrTemplate(encoding="utf-8") if option.name in templates else click.File(encoding="utf-8")
            command = _decorator(option, (notes or {}).get(option.name, ""), file)(command)
        return command

    return decorate


def _decorator(option: Option, note: str, file: click.File) -> Callable[[Command], Command]:
    off = option.kind == FLAG and option.default
    rules: dict[str, Any] = {"help": _help(option, note), "multiple": option.many}
    if option.kind == FLAG:
        rules["is_flag"] = True
    elif option.kind == CHOICE:
        rules["type"] = click.Choice(option.choices)
    elif option.kind == NUMBER:
        rules["type"] = click.IntRange(option.at_least, option.at_most)
    elif option.kind == FILE:
        rules["type"] = file
    if option.kind in METAVARS:
        rules["metavar"] = METAVARS[option.kind]
    return click.option(f"--{'no-' if off else ''}{option.name.replace('_', '-')}", **rules)


def _help(option: Option, note: str) -> str:
    text = option.help.replace("`", "").rstrip(".")
    if option.kind == FLAG:
        text = _flag_help(text, bool(option.default))
    if option.kind == SECRET:
        note = f"- asks for it{note}"
    has_default = option.kind in (CHOICE, PROVIDER, NUMBER) and option.default not in (None, "")
    default = f" [default: {option.default}]" if has_default else ""
    return f"{text}{'; ' if note else '.'}{note}{'.' if note else ''}{default}"


def _flag_help(text: str, is_on: bool) -> str:
    """What giving the flag does. The help of an option starts with "Whether to …", or "Whether …" and a state."""
    act = text.removeprefix("Whether to ")
    if act != text:
        return f"Do not {act}" if is_on else act[:1].upper() + act[1:]
    state = text.removeprefix("Whether ")
    return f"Turn off: {state}" if is_on else state[:1].upper() + state[1:]


def said(options: Iterable[Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values given with ``click_options``, as the engine accepts them, without defaults and secrets."""
    found: dict[str, Any] = {}
    for option in options:
        if option.kind == SECRET:
            continue
        value = given.get(option.name)
        if option.kind == FLAG and option.default:
            value = False if given.get(f"no_{option.name}") else None
        elif option.kind == FLAG:
            value = value or None
        elif option.kind == FILE:
            value = text_of(value) if value else None
        elif option.many:
            value = list(value or ()) or None
        if value not in (None, "", option.default):
            found[option.name] = value
    return found


def text_of(file: IO[str]) -> str:
    """The text of a file that was named on the command line; BadInput if it is not UTF-8."""
    try:
        return file.read().removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise BadInput(f"{file.name} is not text in UTF-8. Save it as UTF-8.") from None


def secret(value: str | None, variable: str = "") -> str | None:
    """A secret from the command line, from a prompt (`-`) or from the environment."""
    if value == "-":
        asked = sys.stdin.isatty()
        found = click.prompt("Password", hide_input=True, err=True) if asked else sys.stdin.readline().rstrip("\r\n")
        if not found:
            raise BadInput("No password was given.")
        return str(found)
    return value or (os.environ.get(variable) if variable else None) or None
