"""`fanfold schedule`: adds, lists, pauses, runs and removes schedules."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

import click

from fanfold.cli import parameters as given
from fanfold.model.money.amounts import parts_of, told
from fanfold.running.terminal import declared
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation, ListsByDefault

if TYPE_CHECKING:
    from fanfold.model.schedule import Schedule

HEADINGS = ("name", "cron", "zone", "pipeline", "next", "last", "task")


@click.group("schedule", cls=ListsByDefault)
def command() -> None:
    """Submit tasks at certain times: add, list, pause, run and remove schedules. Without a subcommand: list them."""


@command.command("add", cls=Command)
@click.argument("name")
@click.argument("cron", metavar="CRON")
@click.argument("target")
@click.argument("inputs", metavar="[INPUT]...", nargs=-1)
@click.option("--zone", default="UTC", show_default=True, help="IANA time zone of CRON, such as Europe/Berlin.")
@click.option(
    "--overlap",
    type=click.Choice(["skip", "queue", "allow"]),
    default="skip",
    show_default=True,
    help="What happens to a run that is due while the one before it is unfinished.",
)
@click.option(
    "--catch-up",
    type=click.Choice(["none", "one", "all"]),
    default="one",
    show_default=True,
    help="What happens to times that passed without a worker.",
)
@given.option
@given.items_file
@click.option("--title", help="Title of its tasks.")
@click.option("--priority", type=int, default=0, help="Tasks with a higher number run first.")
@click.option("--tag", "tags", multiple=True, help="Tag of its tasks. Repeatable.")
@click.option("--owner", help="Owner of its tasks.")
@click.option("--retry-limit", type=int, metavar="N", help="Retries per item, instead of the stage's own limit.")
@click.option("--straight-through", is_flag=True, help="Do not stop at gates.")
@declared.budget_options
@click.pass_obj
def add(
    invocation: Invocation,
    /,
    name: str,
    cron: str,
    target: str,
    inputs: tuple[str, ...],
    zone: str,
    overlap: str,
    catch_up: str,
    options: tuple[str, ...],
    items_file: IO[str] | None,
    title: str | None,
    priority: int,
    tags: tuple[str, ...],
    owner: str | None,
    retry_limit: int | None,
    straight_through: bool,
    **asked: Any,
) -> None:
    """Submit a task of TARGET at every time that CRON names, such as "0 3 * * *".

    TARGET and INPUTs are as for `fanfold submit`. Files are copied now; every task gets its own copy of them. Any worker that
    knows the pipeline submits the tasks. --budget is that of each task.
    """
    from fanfold.engine.discovery import load

    pipeline = load(target)
    found = given.given(pipeline, inputs, items_file)
    added = invocation.client().schedules.add(
        name, cron, pipeline, *found.inputs, zone=zone, overlap=overlap, catch_up=catch_up, items=found.items,
        options=given.parse_options(options), title=title, priority=priority, tags=tags, owner=owner,
        retry_limit=retry_limit, straight_through=straight_through, **declared.spending(asked),
    )  # fmt: skip
    if invocation.json:
        printing.print_json(added)
    else:
        click.echo(f"Added {added.name}: next at {_time(added.next_at)}")


@command.command("list", cls=Command)
@click.pass_obj
def list_all(invocation: Invocation) -> None:
    """List the schedules, with the next and the last run of each."""
    found = invocation.client().schedules.list()
    if invocation.json:
        printing.print_json(found)
    elif not found:
        click.echo("No schedules.", err=True)
    else:
        printing.print_table(HEADINGS, [_row(one) for one in found])


@command.command("show", cls=Command)
@click.argument("name")
@click.option("--next", "count", type=click.IntRange(0, 1000), default=0, help="Print the next N due times instead.")
@click.pass_obj
def show(invocation: Invocation, name: str, count: int) -> None:
    """Show a schedule and its latest runs with their tasks."""
    schedules = invocation.client().schedules
    if count:
        times = schedules.next_times(name, count)
        if invocation.json:
            printing.print_json(times)
        for moment in () if invocation.json else times:
            click.echo(moment.isoformat())
        return
    found = schedules.get(name)
    if invocation.json:
        printing.print_json(found)
        return
    click.echo(f"{found.name}: {found.pipeline} at {found.cron} ({found.zone})")
    click.echo(f"overlap {found.overlap}, catch-up {found.catch_up}, {_standing(found)}")
    if found.budget is not None:
        click.echo(f"budget of each task: {told(parts_of(found.budget))}")
    rows = [(_time(run.due_at), run.outcome, run.task or "", run.reason or "") for run in found.runs]
    if rows:
        printing.print_table(("due", "outcome", "task", "reason"), rows)


@command.command("pause", cls=Command)
@click.argument("name")
@click.pass_obj
def pause(invocation: Invocation, name: str) -> None:
    """Submit nothing until it is resumed. Its tasks continue."""
    _tell(invocation, invocation.client().schedules.pause(name))


@command.command("resume", cls=Command)
@click.argument("name")
@click.pass_obj
def resume(invocation: Invocation, name: str) -> None:
    """Continue with the next due time."""
    _tell(invocation, invocation.client().schedules.resume(name))


@command.command("run", cls=Command)
@click.argument("name")
@given.target
@click.pass_obj
def run(invocation: Invocation, name: str, targets: tuple[str, ...]) -> None:
    """Submit its task now, and print the task's id."""
    task = invocation.client(targets).schedules.run(name)
    printing.print_json(task) if invocation.json else click.echo(task.id)


@command.command("remove", cls=Command)
@click.argument("name")
@click.pass_obj
def remove(invocation: Invocation, name: str) -> None:
    """Remove a schedule with its kept files. Its tasks stay."""
    invocation.client().schedules.remove(name)
    printing.print_json({"removed": name}) if invocation.json else click.echo(f"Removed {name}")


def _tell(invocation: Invocation, schedule: Schedule) -> None:
    if invocation.json:
        printing.print_json(schedule)
    else:
        click.echo(f"{schedule.name} is {_standing(schedule)}")


def _standing(schedule: Schedule) -> str:
    return "paused" if schedule.paused else f"due next at {_time(schedule.next_at)}"


def _row(one: Schedule) -> tuple[str, ...]:
    last = one.runs[0] if one.runs else None
    ran = ("", "") if last is None else (f"{_time(last.due_at)} {last.outcome}", last.task or "")
    return (one.name, one.cron, one.zone, one.pipeline, "paused" if one.paused else _time(one.next_at), *ran)


def _time(moment: object) -> str:
    return "never" if moment is None else printing.short_time(moment)  # type: ignore[arg-type]
