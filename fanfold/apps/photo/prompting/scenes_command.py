"""`fanfold scenes`: lists, shows, saves and deletes scenes, the templates of prompts."""

from __future__ import annotations

from typing import IO

import click

from fanfold.running.terminal.invocation import Command, Invocation, ListsByDefault
from fanfold.running.terminal.template_commands import (
    delete_template,
    print_template,
    print_templates,
    save_template,
)

KIND = "scene"
HEADINGS = ("name", "version", "saved", "by", "note")
NONE = "No scenes. To save one: fanfold scenes save studio studio.json"


@click.group("scenes", cls=ListsByDefault)
def command() -> None:
    """List, show, save and delete scenes: named templates of prompts. Without a subcommand: list them."""


@command.command("list", cls=Command)
@click.pass_obj
def list_all(invocation: Invocation) -> None:
    """List the newest version of each scene."""
    print_templates(invocation, invocation.client().templates.list(KIND), NONE, headings=HEADINGS)


@command.command("show", cls=Command)
@click.argument("reference", metavar="NAME[@VERSION]")
@click.pass_obj
def show(invocation: Invocation, reference: str) -> None:
    """Print a scene, by default its newest version; NAME@2 is version 2."""
    print_template(invocation, invocation.client().templates.get(KIND, reference))


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

    save_template(invocation, [photo], KIND, name, file.read().strip(), note)


@command.command("delete", cls=Command)
@click.argument("name")
@click.pass_obj
def delete(invocation: Invocation, name: str) -> None:
    """Delete a scene with all its versions. Tasks that used it are not changed."""
    delete_template(invocation, KIND, name)
