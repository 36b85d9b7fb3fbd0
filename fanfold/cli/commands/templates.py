"""`fanfold templates`: lists, shows, saves and deletes templates, which are kept by name and version."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Any

import click

from fanfold.cli import parameters as given
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.model.template import Template

HEADINGS = ("kind", "name", "version", "saved", "by", "note")


class ListsByDefault(click.Group):
    """A group that lists without a subcommand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words after its name."""
        return super().parse_args(ctx, args or ["list"])


@click.group("templates", cls=ListsByDefault)
def command() -> None:
    """List, show, save and delete templates. Without a subcommand: list them."""


@command.command("list", cls=Command)
@click.option("--kind", help="Only templates of this kind.")
@click.pass_obj
def list_all(invocation: Invocation, kind: str | None) -> None:
    """List the newest version of each template."""
    _print(invocation, invocation.client().templates.list(kind), "No templates.")


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
        _print(invocation, templates.versions(kind, found.name), "")
    elif tasks:
        used = templates.tasks(kind, found.name)
        if invocation.json:
            printing.print_json(used)
        else:
            rows = [(one.task, one.version, one.state, printing.short_time(one.at), one.title) for one in used]
            printing.print_table(("task", "version", "state", "since", "title"), rows, right=("version",))
    elif invocation.json:
        printing.print_json(found)
    else:
        click.echo(_text(found.body))


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
    text = file.read()
    saved = invocation.client(targets).templates.save(kind, name, _body(text), note=note)
    if invocation.json:
        printing.print_json(saved)
    else:
        click.echo(f"Saved {saved.reference}")


@command.command("delete", cls=Command)
@click.argument("kind")
@click.argument("name")
@click.pass_obj
def delete(invocation: Invocation, kind: str, name: str) -> None:
    """Delete a template with all its versions. Tasks that used it are not changed."""
    count = invocation.client().templates.delete(kind, name)
    if invocation.json:
        printing.print_json({"deleted": name, "versions": count})
    else:
        click.echo(f"Deleted {name} ({count} version{'' if count == 1 else 's'})")


def _print(invocation: Invocation, found: list[Template], none: str) -> None:
    if invocation.json:
        printing.print_json(found)
    elif not found:
        click.echo(none, err=True)
    else:
        rows = [
            (one.kind, one.name, one.version, printing.short_time(one.at), one.actor, printing.one_line(one.note))
            for one in found
        ]
        printing.print_table(HEADINGS, rows, right=("version",))


def _body(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _text(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, indent=2)
