"""`fanfold scenes`: lists, shows, saves and deletes scenes, the templates of prompts."""

from __future__ import annotations

import json
from typing import IO, Any

import click

from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

KIND = "scene"
HEADINGS = ("name", "version", "saved", "by", "note")


class ListsByDefault(click.Group):
    """A group that lists without a subcommand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words after its name."""
        return super().parse_args(ctx, args or ["list"])


@click.group("scenes", cls=ListsByDefault)
def command() -> None:
    """List, show, save and delete scenes: named templates of prompts. Without a subcommand: list them."""


@command.command("list", cls=Command)
@click.pass_obj
def list_all(invocation: Invocation) -> None:
    """List the newest version of each scene."""
    found = invocation.client().templates.list(KIND)
    if invocation.json:
        printing.print_json(found)
    elif not found:
        click.echo("No scenes. To save one: fanfold scenes save studio studio.json", err=True)
    else:
        rows = [
            (one.name, one.version, printing.short_time(one.at), one.actor, printing.one_line(one.note))
            for one in found
        ]
        printing.print_table(HEADINGS, rows, right=("version",))


@command.command("show", cls=Command)
@click.argument("reference", metavar="NAME[@VERSION]")
@click.pass_obj
def show(invocation: Invocation, reference: str) -> None:
    """Print a scene, by default its newest version; NAME@2 is version 2."""
    found = invocation.client().templates.get(KIND, reference)
    if invocation.json:
        printing.print_json(found)
    else:
        body = found.body
        click.echo(body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, indent=2))


@command.command("save", cls=Command)
@click.argument("name")
@click.argument("file", type=click.File("r", encoding="utf-8-sig"))
@click.option("--note", default="", help="What has changed, for people who read the list.")
@click.pass_obj
def save(invocation: Invocation, name: str, file: IO[str], note: str) -> None:
    """Save FILE (- reads standard input) as a scene, or as its next version if it has changed.

    FILE is text with placeholders, such as "{prompt}, in a bright studio", or JSON with `prompt`, `negative`, `parameters`
    (defaults for placeholders) and `request` (parameters for the service).
    """
    from fanfold.apps.photo.pipeline import photo

    saved = invocation.client([photo]).templates.save(KIND, name, _body(file.read()), note=note)
    if invocation.json:
        printing.print_json(saved)
    else:
        click.echo(f"Saved {saved.reference}")


@command.command("delete", cls=Command)
@click.argument("name")
@click.pass_obj
def delete(invocation: Invocation, name: str) -> None:
    """Delete a scene with all its versions. Tasks that used it are not changed."""
    count = invocation.client().templates.delete(KIND, name)
    if invocation.json:
        printing.print_json({"deleted": name, "versions": count})
    else:
        click.echo(f"Deleted {name} ({count} version{'' if count == 1 else 's'})")


def _body(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()
