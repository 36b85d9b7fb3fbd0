"""Renders the fragments of a task's page, for both the page and its stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fanfold.engine.client import Client
from fanfold.engine.queries.money.budgets import BudgetQueries
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.engine.take_action import offered
from fanfold.model.lifecycle import TaskState
from fanfold.model.money.estimates import is_sampled
from fanfold.model.pipelines.actions import Action
from fanfold.model.pipelines.options import Option
from fanfold.model.task import Event, StageSpan, Task
from fanfold.model.words import ACCEPT
from fanfold.server.app_state import AppState
from fanfold.server.watching.memo import Once
from fanfold.server.web.frame.languages import Words
from fanfold.server.web.frame.model_choices import choices
from fanfold.server.web.frame.templating import fragment
from fanfold.server.web.task import task_header as headline
from fanfold.server.web.task.failures import asks_models, groups, shortfalls
from fanfold.server.web.task.gate_form import gate_fields
from fanfold.server.web.task.retry_form import fields_of
from fanfold.server.web.task.retry_form import shown as default_of
from fanfold.server.web.task.ways_out import may_switch, way_out

SPANS: Once[tuple[StageSpan, ...]] = Once(200)


@dataclass(frozen=True)
class ShownTask:
    """A task for one kind of reader."""

    place: AppState
    client: Client
    words: Words
    task: Task
    may_change: bool
    seconds_left: float | None = None


def spans_of(client: Client, task: Task) -> tuple[StageSpan, ...]:
    """Durations of the stages; queried again only when the task has moved to another stage."""
    seen = (task.id, task.stage, task.state, task.started_at, task.finished_at)
    return SPANS.get(client.store, seen, lambda: WebQueries(client.lookup).stages(task.id))


HELD = 50
"""Jobs waiting for a person that are shown."""
COUNTED = 20_000
"""Largest number of items for which the models are listed; more would cost too much at every change."""


def head_html(shown: ShownTask) -> str:
    """The head of the page and the counts below the grid."""
    task = shown.task
    way = way_out(shown.client, task)
    return fragment(
        "_task_head.html",
        shown.words,
        task=task,
        may_change=shown.may_change,
        seconds_left=shown.seconds_left,
        strip=headline.strip(task, spans_of(shown.client, task)),
        commands=_commands(shown, same_helps=way.same),
        download=headline.download(task),
        forms=headline.forms_of(shown.client, task),
        actions=action_fields(shown),
        choices=choices(shown.place, task) if shown.may_change and _can_go_on_otherwise(task) else (),
        switches=choices(shown.place, task) if shown.may_change and may_switch(shown.client, task) else (),
        way=way,
        makers=WebQueries(shown.client.lookup).makers(task.id) if 0 < task.done <= COUNTED else {},
        took=headline.took(task),
        counts=grid_counts(task),
        unit=headline.unit_of(shown.client, task),
        budget=BudgetQueries(shown.client.lookup).of(task),
        gate=gate_fields(shown.client, task),
        sampled=shown.client.extrapolate(task.id) if is_sampled(task.wait_reason) else None,
    )


def _can_go_on_otherwise(task: Task) -> bool:
    """Whether a paused task has items that another model could do."""
    return task.state is TaskState.PAUSED and headline.has_items(task)


def _commands(shown: ShownTask, *, same_helps: bool) -> list[headline.OfferedCommand]:
    """Buttons of the head. The accept button is further down, beside the reasons."""
    found = headline.commands(shown.task, shown.words, same_helps=same_helps) if shown.may_change else []
    return [command for command in found if command.verb != ACCEPT]


def action_fields(shown: ShownTask) -> list[tuple[Action, list[tuple[Option, str]]]]:
    """The application's actions possible now, each with its options and field values."""
    found = offered(shown.client, shown.task) if shown.may_change else []
    return [(one, [(option, default_of(option, None)) for option in one.options.values()]) for one in found]


def failures_html(shown: ShownTask) -> str:
    """Held items, failures with reasons, and degraded items."""
    return held_html(shown) + failed_html(shown) + degraded_html(shown)


def held_html(shown: ShownTask) -> str:
    """Items that wait for a person; those with external jobs have buttons to resolve them."""
    task, t = shown.task, shown.words
    jobs = [job for job in shown.client.external_jobs(task.id) if job.held] if task.held else []
    twice = t("If it was started after all, it is done and paid for twice.")
    verbs = (
        ("check", t("ask the service again"), ""),
        ("lost", t("it was not started: start another"), twice),
        (
            "resend",
            t("start it again with the same key"),
            t("The service must recognise the key; otherwise it is done twice."),
        ),
    )
    unit = headline.unit_of(shown.client, task)
    return fragment("_held.html", t, task=task, unit=unit, jobs=jobs[:HELD], verbs=verbs, may_change=shown.may_change)


def degraded_html(shown: ShownTask) -> str:
    """Degraded items with reasons, and the form to redo them with another model."""
    task = shown.task
    again = task.unaccepted or task.degraded
    return fragment(
        "_degraded.html",
        shown.words,
        task=task,
        unit=headline.unit_of(shown.client, task),
        shortfalls=shortfalls(shown.client, task.id, shown.words) if task.degraded else [],
        may_retry_degraded=shown.may_change and task.state is not TaskState.CANCELLED,
        choices=choices(shown.place, task) if shown.may_change and task.degraded else (),
        again=again,
        ask=headline.ask_retry(task, again, shown.words) if again else "",
    )


def failed_html(shown: ShownTask) -> str:
    """What failed and why."""
    task = shown.task
    found = groups(shown.client, task.id) if headline.failed_items(task) else []
    fields = fields_of(shown.client, task, shown.words) if shown.may_change and found else []
    return fragment(
        "_failures.html",
        shown.words,
        task=task,
        failed=max(headline.failed_items(task), sum(group.count for group in found)),
        groups=found,
        others=headline.failed_items(task) - sum(group.count for group in found),
        may_retry=shown.may_change and "retry" in task.available_commands,
        choices=choices(shown.place, task) if shown.may_change else (),
        fields=fields,
        same_helps=way_out(shown.client, task).same,
        helping={group.mark: [one for one in fields if one.helps(group.code)] for group in found},
        of_items={group.mark for group in found if headline.is_each(task, group.stage)},
        by_model={group.mark for group in found if asks_models(shown.client, task, group)},
    )


def events_html(task: Task, events: Sequence[Event], words: Words) -> str:
    """Rows of the list of events."""
    return fragment("_events.html", words, task=task, events=events)


def grid_counts(task: Task) -> dict[str, int]:
    """Item counts by state for the task's main stage, in lifecycle order."""
    order = ("done", "degraded", "running", "retrying", "waiting", "pending", "failed")
    found = next((stage for stage in task.stages if stage.name == task.counted), None)
    if found is None:
        return {}
    marked = min(task.degraded, found.counts.get("done", 0))
    counts = found.counts | {"degraded": marked, "done": found.counts.get("done", 0) - marked}
    return {state: counts[state] for state in order if counts.get(state)}
