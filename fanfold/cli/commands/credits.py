"""`fanfold credits`: shows the credits of owners, and grants, charges and refunds them."""

from __future__ import annotations

import click

from fanfold.model.money.credits import CreditEntry
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation, ListsByDefault

AMOUNT = click.IntRange(min=1)
ENTRY_HEADINGS = ("id", "at", "owner", "kind", "amount", "task", "item", "by", "reason")


@click.group("credits", cls=ListsByDefault)
def command() -> None:
    """Show and change the credits that owners pay with. Without a subcommand: list the accounts.

    Tasks of pipelines with a price cost credits of their owner if the setting `credits` is on.
    """


@command.command("list", cls=Command)
@click.option("--after", metavar="OWNER", help="Owners after this one.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=100, show_default=True, help="Most accounts to list.")
@click.pass_obj
def list_all(invocation: Invocation, after: str | None, limit: int) -> None:
    """List the accounts and their balances."""
    found = invocation.client().credits.accounts(after=after, limit=limit)
    if invocation.json:
        printing.print_json(found)
    elif not found:
        click.echo("No accounts. To open one: fanfold credits grant OWNER AMOUNT", err=True)
    else:
        rows = [(one.owner, one.balance, "another ledger" if one.outside else "") for one in found]
        printing.print_table(("owner", "balance", "limited by"), rows, right=("balance",))


@command.command("entries", cls=Command)
@click.argument("owner", required=False)
@click.option("--task", metavar="ID", help="Only entries of this task; its full id.")
@click.option("--before", type=click.IntRange(min=1), metavar="ENTRY", help="Only entries older than this one.")
@click.option("--limit", type=click.IntRange(1, 1_000), default=100, show_default=True, help="Most entries to list.")
@click.pass_obj
def entries(invocation: Invocation, owner: str | None, task: str | None, before: int | None, limit: int) -> None:
    """List entries of the ledger, newest first: of all owners, or of OWNER."""
    found = invocation.client().credits.entries(owner, task=task, before=before, limit=limit)
    if invocation.json:
        printing.print_json(found)
    elif not found:
        click.echo("No entries.", err=True)
    else:
        printing.print_table(ENTRY_HEADINGS, [_line(one) for one in found], right=("id", "amount"))


def _line(entry: CreditEntry) -> tuple[object, ...]:
    at = entry.at.isoformat(sep=" ", timespec="seconds")
    told = (entry.task or "", entry.item or "", entry.actor, entry.reason or "")
    return (entry.id, at, entry.owner, entry.kind.value, f"{entry.amount:+}", *told)


@command.command("grant", cls=Command)
@click.argument("owner")
@click.argument("amount", type=AMOUNT)
@click.option("--reason", help="Kept with the entry.")
@click.option("--key", help="The same key counts once, for scripts that may run twice.")
@click.pass_obj
def grant(invocation: Invocation, owner: str, amount: int, reason: str | None, key: str | None) -> None:
    """Add AMOUNT credits to the account of OWNER."""
    _told(invocation, invocation.client().credits.grant(owner, amount, reason=reason, key=key))


@command.command("charge", cls=Command)
@click.argument("owner")
@click.argument("amount", type=AMOUNT)
@click.option("--reason", help="Kept with the entry.")
@click.option("--key", help="The same key counts once, for scripts that may run twice.")
@click.pass_obj
def charge(invocation: Invocation, owner: str, amount: int, reason: str | None, key: str | None) -> None:
    """Take AMOUNT credits from the account of OWNER, for something other than a task."""
    _told(invocation, invocation.client().credits.charge(owner, amount, reason=reason, key=key))


def _told(invocation: Invocation, entry: CreditEntry) -> None:
    if invocation.json:
        printing.print_json(entry)
    else:
        click.echo(f"{entry.owner} has {invocation.client().credits.balance(entry.owner)} credits")


@command.command("refund", cls=Command)
@click.argument("task_id", metavar="TASK")
@click.argument("items", nargs=-1, metavar="[ITEM]...")
@click.option("--reason", help="Kept with the entries.")
@click.pass_obj
def refund(invocation: Invocation, task_id: str, items: tuple[str, ...], reason: str | None) -> None:
    """Refund what a task cost, or the named items of it. Nothing is refunded twice."""
    amount = invocation.client().credits.refund(task_id, items or None, reason=reason)
    printing.print_json({"refunded": amount}) if invocation.json else click.echo(f"Refunded {amount} credits")


@command.command("check", cls=Command)
@click.pass_obj
def check(invocation: Invocation) -> None:
    """Check that every balance is the sum of its entries."""
    found = invocation.client().credits.differences()
    if invocation.json:
        printing.print_json(found)
    elif not found:
        click.echo("Every balance is the sum of its entries.")
    else:
        printing.print_table(("owner", "balance", "entries"), found, right=("balance", "entries"))
    if found:
        raise SystemExit(1)
