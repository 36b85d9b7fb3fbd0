"""The head of a task's page: stages with durations, commands with their effects, and costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from fanfold.engine.client import Client
from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.money.budgets import waits_for_budget
from fanfold.model.money.estimates import is_sampled
from fanfold.model.money.questions import Spending, money
from fanfold.model.pipelines.forms import Form
from fanfold.model.plan import Kind
from fanfold.model.task import StageSpan, StageView, Task
from fanfold.server.web.frame.languages import Words

FEW = 10
"""Items retried without confirmation, unless they cost more than this in dollars."""
COSTLY = 0.5
VISIBLE = ("resume", "pause", "merge", "retry", "accept", "cancel")
KEYS = {"pause": "p", "resume": "p", "retry": "r", "merge": "m"}
LABELS = {"rerun": "start over", "accept": "keep as it is"}
ITEM = ("item", "items")


@dataclass(frozen=True)
class OfferedCommand:
    """A button: its command, label, shortcut key and confirmation question."""

    verb: str
    label: str
    key: str = ""
    confirm: str = ""
    yes: str = ""
    dangerous: bool = False
    primary: bool = False
    in_menu: bool = False
    """Whether it is in the menu although others of its kind are not."""

    @property
    def visible(self) -> bool:
        """Whether it is shown directly and not in the menu."""
        return self.verb in VISIBLE and not self.in_menu


@dataclass(frozen=True)
class Strip:
    """One stage in the strip: its state, progress and duration."""

    name: str
    state: str
    done: int
    failed: int
    total: int
    seconds: float | None
    is_each: bool
    is_now: bool


def has_items(task: Task) -> bool:
    """Whether the task was split into items, even just one; a single step has no options of its own."""
    return any(stage.kind == Kind.EACH and stage.total for stage in task.stages)


def is_each(task: Task, stage: str) -> bool:
    """Whether a stage works on items and not on the whole task."""
    return any(one.name == stage and one.kind == Kind.EACH for one in task.stages)


def strip(task: Task, spans: Sequence[StageSpan]) -> list[Strip]:
    """The stages in order."""
    names = [stage.name for stage in task.stages]
    here = names.index(task.stage) if task.stage in names else len(names)
    made = []
    for at, stage in enumerate(task.stages):
        done, failed = stage.counts.get(ItemState.DONE, 0), stage.counts.get(ItemState.FAILED, 0)
        settled = stage.total > 0 and done + failed == stage.total and (at < here or task.finished)
        state = _stage_state(task, at == here, settled, failed, stage.total)
        kept = [span for span in spans if span.stage == stage.name]
        seconds = sum((_end(span, task) - span.started_at).total_seconds() for span in kept) if kept else None
        made.append(Strip(stage.name, state, done, failed, stage.total, seconds, stage.kind == Kind.EACH, at == here))
    return made


def _stage_state(task: Task, is_now: bool, settled: bool, failed: int, total: int) -> str:
    if settled:
        return "failed" if failed == total else "partial" if failed else "done"
    if not is_now:
        return "pending"
    return {TaskState.ACTIVE: "running", TaskState.COMPLETED: "done"}.get(task.state, str(task.state))


def _end(span: StageSpan, task: Task) -> datetime:
    """End of a stage, not later than the end of its task, because a timeline is at least a second long."""
    end = span.ended_at or datetime.now(UTC)
    return end if task.finished_at is None else max(span.started_at, min(end, task.finished_at))


def took(task: Task) -> float | None:
    """Duration so far, or in total."""
    if task.started_at is None:
        return None
    return ((task.finished_at or datetime.now(UTC)) - task.started_at).total_seconds()


def download(task: Task) -> str | None:
    """Download URL of the result, once there is one."""
    return f"/tasks/{task.id}/download" if task.state is TaskState.COMPLETED else None


def unit_of(client: Client, task: Task) -> tuple[str, str]:
    """The application's noun for items, singular and plural."""
    pipeline = client.pipelines.get(task.pipeline)
    return pipeline.unit if pipeline is not None else ITEM


def forms_of(client: Client, task: Task) -> tuple[Form, ...]:
    """The forms possible now; before the task is completed, only partial ones. Empty for an unknown pipeline."""
    pipeline = client.pipelines.get(task.pipeline)
    forms = tuple(pipeline.forms.values()) if pipeline is not None else ()
    if task.state is TaskState.COMPLETED:
        return forms
    return tuple(form for form in forms if form.partial) if task.done or task.failed else ()


def failed_items(task: Task) -> int:
    """Number of failed items over all stages."""
    return sum(map(_failed, task.stages))


def _failed(stage: StageView) -> int:
    return stage.counts.get(ItemState.FAILED, 0)


def commands(task: Task, t: Words, *, same_helps: bool = True) -> list[OfferedCommand]:
    """Buttons for the commands possible now, most important first.

    If retrying without changes does not help, ``same_helps`` is false: retry goes into the menu, without a shortcut.
    """
    # Before the merge both commands do the same, so one button is enough.
    at_merge = task.state is TaskState.WAITING and "merge" in task.available_commands
    hides = at_merge or task.asks is not None  # A gate that asks is passed with its form.
    made = [_command(task, verb, t) for verb in task.plain_commands if not (hides and verb == "resume")]
    if not same_helps:
        made = [replace(one, key="", primary=False, in_menu=True) if one.verb == "retry" else one for one in made]
    order = [*VISIBLE, "rerun", "delete"]
    return sorted(made, key=lambda command: order.index(command.verb) if command.verb in order else len(order))


def _command(task: Task, verb: str, t: Words) -> OfferedCommand:
    key = KEYS.get(verb, "")
    if verb == "retry":
        failed = failed_items(task)
        counted = failed and not any(_failed(stage) for stage in task.stages if stage.kind != Kind.EACH)
        label = t("retry {count} failed", count=failed) if counted else t("retry")
        return OfferedCommand(verb, label, key, ask_retry(task, failed, t), t("Retry"), primary=task.finished)
    if verb == "merge":
        anyway = task.state is TaskState.PARTIAL
        label = t("merge anyway") if anyway else t("merge again") if task.state is TaskState.COMPLETED else t("merge")
        sentence = _ask_merge(task, t) if anyway else ""
        return OfferedCommand(verb, label, key, sentence, t("Merge"), primary=task.state is TaskState.WAITING)
    if verb == "resume":
        # Raising the budget, or the button beside the estimate of a sample, comes first.
        others = waits_for_budget(task.wait_reason) or is_sampled(task.wait_reason)
        return OfferedCommand(verb, t("resume"), key, primary=not others)
    asked = {"cancel": _ask_cancel, "rerun": _ask_rerun, "delete": _ask_delete}.get(verb)
    label = t(LABELS.get(verb, verb))
    if asked is None:
        return OfferedCommand(verb, label, key)
    return OfferedCommand(verb, label, key, asked(task, t), label[:1].upper() + label[1:], dangerous=True)


def ask_retry(task: Task, items: int, t: Words) -> str:
    """Confirmation question for many or costly items; empty for a few."""
    if items < FEW and estimate(task, items) < COSTLY:
        return ""
    return _sentences(
        t("Retry: {count} items will be redone{cost}.", count=items, cost=about(task, items, t)),
        t("Finished items are kept. To stop: pause or cancel."),
    )


def _ask_merge(task: Task, t: Words) -> str:
    return _sentences(
        t("Merge: the result will lack {count} failed items.", count=failed_items(task)),
        t("What failed can be retried later; the merge then runs again."),
    )


def _ask_cancel(task: Task, t: Words) -> str:
    return _sentences(
        t(
            "Cancel: {count} of {total} items are unfinished and will not be processed.",
            count=task.open,
            total=task.total,
        )
        if task.open and task.total > 1
        else t("Cancel: no more work is done on this task."),
        t("Finished items are kept. To continue later: retry."),
    )


def _ask_rerun(task: Task, t: Words) -> str:
    items = max([task.total, *(stage.total for stage in task.stages)])
    return _sentences(
        t("Start over: {count} items will be redone{cost}.", count=items, cost=about(task, items, t))
        if items > 1
        else t("Start over: everything will be redone{cost}.", cost=about(task, items, t)),
        t("Existing results are discarded; this cannot be undone."),
    )


def _ask_delete(task: Task, t: Words) -> str:
    return _sentences(
        t("Delete “{title}” with its items, results and files.", title=task.title), t("This cannot be undone.")
    )


def about(task: Task, items: int, t: Words) -> str:
    """Estimated cost text for the items, from the cost of finished ones; empty if unknown."""
    cost = estimate(task, items)
    return t(", about {cost}", cost=money(Spending(calls=1, cost=cost))) if cost else ""


def estimate(task: Task, items: int) -> float:
    """Estimated cost of the items in dollars, from the cost of finished ones; 0 if unknown."""
    return items * task.spending.cost / task.done if task.spending.cost and task.done else 0.0


def _sentences(*sentences: str) -> str:
    return "\n".join(sentence for sentence in sentences if sentence)
