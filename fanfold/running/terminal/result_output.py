"""Writes a result: as a description for a person, to a file, or to standard output."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fanfold.errors import BadInput
from fanfold.model.text.counting import ITEMS, counted
from fanfold.model.values.files import File
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.exit_codes import Exit

if TYPE_CHECKING:
    from fanfold.engine.client import Client
    from fanfold.model.item import Item
    from fanfold.model.task import Task

BEGINNING_LINES = 12
BEGINNING_BYTES = 2_000
MISSING_SHOWN = 20
DEGRADED_SHOWN = 10

to_file = click.option(
    "-o", "--output", "target_file", metavar="FILE",
    help="Write to a file, an existing folder, or - for standard output.",
)  # fmt: skip


def write_result(value: Any, target: str) -> None:
    """Write a result to a file, a folder or standard output."""
    if target == "-":
        send(value)
        return
    written(lambda place: save(value, place), target)


def written(write: Callable[[Path], list[Path]], target: str) -> list[Path]:
    """Write files to ``target``, report them and return their paths."""
    place = Path(target)
    try:
        made = write(place)
    except OSError as error:
        raise BadInput(f"Cannot write {place}: {error.strerror or error}.") from None
    for path in made:
        click.echo(f"Wrote {path} ({printing.size(path.stat().st_size)})", err=True)
    return made


def save(value: Any, place: Path) -> list[Path]:
    """Copy a file or write a value. Into a folder, write all files of the value and the value itself as result.json."""
    if isinstance(value, File):
        return [value.save(place)]
    if not place.is_dir():
        place.write_text(as_text(value), encoding="utf-8")
        return [place]
    whole = place / "result.json"
    whole.write_text(json.dumps(printing.plain(value), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return [*(file.save(place) for file in files_in(value)), whole]


def send(value: Any) -> None:
    """Write a file's bytes, or a value as text, to standard output."""
    if isinstance(value, File):
        send_file(value)
    else:
        click.echo(as_text(value), nl=False)


def send_file(file: File | Path) -> None:
    """Write a file's bytes to standard output."""
    sys.stdout.flush()
    with file.open() if isinstance(file, File) else file.open("rb") as source:
        shutil.copyfileobj(source, sys.stdout.buffer)


def describe(value: Any, task_id: str) -> None:
    """Describe a result for a person: a value in full, a file with its path and first lines."""
    if not isinstance(value, File):
        click.echo(as_text(value), nl=False)
        return
    click.echo(f"{value.name}, {printing.size(value.size)}: {value.where}")
    if lines := beginning(value):
        click.echo("\n".join(["", *lines, ""]))
    click.echo(f"To copy it: fanfold result {task_id} -o {value.name}", err=True)


def beginning(file: File) -> list[str]:
    """First lines of a text file; empty for any other file."""
    with file.open() as source:
        raw = source.read(BEGINNING_BYTES)
    try:
        text = raw.decode("utf-8") if len(raw) < BEGINNING_BYTES else raw.decode("utf-8", "ignore")
    except UnicodeDecodeError:
        return []
    if "\0" in text:
        return []
    lines = text.splitlines()
    shown = [("  " + printing.one_line(line)).rstrip() for line in lines[:BEGINNING_LINES]]
    return [*shown, "  …"] if len(lines) > BEGINNING_LINES or len(raw) < file.size else shown


def as_text(value: Any) -> str:
    """Text unchanged, anything else as JSON, ending with a newline."""
    text = value if isinstance(value, str) else json.dumps(printing.plain(value), ensure_ascii=False, indent=2)
    return text if text.endswith("\n") else text + "\n"


def files_in(value: Any) -> Iterator[File]:
    """Every file in a value."""
    if isinstance(value, File):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from files_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from files_in(inner)


def list_missing(client: Client, task: Task) -> None:
    """List the items missing from the result, with reasons."""
    if not task.missing:
        return
    click.echo(f"Missing from the result: {counted(task.missing, ITEMS)}", err=True)
    for result in islice(client.missing(task.id), MISSING_SHOWN):
        why = result.error_message or result.error_code or "not done"
        click.echo(f"  {printing.one_line(result.key)}: {printing.one_line(why)}", err=True)
    if task.missing > MISSING_SHOWN:
        click.echo(f"  … all of them: fanfold items {task.id} --state failed", err=True)


def list_degraded(client: Client, task: Task, *, err: bool = True) -> None:
    """List the degraded items with reasons and the commands to redo or accept them."""
    if not task.degraded:
        return
    was = "is" if task.degraded == 1 else "are"
    click.echo(f"{marked(task, f'of {counted(task.total, ITEMS)} {was} degraded')}:", err=err)
    shown = [item for stage in task.stages for item in _degraded_of(client, task, stage.name)][:DEGRADED_SHOWN]
    for item in shown:
        click.echo(f"  {printing.one_line(item.key)}: {printing.one_line(item.degraded)}", err=err)
    if task.degraded > len(shown):
        click.echo(f"  … all of them: fanfold items {task.id} --degraded", err=err)
    if task.unaccepted:
        click.echo(
            f"To redo only {'this' if task.unaccepted == 1 else 'these'}: fanfold retry {task.id} --degraded", err=err
        )
        click.echo(
            f"To keep {'it as it is' if task.unaccepted == 1 else 'them as they are'}: fanfold accept {task.id}",
            err=err,
        )


def marked(task: Task, what: str) -> str:
    """Number of degraded results, and how many of them are accepted."""
    accepted = f", {task.accepted} accepted" if task.unaccepted else ", accepted"
    return f"{task.degraded} {what}" + (accepted if task.accepted else "")


def _degraded_of(client: Client, task: Task, stage: str) -> list[Item]:
    return client.items(task.id, stage=stage, degraded=True, limit=DEGRADED_SHOWN)


def ended_well(task: Task) -> Exit:
    """Exit code of a command that returns a result: PARTIAL if anything is missing, or degraded and not accepted."""
    return Exit.PARTIAL if task.unaccepted or task.missing else Exit.OK
