"""`fanfold tokens`: manages the tokens that grant access to a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fanfold.cli import parameters as given
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.engine.tokens import NewToken


@click.group("tokens")
def command() -> None:
    """Create, list and revoke the tokens that a server requires."""


@command.command("create", cls=Command)
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(["admin", "member", "viewer", "timer"]),
    default="member",
    show_default=True,
    help="admin: everything; member: views and controls its owner's tasks; viewer: only views them; timer: only starts ticks.",
)
@click.option(
    "--owner", metavar="NAME", help="Owner whose tasks it can see [default: the token's name]; '*' means all owners."
)
@click.option(
    "--days", type=given.FiniteRange(0, 36_500, min_open=True), metavar="N", help="Days until the token expires."
)
@click.pass_obj
def create(invocation: Invocation, name: str, role: str, owner: str | None, days: float | None) -> None:
    """Create a token and print it once: only its hash is stored."""
    from fanfold.engine import tokens

    made = tokens.create(invocation.store(), name, role=role, owner=owner, days=days)
    if invocation.json:
        printing.print_json(made)
        return
    click.echo(made.secret)
    click.echo(f"{made.role} {made.name}, {_purpose(made)}. It is shown only once; keep it safe.", err=True)


def _purpose(made: NewToken) -> str:
    if made.role == "timer":
        return "for starting ticks"
    return "for the tasks of all owners" if made.owner is None else f"for the tasks of {made.owner}"


@command.command("list", cls=Command)
@click.pass_obj
def list_all(invocation: Invocation) -> None:
    """List the tokens, without their secrets."""
    from fanfold.engine import tokens

    known = tokens.every(invocation.store())
    if invocation.json:
        printing.print_json(known)
        return
    rows = [
        (
            one.name,
            one.role,
            "*" if one.owner is None else one.owner,
            printing.short_time(one.created_at),
            printing.short_time(one.expires_at) or "never",
        )
        for one in known
    ]
    printing.print_table(("name", "role", "owner", "created", "expires"), rows)


@command.command("revoke", cls=Command)
@click.argument("name")
@click.pass_obj
def revoke(invocation: Invocation, name: str) -> None:
    """Revoke a token; it stops working immediately."""
    from fanfold.engine import tokens

    tokens.revoke(invocation.store(), name)
    if invocation.json:
        printing.print_json({"revoked": name})
    else:
        click.echo(f"Revoked {name}")
