"""`fanfold templates`: lists, shows, saves and deletes templates, which are kept by name and version."""

from __future__ import annotations

from typing import IO

import click

from fanfold.cli import parameters as given
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation, ListsByDefault
from fanfold.running.terminal.template_commands import (
    delete_template,
    print_template,
    print_templates,
    save_template,
)


@click.group("templates", cls=ListsByDefault)
def command() -> None:
    """List, show, save and delete templates. Without a subcommand: list them."""


@command.command("list", cls=Command)
@click.option("--kind", help="Only templates of this kind.")
@click.pass_obj
def list_all(invocation: Invocation, kind: str | None) -> None:
    """List the newest version of each template."""
    print_templates(invocation, invocation.client().templates.list(kind), "No templates.")


@command.command("show", cls=Command)
@click.argument("kind")
@click.argument("reference", metavar="NAME[@VERSION]")
@click.option("--versions", is_flag=True, help="List the versions instead.")
@click.option("--tasks", is_flag=True, help="List the tasks that used it instead.")
@click.pass_obj
def show(invocation: Invocation, kind: str, reference: str, versions: bool, tasks: bool) -> None:
    """Print a template, by default its newest version; NAME@2 is version 2."""
    templates = invocation.client().templates
    found = templates.get(kind, reference)
    if versions:
        print_templates(invocation, templates.versions(kind, found.name), "")
    elif tasks:
        used = templates.tasks(kind, found.name)
        if invocation.json:
            printing.print_json(used)
        else:
            rows = [(one.task, one.version, one.state, printing.short_time(one.at), one.title) for one in used]
            printing.print_table(("task", "version", "state", "since", "title"), rows, right=("version",))
    else:
        print_template(invocation, found)


@command.command("save", cls=Command)
@click.argument("kind")
@click.argument("name")
@click.argument("file", type=click.File("r", encoding="utf-8-sig"))
@click.option("--note", default="", help="What has changed, for people who read the list.")
@given.target
@click.pass_obj
def save(invocation: Invocation, kind: str, name: str, file: IO[str], note: str, targets: tuple[str, ...]) -> None:
    """Save FILE (- reads standard input) as a template, or as its next version if it has changed.

    FILE is JSON, or text in the notation of the application, which checks it first.
    """
    save_template(invocation, targets, kind, name, file.read(), note)


@command.command("delete", cls=Command)
@click.argument("kind")
@click.argument("name")
@click.pass_obj
def delete(invocation: Invocation, kind: str, name: str) -> None:
    """Delete a template with all its versions. Tasks that used it are not changed."""
    delete_template(invocation, kind, name)
