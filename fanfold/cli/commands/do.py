"""`fanfold do`: runs an action defined by the task's application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fanfold.cli import parameters as given
from fanfold.cli.task_commands import sentence
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.declared import click_options, said
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.engine.client import Client
    from fanfold.model.pipelines.actions import Action
    from fanfold.model.task import Task


@click.command("do", cls=Command, context_settings={"ignore_unknown_options": True})
@click.argument("task_id", metavar="ID")
@click.argument("name", metavar="[ACTION]", required=False)
@click.argument("words", metavar="[--OPTION VALUE]...", nargs=-1, type=click.UNPROCESSED)
@given.target
@click.pass_obj
def command(
    invocation: Invocation, task_id: str, name: str | None, words: tuple[str, ...], targets: tuple[str, ...]
) -> None:
    """Run an action of the task's application now; without ACTION, list the available ones.

    \b
    fanfold do 7f3a
    fanfold do 7f3a approve --note "read by both"
    """
    from fanfold.engine.make_form import pipeline_of
    from fanfold.engine.take_action import find

    client = invocation.client(targets)
    task = client.get(task_id)
    if name is None:
        actions = pipeline_of(client, task, "its actions cannot be listed").actions.values()
        _list(invocation, [(one, task.state in one.states) for one in actions])
        return
    action = find(client, task, name)
    kinds = pipeline_of(client, task, "its actions cannot be taken").template_kinds.values()
    options = _said(action, words, [kind.option for kind in kinds])
    outcome = client.do(task.id, name, options)
    if invocation.json:
        printing.print_json(outcome)
        return
    if outcome.message:
        click.echo(outcome.message)
    click.echo(sentence(outcome.task) if outcome.task is not None else f"{task.id} is deleted", err=True)
    for line in _outdated(client, outcome.task):
        click.echo(printing.printable(line), err=True)


def _outdated(client: Client, task: Task | None) -> list[str]:
    """The saved files that the action made out of date, and how to write them again."""
    from fanfold.running.many_files.saved_results import outdated
    from fanfold.running.many_files.saving import Saving

    return [] if task is None else outdated(task, Saving(client.store.settings.data_folder))


def _list(invocation: Invocation, actions: list[tuple[Action, bool]]) -> None:
    if invocation.json:
        printing.print_json([one.described() | {"possible": possible} for one, possible in actions])
        return
    rows = [
        (one.name, one.label, " ".join(f"--{name.replace('_', '-')}" for name in one.options), "yes" if now else "no")
        for one, now in actions
    ]
    printing.print_table(("action", "label", "options", "possible now"), rows)


def _said(action: Action, words: tuple[str, ...], templates: list[str]) -> dict[str, Any]:
    """Parse the action's options from the words that follow its name. Those called ``templates`` take names of templates."""
    options = list(action.options.values())
    reader = click.command(action.name)(click_options(options, templates=templates)(lambda **known: None))
    with reader.make_context(f"fanfold do ID {action.name}", list(words)) as context:
        return said(options, context.params)
