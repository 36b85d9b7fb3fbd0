"""Reports errors: one line for people, one JSON document for programs, and an exit code. Tracebacks only with -v."""

from __future__ import annotations

import json
import traceback

import click

from fanfold.errors import BadInput, BadPipeline, DatabaseProblem, FanfoldError, TaskStopped
from fanfold.model.shortage import shortage, told
from fanfold.running.terminal.exit_codes import BY_CODE, BY_STATE, Exit
from fanfold.running.terminal.output_format import printable


class Interrupted(Exception):
    """Ctrl-C or SIGTERM: not an error, but the command did not finish."""


def exit_of(error: BaseException) -> Exit:
    """The exit code of an error."""
    if isinstance(error, Interrupted):
        return Exit.INTERRUPTED
    if isinstance(error, TaskStopped):
        return BY_STATE.get(error.state, Exit.FAILED)
    if isinstance(error, DatabaseProblem):
        return BY_CODE.get(error.code, Exit.DATABASE)
    if isinstance(error, BadInput | BadPipeline):
        return Exit.BAD_INPUT
    if isinstance(error, FanfoldError):
        return BY_CODE.get(error.code, Exit.UNEXPECTED)
    return Exit.UNEXPECTED if shortage(error) is None else Exit.SHORTAGE


def described(error: BaseException) -> dict[str, str]:
    """An error for programs: its code and its message."""
    if isinstance(error, FanfoldError):
        return {"code": error.code, "message": error.message}
    if isinstance(error, Interrupted):
        return {"code": "interrupted", "message": str(error) or "Interrupted"}
    if isinstance(error, click.ClickException):
        return {"code": "usage", "message": error.format_message()}
    if (sentence := told(error)) is not None:
        return {"code": "shortage", "message": sentence}
    return {"code": "unexpected", "message": unforeseen(error)}


def unforeseen(error: BaseException) -> str:
    """Message for an unexpected error."""
    text = " ".join(str(error).split())
    return f"Unexpected {type(error).__name__}" + (f": {text}" if text else "") + ". Use -v to see where."


def report(error: BaseException, *, as_json: bool, verbose: bool = False) -> Exit:
    """Report the error and return the exit code."""
    known = {name: printable(text) for name, text in described(error).items()}
    if verbose and known["code"] == "unexpected":
        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    if as_json:
        click.echo(json.dumps({"error": known}, ensure_ascii=False))
    elif isinstance(error, click.UsageError):
        error.show()
    elif isinstance(error, Interrupted):
        click.echo(known["message"], err=True)
    else:
        click.echo(f"Error: {known['message']}", err=True)
    return Exit.USAGE if isinstance(error, click.UsageError) else exit_of(error)
