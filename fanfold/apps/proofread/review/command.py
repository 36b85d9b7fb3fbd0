"""`fanfold changes` lists the changes of a book; `fanfold rules` lists the rules."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import click

import fanfold as ff
from fanfold.apps.proofread.rules import choose_rules
from fanfold.apps.proofread.sentences import say_of_proofread
from fanfold.model.views.changes import KINDS, STATES, TOPICS, ChangeFilter, ListedChange, listed_changes
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

HEADINGS = ("item", "part", "state", "topic", "origin", "change")
LONGEST = 40
"""Characters of a change shown in a line of the list."""


@click.command("changes", cls=Command)
@click.argument("task_id", metavar="ID")
@click.option("--state", type=click.Choice(STATES), help="Only changes in this state.")
@click.option("--kind", type=click.Choice(KINDS), help="Only changes of this kind.")
@click.option("--topic", type=click.Choice(TOPICS), help="Only changes of white space, punctuation or words.")
@click.option(
    "--origin", metavar="NAME", help="Only changes by a rule or a model: rule, model, dashes, openai:gpt-5.4."
)
@click.option("--chapter", metavar="TEXT", help="Only chapters with this text in their heading.")
@click.option("--find", "text", metavar="TEXT", help="Only changes with this text before or after.")
@click.option(
    "--as", "verdict", type=click.Choice(["accept", "reject", "undo"]),
    help="Print decisions about these changes, to be read by `fanfold decide ID --from -`.",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Most changes to list [default: 200].")
@click.pass_obj
def changes_command(
    invocation: Invocation, /, task_id: str, verdict: str | None, limit: int | None, **given: Any
) -> None:
    """List the changes of a book: what was changed, by which rule or model, and what was decided.

    \b
    fanfold changes 7f3a --topic words
    fanfold changes 7f3a --origin dashes --as reject | fanfold decide 7f3a --from -
    fanfold decide 7f3a ITEM PART replace --value "the"

    A change that nobody has decided about is open; the book has it unless the task says otherwise (--undecided reject).
    """
    client = invocation.client()
    task = client.get(task_id)
    if task.pipeline not in ("proofread", "translate"):
        raise ff.BadInput(say_of_proofread("no_changes", task=task.id, pipeline=task.pipeline))
    wanted = ChangeFilter(**{name: str(value or "") for name, value in given.items()})
    found = listed_changes(client.results(task.id, "process"), wanted)
    if verdict is not None:
        for one in islice(found, limit):
            click.echo(json.dumps({"item": one.item, "part": one.key, "verdict": verdict}))
        return
    most = limit or 200
    shown = list(islice(found, most + 1))
    if invocation.json:
        printing.print_json([one.as_dict() for one in shown[:most]])
    elif not shown:
        click.echo("No changes.", err=True)
    else:
        printing.print_table(HEADINGS, map(row, shown[:most]))
        if len(shown) > most:
            click.echo(f"More than {most} changes: --limit N shows more, --json prints all of their data.", err=True)


def row(one: ListedChange) -> tuple[str, ...]:
    """A change as a table row."""
    change = one.change
    before, after = (_short(change[side]) for side in ("before", "after"))
    left, right = one.around
    return (
        one.item,
        one.key,
        one.state,
        one.topic,
        change["origin"],
        printing.one_line(f"{left}[{before} → {after}]{right}"),
    )


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


@click.command("rules", cls=Command)
@click.pass_obj
def rules_command(invocation: Invocation, /) -> None:
    """List the rules of proofreading, in the order in which they are applied.

    \b
    fanfold proofread novel.txt --rules -indentation --rules +quotes

    Rules marked `on` are applied unless --rules says otherwise.
    """
    from fanfold.apps.proofread.rules import RULES

    usual = {rule.name for rule in choose_rules()}
    rows = [(rule.name, "on" if rule.name in usual else "off", rule.help, rule.before, rule.after) for rule in RULES]
    if invocation.json:
        names = ("name", "state", "help", "before", "after")
        printing.print_json([dict(zip(names, one, strict=True)) for one in rows])
        return
    printing.print_table(
        ("rule", "", "what it does", "example"),
        ((name, state, told, f"{before!r} → {after!r}") for name, state, told, before, after in rows),
    )
