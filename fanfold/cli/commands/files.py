"""`fanfold files`: says where files are stored, and moves them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from fanfold.model.text.counting import counted
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

FILES = ("file", "files")

if TYPE_CHECKING:
    from fanfold.engine.move_files import FilesMoved


@click.group("files")
def command() -> None:
    """Move files from the data folder to a bucket."""


@command.command("move", cls=Command)
@click.option("--to", metavar="ADDRESS", help="The bucket, s3://bucket/prefix?endpoint=… [default: FANFOLD_FILES].")
@click.option(
    "--remove", is_flag=True, help="Also remove each file from the data folder once its copy has been compared."
)
@click.pass_obj
def move(invocation: Invocation, to: str | None, remove: bool) -> None:
    """Copy the files in the data folder to a bucket, while servers and workers run.

    Every copy is read back and compared. Meanwhile each process finds files in both places. Use --remove when all of them run
    with FANFOLD_FILES. After an interruption, run it again.
    """
    moved = invocation.client().move_files(to, remove=remove, on_moved=_progress if not invocation.json else None)
    if invocation.json:
        printing.print_json(moved)
        return
    size = printing.size(moved.copied_bytes)
    there = f"; {moved.present} were there already" if moved.present else ""
    click.echo(f"Copied {counted(moved.copied, FILES)} ({size}) to {moved.place}{there}")
    if moved.removed:
        click.echo(f"Removed {counted(moved.removed, FILES)} from the data folder")
    if moved.unreferenced:
        click.echo(f"Left {counted(moved.unreferenced, FILES)} not referenced by any task, for the cleanup")
    if not remove and moved.copied + moved.present:
        click.echo(
            "The data folder still has them. When every process uses the bucket: fanfold files move --remove", err=True
        )


def _progress(moved: FilesMoved) -> None:
    """One line for each hundred files, for people who wait."""
    count = moved.copied + moved.present
    if count % 100 == 0:
        click.echo(f"{count} files, {printing.size(moved.copied_bytes)} copied", err=True)
