"""The table of states and legal moves. Everything else about moves is derived from it.

Error texts, CHECK constraints, the triggers that refuse an illegal move, the diagram in the documentation, the
parametrised tests and the commands a page may offer all come from ``ITEM_MOVES`` and ``TASK_MOVES``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from fanfold.model.text.sentences import Sentence, say


class ItemState(StrEnum):
    """State in an item's row."""

    PENDING = "pending"
    RUNNING = "running"
    RETRYING = "retrying"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"


class TaskState(StrEnum):
    """State in a task's row; people see the words of ``fanfold.model.words``, derived from it."""

    ACTIVE = "active"
    WAITING = "waiting"
    PAUSED = "paused"
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Actor(StrEnum):
    """Who makes a move."""

    PERSON = "person"
    WORKER = "worker"
    SWEEP = "sweep"


@dataclass(frozen=True)
class Move:
    """One row of the table: a verb, the states it leads from and to, and who may use it."""

    verb: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    by: tuple[Actor, ...]
    why: str


PENDING, RUNNING, RETRYING = ItemState.PENDING, ItemState.RUNNING, ItemState.RETRYING
DONE = ItemState.DONE
ACTIVE, PAUSED, COMPLETED = TaskState.ACTIVE, TaskState.PAUSED, TaskState.COMPLETED
PARTIAL, CANCELLED = TaskState.PARTIAL, TaskState.CANCELLED
PERSON, WORKER, SWEEP = (Actor.PERSON,), (Actor.WORKER,), (Actor.SWEEP,)

OPEN_ITEMS = (PENDING, RUNNING, RETRYING, ItemState.WAITING)
"""States of items that keep their stage open."""
TIMED_ITEMS = (RETRYING, ItemState.WAITING)
"""States of items with a due time."""
SETTLED_ITEMS = (DONE, ItemState.FAILED)
FINISHED_TASKS = (COMPLETED, PARTIAL, TaskState.FAILED, CANCELLED)
"""States of tasks that only a person can move further."""

ITEM_MOVES = (
    Move(
        "claim",
        (PENDING, RETRYING, ItemState.WAITING),
        (RUNNING,),
        WORKER + PERSON,
        "a worker takes the item with a new lease; `merge` also claims the held items it leaves out: late results are refused",
    ),
    Move("finish", (RUNNING,), (DONE,), WORKER, "the handler returned a result"),
    Move(
        "fail",
        (RUNNING,),
        (RETRYING, ItemState.FAILED),
        WORKER + PERSON,
        "the handler raised: back off, or give up; `merge` fails the held items that it leaves out",
    ),
    Move("postpone", (RUNNING,), (ItemState.WAITING,), WORKER, "an external job is running: poll again later"),
    Move(
        "release",
        (RUNNING,),
        (PENDING,),
        WORKER + SWEEP,
        "handed back without a failure counted: pause, cancel or a stopping worker",
    ),
    Move(
        "reclaim",
        (RUNNING,),
        (PENDING, ItemState.FAILED),
        SWEEP + WORKER,
        "its worker died: it runs again, or fails as poison",
    ),
    Move(
        "retry",
        (DONE, ItemState.FAILED, RETRYING, ItemState.WAITING),
        (PENDING,),
        PERSON,
        "a person wants it redone",
    ),
    Move(
        "advance",
        (DONE, ItemState.FAILED, RUNNING, *TIMED_ITEMS),
        (PENDING,),
        WORKER + SWEEP + PERSON,
        "its stage starts again",
    ),
    Move(
        "decide",
        (DONE,),
        (ItemState.WAITING,),
        PERSON + WORKER + SWEEP,
        "decisions about merged results: the merge runs again after a short quiet time",
    ),
)

TASK_MOVES = (
    Move("submit", (), (ACTIVE, TaskState.WAITING), PERSON, "a new task, with its first items"),
    Move(
        "start",
        (TaskState.WAITING,),
        (ACTIVE, TaskState.WAITING),
        SWEEP,
        "its start time has come; if its first stage has a gate, it waits there for a person",
    ),
    Move(
        "advance",
        (ACTIVE,),
        (ACTIVE, TaskState.WAITING, COMPLETED, PARTIAL, TaskState.FAILED, CANCELLED),
        WORKER + SWEEP + PERSON,
        "a stage is over: the next one, a gate, or the end",
    ),
    Move(
        "on_move", (ACTIVE,), (ACTIVE,), WORKER + SWEEP, "a move was rolled back because on_move failed: it is retried"
    ),
    Move("pause", (ACTIVE,), (PAUSED,), PERSON + WORKER + SWEEP, "nothing new starts, running items are handed back"),
    Move(
        "resume",
        (PAUSED, TaskState.WAITING),
        (ACTIVE,),
        PERSON + SWEEP,
        "continue; pass the gate if it waits at one; a subtask that was paused with its parent continues with it",
    ),
    Move(
        "merge",
        (ACTIVE, TaskState.WAITING, PARTIAL, COMPLETED),
        (ACTIVE, TaskState.WAITING),
        PERSON,
        "continue to the next merge without failed and held items, or merge again with the existing results",
    ),
    Move(
        "decide",
        (TaskState.WAITING, COMPLETED),
        (ACTIVE,),
        PERSON,
        "decisions about merged results: back into the last merge; no other item is redone",
    ),
    Move(
        "decide",
        (ACTIVE,),
        (ACTIVE,),
        WORKER + SWEEP + PERSON,
        "decisions came during the merge: it merges once more before it advances",
    ),
    Move(
        "cancel",
        (ACTIVE, TaskState.WAITING, PAUSED, PARTIAL),
        (CANCELLED, ACTIVE),
        PERSON + SWEEP,
        "stop for good; active while on_cancelled runs; a subtask is cancelled with its parent",
    ),
    Move(
        "retry",
        (ACTIVE, TaskState.WAITING, *FINISHED_TASKS),
        (ACTIVE,),
        PERSON + WORKER,
        "redo failed or named items, keep the rest; a subtask, when the item that waits for it is redone",
    ),
    Move("retry", (PAUSED,), (PAUSED,), PERSON, "redo failed or named items once it is resumed"),
    Move(
        "rerun",
        (PAUSED, TaskState.WAITING, *FINISHED_TASKS),
        (ACTIVE, TaskState.WAITING),
        PERSON,
        "start over from the first stage",
    ),
    Move(
        "delete",
        (TaskState.WAITING, PAUSED, *FINISHED_TASKS),
        (),
        PERSON + SWEEP,
        "remove it with all its files and subtasks",
    ),
    Move("prune", FINISHED_TASKS, (), SWEEP + PERSON, "finished long ago: removed with all its files"),
)

MOVED_ALONG = ("advance", "decide", "prune")
"""Moves that a person causes indirectly: at the end of a stage, by a decision about a part of a result, or by `fanfold prune`."""
COMMANDS = tuple(
    dict.fromkeys(
        move.verb for move in TASK_MOVES if Actor.PERSON in move.by and move.sources and move.verb not in MOVED_ALONG
    )
)
"""Verbs that a person may use on a task, in the order of the table."""

RETRIED_BY_NAME = (ACTIVE, TaskState.WAITING, PAUSED, COMPLETED)
"""States in which a task without failed or held items can be retried only by naming the items to redo."""


def legal(moves: Iterable[Move], source: str, verb: str) -> bool:
    """Whether ``verb`` may be applied to something in state ``source``."""
    return any(move.verb == verb and source in move.sources for move in moves)


def sources(moves: Iterable[Move], verb: str) -> tuple[str, ...]:
    """The states that ``verb`` may start from, in the order of the table."""
    return tuple(dict.fromkeys(source for move in moves if move.verb == verb for source in move.sources))


def targets(moves: Iterable[Move], verb: str) -> tuple[str, ...]:
    """The states that ``verb`` may lead to."""
    return tuple(dict.fromkeys(target for move in moves if move.verb == verb for target in move.targets))


def pairs(moves: Iterable[Move]) -> tuple[tuple[str, str], ...]:
    """Every legal change of state as (from, to), sorted. Staying in a state is always legal."""
    return tuple(sorted({(str(a), str(b)) for move in moves for a in move.sources for b in move.targets if a != b}))


def diagram(moves: Iterable[Move]) -> str:
    """The table as a Mermaid state diagram, with one arrow per change of state."""
    arrows: dict[tuple[str, str], list[str]] = {}
    for move in moves:
        for source in move.sources or ("[*]",):
            for target in move.targets or ("[*]",):
                verbs = arrows.setdefault((source, target), [])
                verbs += [move.verb] if move.verb not in verbs else []
    lines = [f"    {source} --> {target}: {', '.join(verbs)}" for (source, target), verbs in arrows.items()]
    return "\n".join(["stateDiagram-v2", *lines])


def refusal(task_id: str, state: str, verb: str, possible: Sequence[str], fact: str = "") -> Sentence:
    """The error for an illegal command: the fact, what the command needs, and what is possible."""
    problem = fact or say("needs_state", verb=verb, states=sources(TASK_MOVES, verb))
    if not possible:
        return say("refused_for_good", task=task_id, state=state, problem=problem)
    ways = [f"fanfold {command} {task_id}" for command in possible]
    return say("refused", task=task_id, state=state, problem=problem, ways=ways)
