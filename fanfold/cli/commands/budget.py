"""`fanfold budget`: shows and raises the budget of a task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fanfold.cli import parameters as given
from fanfold.cli.task_commands import sentence, with_mirror
from fanfold.model.money.amounts import told_dollars as amount
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.model.money.budgets import Budget


@click.command("budget", cls=Command)
@click.argument("task_id", metavar="ID")
@click.option("--raise", "by", metavar="DOLLARS", help="Add this amount to the budget.")
@click.option("--to", metavar="DOLLARS", help="Set the budget to this amount.")
@click.option(
    "--strict/--no-strict", default=None, help="Reserve the most that each call can cost, or what calls usually cost."
)
@click.option(
    "--allow-unknown-cost/--no-unknown-cost", default=None, help="Whether models without a known price may be asked."
)
@given.target
@click.pass_obj
def command(
    invocation: Invocation,
    task_id: str,
    by: str | None,
    to: str | None,
    strict: bool | None,
    allow_unknown_cost: bool | None,
    targets: tuple[str, ...],
) -> None:
    """Show or raise the budget of a task for models; a task that its budget had paused then resumes.

    \b
    fanfold budget t-8hk2mq
    fanfold budget t-8hk2mq --raise 2
    fanfold budget t-8hk2mq --to 10 --strict
    """
    client = invocation.client(targets)
    task = None
    if (by, to, strict, allow_unknown_cost) != (None, None, None, None):
        task = with_mirror(
            client,
            task_id,
            lambda client, task_id: client.raise_budget(
                task_id, by, to, strict=strict, allow_unknown_cost=allow_unknown_cost
            ),
        )
    budget = client.budget(task_id)
    if invocation.json:
        printing.print_json({"task": task or client.get(task_id), "budget": budget, "left": budget.left})
        return
    printing.print_fields(_fields(budget))
    if task is not None:
        click.echo(sentence(task))


def _fields(budget: Budget) -> list[tuple[str, str]]:
    known = f"{'≥ ' if budget.unpriced else ''}{amount(budget.spent)}"
    return [
        ("spent", known if budget.cap is None else f"{known} of {amount(budget.cap)}"),
        ("in flight", f"{amount(budget.reserved)} reserved" if budget.reserved else ""),
        ("unanswered", f"{amount(budget.unknown)} reserved for calls that may be charged" if budget.unknown else ""),
        ("left", "" if budget.left is None else amount(budget.left)),
        ("projected", "" if budget.projected is None else f"about {amount(budget.projected)} at the end"),
        ("rules", ", ".join(_rules(budget))),
    ]


def _rules(budget: Budget) -> list[str]:
    rules = [] if budget.cap is not None else ["no budget"]
    if budget.strict:
        rules.append("strict")
    if budget.allow_unknown_cost:
        rules.append("unknown costs allowed")
    return rules
