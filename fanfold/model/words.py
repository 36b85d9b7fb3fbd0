"""Derives what people see of a task: state words, wait reasons and possible commands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil

from fanfold.model.lifecycle import COMMANDS, RETRIED_BY_NAME, TASK_MOVES, ItemState, TaskState, legal
from fanfold.model.money.batch import NONE_BATCHED, LaneCounts
from fanfold.model.pipelines.gates import asked_by
from fanfold.model.plan import Kind, Plan
from fanfold.model.progress import Counts
from fanfold.model.text.sentences import Sentence, say

PATIENCE_SECONDS = 600.0
"""A task that has waited for a service for longer than this is listed among what needs a person."""
RATE_LIMITED, UNREACHABLE, QUOTA = "rate_limited", "unreachable", "quota_used_up"
SOON_SECONDS = 600.0
"""A next attempt within this time is shown in seconds, a later one as a time of day."""
ACCEPT = "accept"
"""The command that accepts degraded results. It moves nothing, so it is not in the table of moves."""


@dataclass(frozen=True)
class Trouble:
    """Why an item that waits for its next try last failed, and how long it has been waiting."""

    message: str | None
    code: str | None = None
    by: str | None = None
    """The service that it waits for, if known."""
    since: datetime | None = None
    """Since when it has been waiting through no fault of its own."""
    stuck_since: datetime | None = None
    """The same for an item that has waited longer than PATIENCE_SECONDS; None if there is none."""
    others_move: bool = False
    """Whether another item, which does not wait like this, is running."""


@dataclass(frozen=True)
class Facts:
    """The facts about a task from which its words are chosen."""

    state: TaskState
    stage: str
    plan: Plan
    counts: Counts
    ending: str | None = None
    reason: str | None = None
    failed_items: int = 0
    next_due_at: datetime | None = None
    served: bool = True
    trouble: Trouble | None = None
    """The last failure of the item that is retried next."""
    held: int = 0
    """How many items of the stage wait for a person."""
    hold: str | None = None
    """Why one of them does."""
    now: datetime | None = None
    """The database's time."""
    degraded: int = 0
    """How many items of the task are done with a degraded result."""
    read_only: bool = False
    """Whether the database refuses writes, as after a failover; then no worker can report either."""
    done_items: int = 0
    """How many items are done, in all stages: they can be redone by name."""
    accepted: int = 0
    """How many of the degraded items a person has accepted."""
    gathers_decisions: bool = False
    """Whether its merge is due again, in a moment: more decisions may come."""
    batched: LaneCounts = NONE_BATCHED
    """How many of its questions are in the batch lane."""
    start_at: datetime | None = None
    """When it starts, if it was submitted for later."""
    subtasks: tuple[int, str] = (0, "")
    """How many unfinished subtasks its items wait for, and the id of one of them."""

    @property
    def unaccepted(self) -> int:
        """How many degraded items nobody has accepted."""
        return self.degraded - self.accepted


def state_word(facts: Facts) -> str:
    """The application's word for a task's state. An application that renames `waiting` has that word at every gate."""
    words = dict(facts.plan.task_words)
    usual = usual_word(facts)
    if facts.state is TaskState.WAITING and TaskState.WAITING in words:
        usual = TaskState.WAITING
    return words.get(usual, usual)


def phase(facts: Facts) -> str:
    """The current part of the work, in the application's words; for a completed task, its last phase."""
    if facts.state is TaskState.COMPLETED:
        return facts.plan.done_phase
    stage = facts.plan.stage(facts.stage)
    return stage.phase or stage.name


def usual_word(facts: Facts) -> str:
    """The usual word: `pending`, `splitting`, `ready to merge`, `downloading`, `retrying`, `partial` …"""
    if facts.state not in (TaskState.ACTIVE, TaskState.WAITING):
        return facts.state
    if facts.ending:
        return "compensating"
    stage = facts.plan.stage(facts.stage)
    if facts.state is TaskState.WAITING and facts.start_at is not None:
        return "scheduled"
    if facts.state is TaskState.WAITING:
        return stage.ready if stage.kind is Kind.MERGE else "waiting"
    if not facts.counts.started or facts.counts.queued or facts.gathers_decisions:
        return stage.ready
    if stage.kind is not Kind.EACH and facts.counts[ItemState.RETRYING]:
        return stage.retrying
    return stage.doing


def available_commands(facts: Facts) -> tuple[str, ...]:
    """The commands that are possible now, in the order of the table, and last the one that moves nothing.

    Includes a retry of done items, which must be named.
    """
    named = replace(facts, failed_items=facts.failed_items or facts.done_items)
    moves = (verb for verb in COMMANDS if legal(TASK_MOVES, facts.state, verb) and not objection(named, verb))
    return (*moves, ACCEPT) if facts.unaccepted else tuple(moves)


def plain_commands(facts: Facts) -> tuple[str, ...]:
    """The possible commands that need only the task: a retry only if there is something to retry."""
    return tuple(verb for verb in available_commands(facts) if verb == ACCEPT or not objection(facts, verb))


def objection(facts: Facts, verb: str) -> str:
    """Why a command that the table allows is not possible for this task; empty if it is possible."""
    if facts.ending and facts.state is TaskState.ACTIVE and verb in ("pause", "cancel", "retry", "merge"):
        if verb == "retry" and facts.held:
            return ""
        return say("step_running", stage=facts.stage)
    if facts.state is TaskState.WAITING and facts.start_at is not None and verb in ("retry", "rerun", "merge"):
        return say("not_started_yet")
    if verb == "merge":
        return _merge_objection(facts)
    if verb == "retry" and facts.state in RETRIED_BY_NAME and not facts.failed_items and not facts.held:
        return say("none_failed")
    return ""


def _merge_objection(facts: Facts) -> str:
    last = facts.plan.last_merge()
    if last is None:
        return say("no_merge")
    if facts.state is TaskState.WAITING and facts.plan.stage(facts.stage).kind is not Kind.MERGE:
        return say("waits_before_no_merge", stage=facts.stage)
    if facts.state is TaskState.WAITING and facts.plan.stage(facts.stage).needs_answer:
        return say("gate_needs_answer", stage=facts.stage)
    if facts.state is TaskState.ACTIVE and not facts.held:
        return say("merges_by_itself")
    if facts.state is TaskState.ACTIVE and facts.plan.stage(facts.stage).kind is not Kind.EACH:
        return say("cannot_go_on_without", stage=facts.stage)
    if facts.state in (TaskState.ACTIVE, TaskState.PARTIAL) and facts.plan.next_merge(facts.stage) is None:
        return say("no_merge_follows", stage=facts.stage)
    behind = facts.plan.stages[facts.plan.index(last.name) :]
    split = next((stage.name for stage in behind if stage.kind is Kind.SPLIT), None)
    if facts.state is TaskState.COMPLETED and split:
        return say("split_follows_merge", stage=split)
    return ""


def wait_reason(facts: Facts) -> str | None:
    """Why nothing happens right now, or what waits for a person; None if all is well."""
    counts = facts.counts
    if facts.state is TaskState.WAITING and facts.start_at is not None:
        return say("starts_at", at=facts.start_at, now=facts.now)
    if facts.state is TaskState.WAITING and (asked := asked_by(facts.plan.stage(facts.stage).asks)):
        return say("waits_for_answer", stage=facts.stage, names=[option.title for option in asked.values()])
    if facts.state is TaskState.WAITING:
        return say("waits_before", stage=facts.stage)
    if facts.state is TaskState.PAUSED:
        return say("paused_because", why=facts.reason) if facts.reason else say("paused")
    if facts.state is TaskState.PARTIAL:
        failed = facts.counts[ItemState.FAILED]
        return (
            say("failed_retry", count=failed) if _merge_objection(facts) else say("failed_retry_or_merge", count=failed)
        )
    if facts.state is TaskState.ACTIVE and facts.held:
        return _hold(facts)
    if facts.state is not TaskState.ACTIVE or facts.reason:
        return facts.reason if facts.state is TaskState.ACTIVE else None
    timed = counts[ItemState.RETRYING] or counts[ItemState.WAITING]
    if not facts.served and not counts[ItemState.RUNNING] and (counts[ItemState.PENDING] or (timed and _is_due(facts))):
        return _not_served(facts)
    trouble = facts.trouble
    if trouble is not None and trouble.by and not trouble.others_move:
        return say("waits_for_service", what=_wait_for(trouble, facts.now), next_try=_next_try(facts))
    if counts[ItemState.RUNNING] or counts[ItemState.PENDING] or not timed:
        return None
    if facts.gathers_decisions:
        return say("gathers_decisions")
    return _timed(facts, trouble)


def _not_served(facts: Facts) -> Sentence:
    if facts.read_only:
        return say("takes_no_writes")
    takes = facts.plan.stage(facts.stage).takes
    return (
        say("not_served_by_tick", stage=facts.stage, seconds=takes) if takes else say("not_served", stage=facts.stage)
    )


def _timed(facts: Facts, trouble: Trouble | None) -> Sentence:
    """The wait reason if every open item of the stage waits for its due time."""
    if facts.batched.open:
        return in_batches(facts.batched)
    count, one = facts.subtasks
    if count:
        return say("waits_for_subtasks", count=count, task=one)
    external, at, now = facts.counts[ItemState.WAITING], facts.next_due_at, facts.now
    if at is None:
        what = say("waits_external") if external else say("waits_next_try")
    elif external:
        what = say("waits_external_until", at=at, now=now)
    else:
        what = say("waits_next_try_until", at=at, now=now)
    return say("because", what=what, why=trouble.message) if trouble and trouble.message else what


def batched_where(counts: LaneCounts) -> list[Sentence]:
    """How many questions of a task are where in the batch lane."""
    places = (
        (counts.sent, say("questions_at_service", count=counts.sent)),
        (counts.sending, say("questions_being_sent", count=counts.sending)),
        (counts.collected, say("questions_to_be_sent", count=counts.collected)),
    )
    return [told for count, told in places if count]


def in_batches(counts: LaneCounts) -> Sentence:
    """Where the questions of a task are in the batch lane, and why those that should be asked live still wait."""
    what = say("waits_for_batch", where=batched_where(counts))
    if counts.shared:
        what = say("waits_for_shared_batch", what=what, count=counts.shared)
    elif counts.later_live:
        what = say("waits_for_cancelled_batch", what=what, count=counts.later_live)
    return say("batch_in_trouble", what=what, why=counts.trouble) if counts.trouble else what


def _hold(facts: Facts) -> Sentence:
    """Why items wait for a person, and what a person can do."""
    ways = {
        "retry": say("retry_held", count=facts.held),
        "merge": say("merge_without_held", count=facts.held),
        "cancel": say("cancel_task"),
    }
    possible = available_commands(facts)
    told = [way for verb, way in ways.items() if verb in possible]
    return say("items_held", count=facts.held, why=facts.hold or say("no_reason_kept"), ways=told)


def _is_due(facts: Facts) -> bool:
    """Whether the next timed item could run now. Until then no worker is missing: a timer may start a tick in time."""
    return facts.next_due_at is None or facts.now is None or facts.next_due_at <= facts.now


def needs_you(facts: Facts) -> str | None:
    """Why the task needs a person; None if it does not."""
    if facts.state is TaskState.WAITING and facts.start_at is not None:
        return None
    if facts.state in (TaskState.WAITING, TaskState.PAUSED, TaskState.PARTIAL) or facts.held:
        return wait_reason(facts)
    if facts.state is TaskState.ACTIVE and facts.reason:
        return wait_reason(facts)
    if facts.state is TaskState.COMPLETED and facts.unaccepted:
        return say("degraded_waits", count=facts.unaccepted)
    trouble = facts.trouble
    if facts.state is not TaskState.ACTIVE or trouble is None or trouble.stuck_since is None:
        return None
    since, now = trouble.stuck_since, facts.now
    if trouble.by is None:
        return say("waits_since", since=since, now=now, why=trouble.message)
    unreachable = trouble.code == UNREACHABLE
    what = say("unreachable", service=trouble.by) if unreachable else _wait_for(trouble, now)
    return say("service_since", what=what, since=since, now=now, service=trouble.by)


def _wait_for(trouble: Trouble, now: datetime | None) -> Sentence:
    if trouble.code == RATE_LIMITED:
        return say("rate_limited", service=trouble.by)
    if trouble.code == QUOTA:
        return say("quota_used_up", service=trouble.by)
    if trouble.code == UNREACHABLE and trouble.since:
        return say("unreachable_since", service=trouble.by, since=trouble.since, now=now)
    return say("waits_for", service=trouble.by)


def _next_try(facts: Facts) -> Sentence:
    left = (facts.next_due_at - facts.now).total_seconds() if facts.next_due_at and facts.now else 0.0
    if left > SOON_SECONDS:
        return say("next_try_at", at=facts.next_due_at, now=facts.now)
    return say("next_try", seconds=ceil(left)) if left > 0 else say("trying_now")
