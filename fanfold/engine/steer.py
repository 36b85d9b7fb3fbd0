"""What steers a task: each command of the client finds the task, moves it, and returns it as it is afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fanfold.engine.queries.lookup import Lookup
from fanfold.engine.tasks.steering.accept_degraded import Keep, accept
from fanfold.engine.tasks.steering.commands import Commands
from fanfold.engine.tasks.steering.decide import Deciding
from fanfold.engine.tasks.steering.delete import SLICE_SECONDS, late_after
from fanfold.engine.tasks.steering.external_decisions import Wish, decide
from fanfold.engine.tasks.steering.follow_parent import follow_parents
from fanfold.engine.tasks.steering.set_budget import BudgetChange, change_budget
from fanfold.engine.tasks.steering.set_lane import set_lane
from fanfold.errors import NotFound
from fanfold.model.decision import NewDecision
from fanfold.model.task import Task
from fanfold.model.text.sentences import say
from fanfold.model.text.texts import check_chosen, check_text

ACTOR_LENGTH = 100


class Steering:
    """The commands of a client, for tasks by their (short) ids."""

    def __init__(self, lookup: Lookup, commands: Commands) -> None:
        self.lookup = lookup
        self.commands = commands
        self.store, self.pipelines, self.actor = lookup.store, commands.pipelines, commands.actor

    def pause(self, task_id: str, reason: str | None = None) -> Task:
        """Start nothing new and hand back running items."""
        return self._command(task_id, lambda number: self.commands.pause(number, reason))

    def resume(self, task_id: str, answer: Mapping[str, Any] | None = None, *, stage: str | None = None) -> Task:
        """Continue; pass the gate if the task waits at one.

        A gate that asks (``Task.asks``) needs an ``answer``: it is checked before it is taken, and stored with who and when.
        With ``stage``, only if the task still waits before that stage: the answer was meant for that gate and no other.
        """
        return self._command(task_id, lambda number: self.commands.resume(number, answer, stage))

    def cancel(self, task_id: str, reason: str | None = None) -> Task:
        """Stop for good."""
        return self._command(task_id, lambda number: self.commands.cancel(number, reason))

    def raise_budget(
        self,
        task_id: str,
        by: Any = None,
        to: Any = None,
        *,
        strict: bool | None = None,
        allow_unknown_cost: bool | None = None,
    ) -> Task:
        """Raise the budget of a task by an amount, or set it to one, in US dollars; None leaves a rule unchanged.

        A task that was paused because its budget was used up continues.
        """
        change = BudgetChange(by, to, strict, allow_unknown_cost)
        return self._command(
            task_id, lambda number: change_budget(self.store, self.pipelines, number, change, self.actor)
        )

    def retry(
        self,
        task_id: str,
        items: Sequence[str] | None = None,
        *,
        stage: str | None = None,
        options: dict[str, Any] | None = None,
        degraded: bool = False,
        task_options: dict[str, Any] | None = None,
    ) -> Task:
        """Redo failed items, or the named ones (even if done); ``options`` override the task's own for them.

        An empty list of ``items`` is refused: leave it out to redo all that failed.
        ``degraded=True`` redoes only items with a degraded result, of the first stage that has any. ``task_options`` change the
        task's own options in the same transaction, for all stages.
        """
        keys = check_chosen(items)
        return self._command(
            task_id,
            lambda number: self.commands.retry(
                number, keys, stage, options, degraded=degraded, task_options=task_options
            ),
        )

    def rerun(self, task_id: str) -> Task:
        """Start over, with the stages of the current code: the pipeline must be among ``pipelines`` or installed."""
        return self._command(task_id, self.commands.rerun)

    def merge(self, task_id: str) -> Task:
        """Merge now, or again, with the existing results."""
        return self._command(task_id, self.commands.merge)

    def accept(
        self, task_id: str, items: Sequence[str] | None = None, *, stage: str | None = None, reason: str | None = None
    ) -> Task:
        """Accept degraded results as they are: all of them, or those of the named items.

        They stay marked, and count in ``accepted``. A redo that is degraded again must be accepted again.
        """
        keep = Keep(check_chosen(items), stage, reason)
        return self._command(task_id, lambda number: accept(self.store, number, keep, self.actor))

    def decide(
        self,
        task_id: str,
        item: str,
        part: str,
        verdict: str,
        value: Any = None,
        *,
        stage: str | None = None,
        actor: str | None = None,
    ) -> Task:
        """Accept, reject or replace a part of an item's output, or ``undo`` that; the last merge then runs again shortly.

        ``part`` is a key made from the content (``part_key``). ``value`` belongs to ``replace``; None replaces the part with
        nothing.
        """
        return self.decide_many(task_id, [NewDecision(item, part, verdict, value)], stage=stage, actor=actor)

    def decide_many(
        self,
        task_id: str,
        decisions: Iterable[NewDecision | Mapping[str, Any]],
        *,
        stage: str | None = None,
        actor: str | None = None,
    ) -> Task:
        """The same for many parts, with one merge: all are checked before any is stored."""
        who = check_text(self.actor if actor is None else actor, "The actor", least=1, most=ACTOR_LENGTH)
        return self._command(
            task_id, lambda number: Deciding(self.store, self.pipelines, number, who).decide(decisions, stage)
        )

    def external(
        self,
        task_id: str,
        verb: str,
        items: Sequence[str] | None = None,
        *,
        stage: str | None = None,
        reason: str | None = None,
    ) -> Task:
        """Decide about external jobs whose outcome is unknown, or about those of the named items.

        ``check`` asks the service again now. ``lost`` means that no job was started, or that it was lost: the next one gets a
        new key. ``resend`` starts it again with the same key, for services that deduplicate.
        """
        wish = Wish(verb, check_chosen(items), stage, reason)
        return self._command(task_id, lambda number: decide(self.store, number, wish, self.actor))

    def set_lane(self, task_id: str, lane: str) -> Task:
        """Ask the models for the rest of a task `live`, in a `batch` at a lower price, or `auto`: as the deadline allows.

        With ``live``, a batch without questions of other tasks is cancelled at the service. Its answers so far are used.
        """
        return self._command(task_id, lambda number: set_lane(self.store, number, lane, self.actor))

    def delete(self, task_id: str) -> None:
        """Remove the task with all its files."""
        self.commands.delete(self.lookup.row(task_id).number)

    def _command(self, task_id: str, act: Callable[[int], object]) -> Task:
        number = self.lookup.row(task_id).number
        act(number)
        follow_parents(self.store, self.pipelines, self.actor, number, late_after(SLICE_SECONDS))
        with self.store.read() as tx:
            row = tx.tasks.get(number)
        if row is None:
            raise NotFound(say("task_deleted", task=task_id))
        return self.lookup.view(row)
