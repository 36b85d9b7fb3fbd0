"""What lists of tasks are shown: which tasks have changed, come or gone since the last poll."""

from __future__ import annotations

from collections.abc import Callable, Collection

from fanfold.engine.queries.task_view import view
from fanfold.model.lifecycle import TaskState
from fanfold.model.task import Task, TaskRow
from fanfold.server.watching.snapshots import ListMoment, SettledRate, Watcher
from fanfold.store.rows.tasks import Filter
from fanfold.store.store import Store, Transaction

LATE_EVENTS = 1_000
"""Event ids to look back for late events, because workers may commit events out of id order."""
MOST_LISTED = 200
JUST_BEFORE = 50
REMEMBERED = 1_000
"""Tasks remembered for lists, to notice changes without an event and deletions."""


class ListedTasks:
    """The tasks that open lists show, as they were at the last poll. Used by one thread."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: dict[str, Task] = {}
        self._paces: dict[str, SettledRate] = {}
        self._newest: int | None = None
        self._touched: set[int] = set()

    def forget(self) -> None:
        """Nobody looks at a list: start afresh when somebody does."""
        self._known.clear()
        self._newest = None

    def look(self, tx: Transaction, lists: list[Watcher[ListMoment]], now: float, is_read: Callable[[], None]) -> None:
        """Offer each list what is new for it; ``is_read`` is called once everything was read, before any of it is offered."""
        found = {task.id: task for task in view(self.store, tx, list(self._worth_a_look(tx, lists).values()))}
        unseen = self._known.keys() - found.keys()
        gone = {id_: self._known[id_].owner for id_ in unseen - tx.tasks.existing(unseen)}
        changed = {id_: task for id_, task in found.items() if self._known.get(id_) != task}
        left = {id_: self._paces.setdefault(id_, SettledRate()).seconds_left(task, now) for id_, task in found.items()}
        is_read()
        self._remember(found, gone, {id_ for watcher in lists for id_ in watcher.ids})
        for watcher in lists:
            told = found if watcher.is_new and not watcher.ids else changed
            watcher.is_new = False
            mine = {id_: task for id_, task in told.items() if watcher.owner in (None, task.owner)}
            lost = frozenset(id_ for id_, owner in gone.items() if watcher.owner in (None, owner))
            if mine or lost:
                times = {id_: left[id_] for id_ in mine}
                watcher.offer(ListMoment(mine, lost, times, self._newest or 0))

    def _worth_a_look(self, tx: Transaction, lists: list[Watcher[ListMoment]]) -> dict[str, TaskRow]:
        """Tasks that may have changed: those with new events, those at work, and those newly displayed."""
        shown = {id_ for watcher in lists for id_ in watcher.ids}
        active = {id_ for id_, task in self._known.items() if task.state is TaskState.ACTIVE}
        rows = tx.tasks.by_ids(sorted(shown - self._known.keys() | active))
        rows += [row for number in self._newly_touched(tx) if (row := tx.tasks.get(number)) is not None]
        if any(not watcher.ids for watcher in lists):
            rows += tx.tasks.find(Filter(states=(TaskState.ACTIVE,), limit=MOST_LISTED))
        for owner in {watcher.owner for watcher in lists if watcher.is_new and not watcher.ids}:
            rows += tx.tasks.find(Filter(owner=owner, limit=MOST_LISTED))
        return {row.id: row for row in rows}

    def _remember(self, found: dict[str, Task], gone: Collection[str], shown: set[str]) -> None:
        """Remember the current tasks, latest last, and drop the oldest above the limit."""
        kept = {id_: task for id_, task in self._known.items() if id_ not in gone and id_ not in found} | found
        idle = [id_ for id_, task in kept.items() if id_ not in shown and task.state is not TaskState.ACTIVE]
        forgotten = set(idle[: max(0, len(kept) - REMEMBERED)])
        self._known = {id_: task for id_, task in kept.items() if id_ not in forgotten}
        self._paces = {id_: pace for id_, pace in self._paces.items() if id_ in self._known}

    def _newly_touched(self, tx: Transaction) -> set[int]:
        """Tasks with events since the last poll."""
        if self._newest is None:
            self._newest = tx.events.newest()
            recent = tx.events.touched(max(0, self._newest - LATE_EVENTS))
            self._touched = set(recent)
            # Events just before the first poll may have happened after the page was rendered.
            return set(list(recent.values())[-JUST_BEFORE:])
        found = tx.events.touched(max(0, self._newest - LATE_EVENTS))
        new = {event: task for event, task in found.items() if event not in self._touched}
        self._newest = max([self._newest, *new])
        self._touched = {event for event in found if event > self._newest - LATE_EVENTS}
        return set(new.values())
