"""`fanfold show`: shows one task in detail."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from fanfold.model.money.budgets import waits_for_budget
from fanfold.model.money.questions import cost_of_calls
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal import result_output as results
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.model.task import Task


@click.command("show", cls=Command)
@click.argument("task_id", metavar="ID")
@click.pass_obj
def command(invocation: Invocation, task_id: str) -> None:
    """Show a task: state, stages, failures and the commands possible now."""
    client = invocation.client()
    task = client.get(task_id)
    if invocation.json:
        printing.print_json(task)
        return
    printing.print_fields(fields(task))
    click.echo()
    printing.print_table(("stage", "kind", "items", "states"), map(stage_row, task.stages), right=("items",))
    if failures := client.failures(task.id):
        click.echo()
        printing.print_table(
            ("failed", "times", "code", "why"), [(s, n, c, why) for s, c, why, n in failures], right=("times",)
        )
    if task.asks is not None:
        click.echo()
        printing.print_table(("asked", "kind", "values", "default", "meaning"), asked(task))
    if answers := client.answers(task.id):
        click.echo()
        rows = [
            (one.stage, json.dumps(one.answer, ensure_ascii=False), one.actor, printing.short_time(one.at))
            for one in answers
        ]
        printing.print_table(("answered before", "answer", "by", "at"), rows)
    if task.degraded:
        click.echo()
        results.list_degraded(client, task, err=False)
    if task.available_commands:
        click.echo(f"\nPossible now: {', '.join(ways_on(task))}")


def ways_on(task: Task) -> list[str]:
    """The commands that are possible now. If the budget is used up, only raising it helps, so that comes first."""
    needs_names = {verb: " --item KEY" for verb in task.available_commands if verb not in task.plain_commands}
    if task.asks is not None:
        needs_names["resume"] = "".join(f" --answer {name}=…" for name in task.asks["required"])
    ways = [f"fanfold {verb} {task.id}{needs_names.get(verb, '')}" for verb in task.available_commands]
    return [f"fanfold budget {task.id} --raise AMOUNT", *ways] if waits_for_budget(task.wait_reason) else ways


def fields(task: Task) -> list[tuple[str, Any]]:
    """Fields of a task as label and value."""
    done = f"{task.done} of {task.total} done" if task.total > 1 else ""
    failed = f"{task.failed_step or task.failed} failed" if task.failed else ""
    degraded = results.marked(task, "degraded") if task.degraded else ""
    return [
        ("id", task.id), ("title", task.title), ("pipeline", task.pipeline), ("status", task.status),
        ("subtask of", origin(task)), ("subtasks", below(task)), ("changed since", task.changed_subtasks),
        ("progress", ", ".join(filter(None, (f"{task.progress:.0f} %", done, failed, degraded, task.message)))),
        ("waits", task.wait_reason), ("needs you", task.needs_you if task.needs_you != task.wait_reason else ""),
        ("still running", task.still_running), ("error", task.error_message), ("missing", task.missing or ""),
        ("inputs", ", ".join(getattr(value, "name", None) or json.dumps(value, ensure_ascii=False) for value in task.inputs)),
        ("options", json.dumps(task.options, ensure_ascii=False) if task.options else ""),
        ("metadata", json.dumps(task.metadata, ensure_ascii=False) if task.metadata else ""),
        ("owner", task.owner), ("tags", ", ".join(task.tags)), ("key", task.key), ("priority", task.priority or ""),
        ("retries", task.retries or ""), ("cost", spent(task)), ("created", printing.short_time(task.created_at)),
        ("started", printing.short_time(task.started_at)), ("finished", printing.short_time(task.finished_at)),
        ("took", took(task)),
    ]  # fmt: skip


def asked(task: Task) -> list[tuple[str, ...]]:
    """What a gate asks, as table rows."""
    found: list[tuple[str, ...]] = []
    for name, known in (task.asks or {})["properties"].items():
        one = known.get("items", known)
        bounds = [str(one[bound]) if bound in one else "" for bound in ("minimum", "maximum")]
        values = ", ".join(one.get("enum", ())) or ("…".join(bounds) if any(bounds) else "")
        default = json.dumps(known["default"], ensure_ascii=False) if "default" in known else "(must be answered)"
        found.append((name, known["x-kind"], values, default, known["description"]))
    return found


def origin(task: Task) -> str:
    """The task that it is a subtask of, and the item that submitted it."""
    item = f" ({task.parent_stage} {task.parent_item})" if task.parent_item else ""
    return f"{task.parent}{item}" if task.parent else ""


def below(task: Task) -> str:
    """How many subtasks it has, and the command that lists them."""
    counts = ", ".join(f"{count} {state}" for state, count in task.subtasks.items())
    return f"{counts}: fanfold tasks --parent {task.id}" if counts else ""


def spent(task: Task) -> str:
    """Cost of the task's model calls, and the model that answered last."""
    if not task.spending:
        return ""
    saved = f", {task.spending.cached} from the cache" if task.spending.cached else ""
    return f"{cost_of_calls(task.spending)}{saved}; last: {task.spending.model}"


def took(task: Task) -> str:
    """How long it took, once it is finished."""
    if task.started_at is None or task.finished_at is None:
        return ""
    return printing.duration((task.finished_at - task.started_at).total_seconds())


def stage_row(stage: Any) -> tuple[str, ...]:
    """A stage as a table row."""
    return (
        stage.name,
        stage.kind,
        str(stage.total or ""),
        ", ".join(f"{n} {state}" for state, n in stage.counts.items()),
    )
