"""`fanfold decide`: accepts, rejects or replaces a part of an item's output."""

from __future__ import annotations

import json
import logging
from typing import IO, TYPE_CHECKING, Any

import click

from fanfold.cli import parameters as given
from fanfold.cli.task_commands import sentence, with_mirror
from fanfold.errors import BadInput
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.engine.client import Client
    from fanfold.model.task import Task
    from fanfold.running.many_files.saved_results import Rewritten

KNOWN_ONLY_HERE = ("number", "actor", "at")
"""Fields that `fanfold decisions --json` prints but a new decision must not carry: they are assigned again."""
SERVED_SECONDS = 60.0
"""Longest wait for a worker's merge before saved files are rewritten."""


@click.command("decide", cls=Command)
@click.argument("task_id", metavar="ID")
@click.argument("words", metavar="[ITEM PART accept|reject|replace|undo]", nargs=-1)
@click.option("--value", metavar="TEXT", help="With replace: the new text of the part.")
@click.option("--json-value", metavar="JSON", help="With replace: the new value as JSON; null removes the part.")
@click.option(
    "--from", "source", type=click.File("r", encoding="utf-8"), metavar="FILE",
    help="Read many decisions: one JSON object per line (item, part, verdict, value, stage) or a JSON list; - reads "
    "standard input.",
)  # fmt: skip
@click.option("--stage", help="Stage of the items [default: the one the last merge reads].")
@click.option("--no-merge", is_flag=True, help="If no worker serves the task, leave the merge to the next decision.")
@given.target
@click.pass_obj
def command(
    invocation: Invocation,
    task_id: str,
    words: tuple[str, ...],
    value: str | None,
    json_value: str | None,
    source: IO[str] | None,
    stage: str | None,
    no_merge: bool,
    targets: tuple[str, ...],
) -> Exit:
    """Accept, reject or replace a part of an item's output, or undo that, and repeat the last merge.

    No item is redone and no model is called. If no worker serves the task, the merge runs here. A file saved by `convert` or
    another command is rewritten unless you have edited it.

    \b
    fanfold decide 7f3a p17 1f0c64a2b9d37e5510ac reject
    fanfold decide 7f3a p17 1f0c64a2b9d37e5510ac replace --value "the"
    fanfold decide 7f3a --from decisions.jsonl
    """
    invocation.log(logging.ERROR)
    wanted = _wanted(words, value, json_value, source)
    client = invocation.client(targets)
    decided = with_mirror(client, task_id, lambda client, task_id: client.decide_many(task_id, wanted, stage=stage))
    assert decided is not None, "deciding deletes nothing"
    task, problem = (decided, None) if no_merge else _merged(invocation, client, decided)
    saved = _saved(client, task)
    _tell(invocation, task, saved, problem)
    return Exit.FAILED if task.state is not decided.state and task.state == "failed" else Exit.OK


def _tell(invocation: Invocation, task: Task, saved: Rewritten, problem: str | None) -> None:
    from fanfold.running.many_files.saved_results import tell

    if invocation.json:
        outdated = [*saved.unknown, *saved.failed]
        printing.print_json({"task": task, "rewritten": saved.written, "left": saved.left, "outdated": outdated})
        return
    click.echo(sentence(task))
    for line in [*([problem] if problem else []), *tell(saved)]:
        click.echo(printing.printable(line), err=True)


def _wanted(
    words: tuple[str, ...], value: str | None, json_value: str | None, source: IO[str] | None
) -> list[dict[str, Any]]:
    """The decisions from the command line or a file."""
    if source is not None:
        if words or value is not None or json_value is not None:
            raise BadInput("Name one decision, or give a file with --from, not both.")
        return read_decisions(source)
    if len(words) != 3:
        raise BadInput("Name the item, the part and the decision: fanfold decide ID ITEM PART reject")
    item, part, verdict = words
    if value is not None and json_value is not None:
        raise BadInput("Use --value or --json-value, not both.")
    if verdict == "replace" and value is None and json_value is None:
        raise BadInput("Give the replacement: --value TEXT, or --json-value null to remove the part.")
    replaced = value if json_value is None else _parsed(json_value)
    return [{"item": item, "part": part, "verdict": verdict, "value": replaced}]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise BadInput(f"--json-value is not JSON: {text[:100]}") from None


def read_decisions(source: IO[str]) -> list[dict[str, Any]]:
    """Read decisions from a file: a JSON list, or one object per line."""
    try:
        text = source.read()
    except UnicodeDecodeError:
        raise BadInput(f"{source.name} is not UTF-8 text.") from None
    found: list[Any] = []
    if text.lstrip().startswith("["):
        found = _of_json(text, str(source.name))
    else:
        lines = ((number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip())
        found = [_of_json(line, f"Line {number} of {source.name}") for number, line in lines]
    if not found:
        raise BadInput(f"There are no decisions in {source.name}.")
    return [
        {name: inner for name, inner in one.items() if name not in KNOWN_ONLY_HERE} if isinstance(one, dict) else one
        for one in found
    ]


def _of_json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{what} is not JSON: {getattr(error, 'msg', error)}.") from None


def _merged(invocation: Invocation, client: Client, task: Task) -> tuple[Task, str | None]:
    """Merge here if no worker does, or wait for a worker's merge if a saved file depends on it.

    Returns the task and, if nothing can merge it, the reason.
    """
    from fanfold.running import merge_here
    from fanfold.running.terminal.display import display

    if not merge_here.stages_to_merge(task):
        return task, None
    if merge_here.is_served(client, task):
        return (_awaited(client, task), None) if _saving(client).places_of(task.id) else (task, None)
    pipeline = merge_here.known_pipeline(client, task)
    if pipeline is None:
        return task, (
            f"Not merged yet: no worker serves {task.pipeline}, and it is not installed here. To name it: --target "
            "module:pipeline"
        )
    return merge_here.merge_here(client, task, pipeline, display(wanted=not invocation.json)), None


def _awaited(client: Client, task: Task) -> Task:
    try:
        return client.wait(task.id, SERVED_SECONDS)
    except TimeoutError:
        return client.get(task.id)


def _saved(client: Client, task: Task) -> Rewritten:
    from fanfold.running.many_files.saved_results import rewrite

    return rewrite(client, task, _saving(client))


def _saving(client: Client) -> Any:
    from fanfold.running.many_files.saving import Saving

    return Saving(client.store.settings.data_folder)
