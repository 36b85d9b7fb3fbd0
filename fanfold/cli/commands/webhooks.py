"""`fanfold webhooks`: lists, adds, tests and removes webhooks."""

from __future__ import annotations

import click

from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation, ListsByDefault

HEADINGS = ("name", "url", "events", "pipeline", "state")


@click.group("webhooks", cls=ListsByDefault)
def command() -> None:
    """Notify other programs about tasks. Without a subcommand: list the webhooks."""


@command.command("list", cls=Command)
@click.pass_obj
def list_all(invocation: Invocation) -> None:
    """List the webhooks."""
    found = invocation.client().webhooks.list()
    if invocation.json:
        printing.print_json(found)
    elif not found:
        click.echo("No webhooks.", err=True)
    else:
        states = [f"disabled: {one.disabled_because}" if one.disabled_at else "enabled" for one in found]
        rows = [
            (one.name, one.url, ", ".join(one.events), one.pipeline or "", state)
            for one, state in zip(found, states, strict=True)
        ]
        printing.print_table(HEADINGS, rows)


@command.command("add", cls=Command)
@click.argument("name")
@click.argument("url")
@click.option(
    "--on",
    "events",
    multiple=True,
    metavar="EVENT",
    help="completed, failed, partial, paused or needs_you; default: all of these. `credits`: entries of the ledger. Repeatable.",
)
@click.option("--pipeline", help="Only tasks of this pipeline.")
@click.option("--owner", help="Only tasks of this owner.")
@click.pass_obj
def add(
    invocation: Invocation, name: str, url: str, events: tuple[str, ...], pipeline: str | None, owner: str | None
) -> None:
    """Send events to URL, signed. Adding a NAME again replaces it, and enables it.

    Workers take the secret from the variable FANFOLD_WEBHOOK_SECRET_NAME, or FANFOLD_WEBHOOK_SECRET for all, or from
    fanfold.toml. It is never stored in the database.
    """
    wanted = {"events": events} if events else {}
    added = invocation.client().webhooks.add(name, url, pipeline=pipeline, owner=owner, **wanted)
    printing.print_json(added) if invocation.json else click.echo(f"Added {added.name}: {', '.join(added.events)}")


@command.command("test", cls=Command)
@click.argument("name")
@click.pass_obj
def test(invocation: Invocation, name: str) -> None:
    """Deliver an event `task.test`, and print the id of the task that shows the answer."""
    task = invocation.client().webhooks.test(name)
    if invocation.json:
        printing.print_json(task)
        return
    click.echo(task.id)
    click.echo(f"A worker delivers it. To see the answer: fanfold items {task.id}", err=True)


@command.command("remove", cls=Command)
@click.argument("name")
@click.pass_obj
def remove(invocation: Invocation, name: str) -> None:
    """Remove a webhook."""
    invocation.client().webhooks.remove(name)
    printing.print_json({"removed": name}) if invocation.json else click.echo(f"Removed {name}")
