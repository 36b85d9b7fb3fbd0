"""`fanfold tokens`: who may use the server?"""

from __future__ import annotations

import click

from fanfold.cli import parameters as given
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation


@click.group("tokens")
def command() -> None:
    """Make, list and revoke the tokens that a server demands."""


@command.command("create", cls=Command)
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(["admin", "member", "viewer"]),
    default="member",
    show_default=True,
    help="admin: everything; member: sees and steers the tasks of its owner; viewer: only sees them.",
)
@click.option("--owner", metavar="NAME", help="Whose tasks it sees; by default the token's name; '*': everybody's.")
@click.option("--days", type=given.FiniteRange(0, 36_500, min_open=True), metavar="N", help="Valid for so long.")
@click.pass_obj
def create(invocation: Invocation, name: str, role: str, owner: str | None, days: float | None) -> None:
    """Make a token and print it, this once: only its hash is kept."""
    from fanfold.engine import tokens

    made = tokens.create(invocation.store(), name, role=role, owner=owner, days=days)
    if invocation.json:
        printing.print_json(made)
        return
    click.echo(made.secret)
    whose = "of all owners" if made.owner is None else f"of {made.owner}"
    click.echo(f"{made.role} {made.name}, for the tasks {whose}. It is shown only now; keep it safe.", err=True)


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
    """Make a token worthless, at once."""
    from fanfold.engine import tokens

    tokens.revoke(invocation.store(), name)
    if invocation.json:
        printing.print_json({"revoked": name})
    else:
        click.echo(f"Revoked {name}")
