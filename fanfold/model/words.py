"""What does a person see, and what may they do? State words, wait reasons and commands, computed from the table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fanfold.model.lifecycle import COMMANDS, TASK_MOVES, ItemState, TaskState, legal
from fanfold.model.plan import Kind, Plan
from fanfold.model.progress import Counts


@dataclass(frozen=True)
class Facts:
    """What is known of a task when its words are chosen."""

    state: TaskState
    stage: str
    plan: Plan
    counts: Counts
    ending: str | None = None
    reason: str | None = None
    failed_items: int = 0
    next_due_at: datetime | None = None
    served: bool = True
    trouble: str | None = None
    """Why one of the items that wait for their next try failed the last time."""
    held: int = 0
    """How many items of the stage wait for a person."""
    hold: str | None = None
    """Why one of them does."""


def state_word(facts: Facts) -> str:
    """The word for a task's state: `pending`, `splitting`, `ready to merge`, `downloading`, `retrying`, `partial` …"""
    if facts.state not in (TaskState.ACTIVE, TaskState.WAITING):
        return facts.state
    if facts.ending:
        return "compensating"
    stage = facts.plan.stage(facts.stage)
    if facts.state is TaskState.WAITING:
        return stage.ready if stage.kind is Kind.MERGE else "waiting"
    if not facts.counts.started:
        return stage.ready
    if stage.kind is not Kind.EACH and facts.counts[ItemState.RETRYING]:
        return "retrying"
    return stage.doing


def available_commands(facts: Facts) -> tuple[str, ...]:
    """The commands that are possible now, in the order of the table."""
    return tuple(verb for verb in COMMANDS if legal(TASK_MOVES, facts.state, verb) and not objection(facts, verb))


def objection(facts: Facts, verb: str) -> str:
    """Why a command that the table allows in this state makes no sense for this task; empty if it does."""
    if facts.ending and facts.state is TaskState.ACTIVE and verb in ("pause", "cancel", "retry"):
        if verb == "retry" and facts.held:
            return ""
        return f"its {facts.stage} step is still running"
    if verb == "merge":
        return _merge_objection(facts)
    if (
        verb == "retry"
        and facts.state in (TaskState.ACTIVE, TaskState.WAITING, TaskState.PAUSED, TaskState.COMPLETED)
        and not facts.failed_items
        and not facts.held
    ):
        return "none of its items has failed; name the ones to redo with --item"
    return ""


def _merge_objection(facts: Facts) -> str:
    last = facts.plan.last_merge()
    if last is None:
        return "its pipeline has no merge"
    if facts.state is TaskState.WAITING and facts.plan.stage(facts.stage).kind is not Kind.MERGE:
        return f"it waits before {facts.stage}, which is no merge"
    if facts.state is TaskState.PARTIAL and facts.plan.next_merge(facts.stage) is None:
        return f"no merge follows {facts.stage}"
    behind = facts.plan.stages[facts.plan.index(last.name) :]
    split = next((stage.name for stage in behind if stage.kind is Kind.SPLIT), None)
    if facts.state is TaskState.COMPLETED and split:
        return f"{split} follows its last merge and would run again"
    return ""


def wait_reason(facts: Facts) -> str | None:
    """Why nothing happens right now, or what waits for a person; None when all goes well."""
    counts = facts.counts
    if facts.state is TaskState.WAITING:
        return f"waits for you before {facts.stage}"
    if facts.state is TaskState.PAUSED:
        return f"paused: {facts.reason}" if facts.reason else "paused"
    if facts.state is TaskState.PARTIAL:
        failed = facts.counts[ItemState.FAILED]
        return f"{failed} failed: retry them" + ("" if _merge_objection(facts) else ", or merge without them")
    if facts.state is TaskState.ACTIVE and facts.held:
        many = "1 item waits" if facts.held == 1 else f"{facts.held} items wait"
        return f"{many} for you: {facts.hold or 'no reason was kept'}"
    if facts.state is not TaskState.ACTIVE or counts[ItemState.RUNNING]:
        return None
    if counts[ItemState.PENDING]:
        return None if facts.served else f"no worker serves stage {facts.stage}"
    if counts[ItemState.RETRYING] or counts[ItemState.WAITING]:
        cause = "an external job" if counts[ItemState.WAITING] else "the next try"
        when = f" at {facts.next_due_at:%H:%M:%S} UTC" if facts.next_due_at else ""
        return f"waits for {cause}{when}" + (f": {facts.trouble}" if facts.trouble else "")
    return None
