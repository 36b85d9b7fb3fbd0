"""`fanfold serve`: runs the web page, the HTTP API and workers with one command."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from fanfold.errors import BadInput
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.settings import Settings


@click.command("serve", cls=Command)
@click.argument("targets", metavar="[TARGET]...", nargs=-1)
@click.option(
    "--host", metavar="ADDRESS", help="Listen on this address [default: 127.0.0.1]; any other requires tokens."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Listen on this port [default: 8700]; 0 picks a free one.",
)
@click.option("--allow-host", "names", metavar="NAME", multiple=True, help="Host name to accept. Repeatable.")
@click.option("--demand-token", is_flag=True, help="Require tokens on a loopback address as well.")
@click.option("--workers", type=click.IntRange(min=1), default=1, metavar="N", help="Number of workers to start.")
@click.option("--no-workers", is_flag=True, help="Start no workers: they run elsewhere.")
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Items each worker runs at the same time.")
@click.option("--open", "browse", is_flag=True, help="Open the page in the browser.")
@click.pass_obj
def command(
    invocation: Invocation,
    targets: tuple[str, ...],
    host: str | None,
    port: int | None,
    names: tuple[str, ...],
    demand_token: bool,
    workers: int,
    no_workers: bool,
    concurrency: int | None,
    browse: bool,
) -> None:
    """Serve the web page and the HTTP API, and run workers, until stopped.

    \b
    fanfold serve --open          the installed pipelines, in the browser
    fanfold serve book.py:book    and one of your own

    Ctrl-C or SIGTERM ends open streams, lets running items finish within the grace time and hands back the rest.
    """
    invocation.log(logging.WARNING)
    try:
        from fanfold.cli.serving import Serving
    except ModuleNotFoundError as missing:
        raise BadInput(f"The server needs {missing.name}: pip install 'fanfold[server]'", code="no_server") from None
    settings = said(invocation.settings(), host, port, names)
    serving = Serving(invocation, settings, targets, demand_token=demand_token)
    if not no_workers:
        serving.add_workers(workers, concurrency or settings.concurrency or serving.default_concurrency())
    serving.run(browse=browse)


def said(settings: Settings, host: str | None, port: int | None, names: tuple[str, ...]) -> Settings:
    """The settings, overridden by the command line."""
    allowed = ",".join(filter(None, (settings.allowed_hosts, *names)))
    return replace(
        settings,
        host=host or settings.host,
        port=settings.port if port is None else port,
        allowed_hosts=allowed,
    )
