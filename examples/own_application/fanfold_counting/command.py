"""`fanfold count`."""

from __future__ import annotations

from typing import Any

import click

from fanfold.running.terminal.declared import click_options, said
from fanfold.running.terminal.invocation import Command, Invocation
from fanfold_counting.pipeline import OPTIONS, counting


@click.command("count", cls=Command)
@click.argument("path", metavar="FILE")
@click_options(OPTIONS)
@click.pass_obj
def command(invocation: Invocation, /, path: str, **given: Any) -> None:
    """Count the words of FILE, here and now; run it again and it resumes."""
    import fanfold as ff

    settings = invocation.settings()
    result = ff.run(
        counting, path, options=said(OPTIONS, given), database=settings.database, data=settings.data,
        progress=not invocation.json,
    )  # fmt: skip
    click.echo(f"{result['words']} words in {result['lines']} lines")
