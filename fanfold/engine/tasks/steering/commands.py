"""Carries out commands: pause, resume, cancel, retry, rerun, merge and delete, each in one transaction under the lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from fanfold.engine.credits.price import Retried, price_of_rerun, price_of_retry
from fanfold.engine.installed import find_installed
from fanfold.engine.queries.task_view import held_of
from fanfold.engine.tasks.many_items.leftovers import NotReady, remove_retired
from fanfold.engine.tasks.many_items.merge_without_held import give_up_held
from fanfold.engine.tasks.many_items.reset_items import LargeReset, Noted, Unfinished, finish_reset, note_ahead
from fanfold.engine.tasks.moving.advance import compensate, enter
from fanfold.engine.tasks.moving.copy_items import TRIES, make_ready
from fanfold.engine.tasks.moving.counts import Ahead, Begun, StageCounts, count_ahead
from fanfold.engine.tasks.moving.transitions import Pipelines, mirror_of, move
from fanfold.engine.tasks.moving.used_up import refuse_resume
from fanfold.engine.tasks.steering.delete import finish_removal, remove
from fanfold.engine.tasks.steering.gate_answers import take_answer
from fanfold.engine.tasks.steering.redo import Redo, rerun, retry
from fanfold.engine.tasks.steering.set_budget import is_outdated
from fanfold.engine.tasks.submitting.submission import check_mapping
from fanfold.engine.tasks.submitting.unlock import NewInputs, renewed, taken_out
from fanfold.engine.templates import with_templates
from fanfold.errors import BadInput, IllegalMove, NotFound
from fanfold.model.lifecycle import TASK_MOVES, ItemState, TaskState, legal, refusal
from fanfold.model.plan import ON_CANCELLED
from fanfold.model.progress import Counts
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.model.text.texts import check_keys, check_reason
from fanfold.model.words import Facts, available_commands, objection, plain_commands
from fanfold.store.items.count import Marks
from fanfold.store.rows.templates import UsedTemplate
from fanfold.store.store import Store, Transaction

AFTER_RESET = ("retry", "rerun", "merge")
"""Commands that read items: an earlier decided reset of many items is carried out first."""
PutBack = Callable[..., Any]
Before = Callable[[int], Any]


class _Refused(Exception):
    """The command is not possible. Its sentence is composed outside the transaction."""

    def __init__(self, row: TaskRow, fact: str) -> None:
        super().__init__(fact)
        self.row = row
        self.fact = fact


class Commands:
    """A person's commands on tasks, by number."""

    def __init__(self, store: Store, pipelines: Pipelines, actor: str = "person") -> None:
        self.store = store
        self.pipelines = pipelines
        self.actor = actor

    def pause(self, number: int, reason: str | None = None) -> bool:
        """active → paused. Writes one row, whatever the number of items; workers hand back running items.

        False if the reason is a budget that was raised meanwhile: the task continues. This is checked under its lock.
        """
        check_reason(reason)
        return bool(self._do(number, "pause", partial(self._pause, reason=reason)))

    def resume(self, number: int, answer: Mapping[str, Any] | None = None, stage: str | None = None) -> None:
        """paused or waiting → active. A gate that asks needs an ``answer``, which is checked and stored in this transaction.

        With ``stage``, only if the task stands there: two people may answer, and the second must not pass the next gate.
        """
        self._do(number, "resume", lambda tx, row: self._resume(tx, row, answer, stage))

    def cancel(self, number: int, reason: str | None = None) -> None:
        """→ cancelled; if the pipeline has a step on_cancelled, the task is active in it first."""
        check_reason(reason)
        self._do(
            number, "cancel", lambda tx, row, begun: self._cancel(tx, row, reason, begun), before=self._look_for_begun
        )

    def merge(self, number: int) -> None:
        """Continue to the next merge without failed and held items; pass its gate; or merge again. Missing items are counted.

        Held items fail with the reason why they were held. Items that still run are waited for.
        """
        self._do(number, "merge", self._merge, before=self._count)

    def retry(
        self,
        number: int,
        keys: Sequence[str] = (),
        stage: str | None = None,
        options: dict[str, Any] | None = None,
        *,
        degraded: bool = False,
        task_options: dict[str, Any] | None = None,
    ) -> int:
        """Failed, named or degraded items → pending; done items stay done. Returns how many."""
        check_mapping(task_options or {}, "task_options")
        keys = check_keys(keys, "`items`")
        if options is not None:
            check_mapping(options, "options")
        if degraded and keys:
            raise BadInput(say("items_or_degraded"))
        options, used = self._with_templates(number, options)
        task_options, used_by_task = self._with_templates(number, task_options)
        with self._without_secrets(number, options) as (plain, inputs):
            retried = Retried(keys, plain or {}, task_options or {})
            price = price_of_retry(self.store, self.pipelines, number, retried)
            redo = Redo(keys, stage, plain, degraded, inputs, task_options, (*used, *used_by_task), price)

            def act(tx: Transaction, row: TaskRow, noted: Noted | None) -> int:
                return retry(tx, self.pipelines, row, self.actor, redo, noted)

            return int(self._put_back(number, "retry", act, named=degraded or bool(keys)))

    def _with_templates(
        self, number: int, options: dict[str, Any] | None
    ) -> tuple[dict[str, Any] | None, tuple[UsedTemplate, ...]]:
        """The options with the name of a template replaced by its text, and the versions used."""
        with self.store.read() as tx:
            row = tx.tasks.get(number) if options else None
        pipeline = None if row is None else self.pipelines.get(row.pipeline) or find_installed(row.pipeline)
        return (options, ()) if pipeline is None or options is None else with_templates(self.store, pipeline, options)

    @contextmanager
    def _without_secrets(
        self, number: int, options: dict[str, Any] | None
    ) -> Iterator[tuple[dict[str, Any], NewInputs | None]]:
        """The options to store, and the inputs with the secrets applied, before any transaction."""
        with self.store.read() as tx:
            row = tx.tasks.get(number) if options else None
        if row is None:
            yield dict(options or {}), None
            return
        pipeline = self.pipelines.get(row.pipeline) or find_installed(row.pipeline)
        plain, secrets = taken_out(pipeline, options)
        if secrets:
            self._check_first(row)
        with renewed(self.store, row, secrets) as inputs:
            yield plain, inputs

    def _check_first(self, row: TaskRow) -> None:
        """Refuse an impossible retry before a file is unlocked for it; the transaction checks again."""
        try:
            with self.store.read() as tx:
                self._check(tx, row, "retry", named=False)
        except _Refused as refused:
            raise self._refusal(row, "retry", refused.fact) from None

    def rerun(self, number: int) -> None:
        """Start over from the first stage; all results and the options of particular items are dropped.

        The stages are those of the current code, so the pipeline must be known here or installed.
        """
        with self.store.read() as tx:
            row = tx.tasks.get(number)
        # Loading an installed pipeline runs foreign code, which must not happen in a transaction.
        known = None if row is None else self.pipelines.get(row.pipeline) or find_installed(row.pipeline)
        price = price_of_rerun(self.store, known, number)

        def act(tx: Transaction, row: TaskRow, noted: Noted | None) -> None:
            rerun(tx, self.pipelines, known, row, self.actor, noted, price)

        self._put_back(number, "rerun", act, named=True)

    def delete(self, number: int) -> None:
        """Remove the task for good, with its items, events and files."""
        if not self._do(number, "delete", self._delete):
            finish_removal(self.store, self.pipelines, self.actor, number)

    def _pause(self, tx: Transaction, row: TaskRow, reason: str | None) -> bool:
        if is_outdated(tx, row.number, reason):
            return False
        self._move(tx, row, "pause", TaskState.PAUSED, reason=reason)
        return True

    def _do(self, number: int, verb: str, act: PutBack, *, named: bool = False, before: Before | None = None) -> Any:
        """One transaction under the task's lock. ``before`` reads many items ahead, and ``act`` gets its result."""

        def decide(tx: Transaction, known: Sequence[Any]) -> Any:
            row = tx.tasks.lock(number)
            if row is None:
                raise NotFound(say("deleted_meanwhile"))
            if row.plan.mirrored:
                mirror_of(self.pipelines, row)
            if row.resetting is not None and verb in AFTER_RESET:
                raise Unfinished(number)
            self._check(tx, row, verb, named)
            return act(tx, row, *known)

        for _ in range(TRIES):
            try:
                known = () if before is None else (before(number),)
                return self.store.transact(partial(decide, known=known))
            except LargeReset:
                raise
            except _Refused as refused:
                raise self._refusal(refused.row, verb, refused.fact) from None
            except NotReady as problem:
                if not make_ready(self.store, problem):
                    raise IllegalMove(say("moving_on")) from None
        raise IllegalMove(say("steered_by_others"))

    def _put_back(self, number: int, verb: str, act: PutBack, *, named: bool) -> Any:
        """Reset items. Many are noted before the task moves, and reset after it."""
        noted: Noted | None = None
        for _ in range(TRIES):
            try:
                done = self._do(number, verb, partial(act, noted=noted), named=named)
            except LargeReset as large:
                noted = note_ahead(self.store, large)
            else:
                if noted is not None:
                    finish_reset(self.store, number)
                remove_retired(self.store, number)
                return done
        raise IllegalMove(say("steered_by_others"))

    def _check(self, tx: Transaction, row: TaskRow, verb: str, named: bool) -> None:
        """Refuse an impossible command. The lock is held, so this costs the same for 10 items and for 10 million."""
        allowed = legal(TASK_MOVES, row.state, verb)
        facts = Facts(row.state, row.stage, row.plan, Counts(), row.ending, failed_items=1, start_at=row.start_at)
        if (verb == "retry" and not named) or (verb == "merge" and row.state is TaskState.ACTIVE):
            # Held items count only in the current stage, failed ones in any.
            held = tx.settling.count_held(row.number, row.stage, 1)
            failed = any(tx.items.any_in(row.number, stage.name, (ItemState.FAILED,)) for stage in row.plan.stages)
            facts = replace(facts, failed_items=int(failed), held=held)
        fact = objection(facts, verb) if allowed else ""
        if allowed and verb == "delete" and row.parent is not None and (parent := tx.tasks.get(row.parent)) is not None:
            fact = say("delete_parent", parent=parent.id)
        if not allowed or fact:
            raise _Refused(row, fact)

    def _refusal(self, row: TaskRow, verb: str, fact: str) -> IllegalMove:
        """Why a command is refused, and what is possible instead. Counts all items."""
        with self.store.read() as tx:
            facts = facts_of(tx, row)
        said = refusal(row.id, row.state, verb, plain_commands(facts), fact)
        return IllegalMove(said, available_commands=available_commands(facts))

    def _count(self, number: int) -> Ahead | None:
        """The counts that a merge needs."""
        with self.store.read() as tx:
            row = tx.tasks.get(number)
            return None if row is None or row.state is TaskState.WAITING else count_ahead(tx, row)

    def _look_for_begun(self, number: int) -> Begun | None:
        """What a cancel needs to know about a task that was compensated before."""
        with self.store.read() as tx:
            row = tx.tasks.get(number)
            if row is None or not row.plan.on_cancelled or not row.generation:
                return None
            return Begun.look(tx, row)

    def _move(
        self,
        tx: Transaction,
        row: TaskRow,
        verb: str,
        target: TaskState,
        *,
        reason: str | None = None,
        stage: str | None = None,
        **values: Any,
    ) -> None:
        stored = {"reason": reason} if verb == "pause" else {}
        move(
            tx, self.pipelines, row, verb, target, actor=self.actor, stage=stage, reason=reason, values=stored | values
        )

    def _resume(
        self, tx: Transaction, row: TaskRow, answer: Mapping[str, Any] | None, stage: str | None = None
    ) -> None:
        if stage is not None and stage != row.stage:
            raise IllegalMove(say("gate_passed", task=row.id, stage=stage, place=row.stage))
        if row.state is TaskState.PAUSED:
            refuse_resume(tx, row)
        reason = take_answer(tx, row, answer, self.actor)
        self._move(tx, row, "resume", TaskState.ACTIVE, reason=reason)

    def _cancel(self, tx: Transaction, row: TaskRow, reason: str | None, begun: Begun | None) -> None:
        if row.plan.on_cancelled and self._costs(tx, row, begun) and compensate(tx, row, ON_CANCELLED):
            self._move(
                tx, row, "cancel", TaskState.ACTIVE, reason=reason, stage=ON_CANCELLED, ending=TaskState.CANCELLED.value
            )
        else:
            self._move(tx, row, "cancel", TaskState.CANCELLED, reason=reason)

    def _costs(self, tx: Transaction, row: TaskRow, begun: Begun | None) -> bool:
        """Whether there may be something to compensate: after a compensation, only if an item has started since."""
        return not row.generation or (begun or Begun.look(tx, row)).is_so(tx, row)

    def _merge(self, tx: Transaction, row: TaskRow, ahead: Ahead | None) -> None:
        if row.state is TaskState.WAITING:
            self._move(tx, row, "merge", TaskState.ACTIVE)
        elif row.state is TaskState.COMPLETED:
            last, counts = row.plan.last_merge(), StageCounts(tx, row, ahead)
            enter(tx, self.pipelines, row, last, actor=self.actor, verb="merge", through_gate=True, counts=counts)
        elif row.state is TaskState.ACTIVE:
            counts = StageCounts(tx, row, ahead, tx.events.last(row.number))
            self._go_on_without_held(tx, row, counts)
        else:
            self._go_on(tx, row, StageCounts(tx, row, ahead))

    def _go_on_without_held(self, tx: Transaction, row: TaskRow, counts: StageCounts) -> None:
        """Fail the held items and accept those failures: now if nothing else is open, otherwise once the open items finish."""
        given_up = give_up_held(tx, row, self.actor)
        if not tx.items.is_open(row.number, row.stage):
            counts.given_up(row.stage, given_up)
            return self._go_on(tx, row, counts)
        plan = row.plan.passing({row.stage: tx.items.count_failed(row.number, row.stage)}).to_json()
        reason = say("merged_without_held", count=given_up, stage=row.stage)
        self._move(tx, row, "merge", TaskState.ACTIVE, reason=reason, plan=plan)

    def _go_on(self, tx: Transaction, row: TaskRow, counts: StageCounts) -> None:
        """Continue from a partial stage into the next one, accepting all failures up to the next merge."""
        target = row.plan.next_merge(row.stage)
        assert target is not None, "checked before: a merge needs a next stage"
        way = row.plan.stages[row.plan.index(row.stage) : row.plan.index(target.name)]
        passed = {stage.name: counts.of(stage.name)[ItemState.FAILED] for stage in way}
        row = replace(row, plan=row.plan.passing(passed))
        following = row.plan.after(row.stage)
        enter(
            tx,
            self.pipelines,
            row,
            following,
            actor=self.actor,
            verb="merge",
            through_gate=following == target and not following.needs_answer,
            values={"plan": row.plan.to_json()},
            counts=counts,
        )

    def _delete(self, tx: Transaction, row: TaskRow) -> bool:
        return remove(tx, self.pipelines, row, "delete", self.actor)


def facts_of(tx: Transaction, row: TaskRow, served: bool = True) -> Facts:
    """The facts about a task for its texts and commands. Counts all of its items."""
    counts = tx.counting.counts([row.number]).get(row.number, {})
    failed = sum(counts.get(stage.name, Counts())[ItemState.FAILED] for stage in row.plan.stages)
    done = sum(counts.get(stage.name, Counts())[ItemState.DONE] for stage in row.plan.stages)
    timed = counts.get(row.stage, Counts())
    due = tx.reading.next_due_at(row.number) if timed[ItemState.RETRYING] or timed[ItemState.WAITING] else None
    held = held_of(row, tx.reading.held([row.number])) if timed[ItemState.WAITING] else (0, None)
    marks = tx.counting.marks([row.number]).get(row.number, Marks())
    facts = Facts(row.state, row.stage, row.plan, timed, row.ending, row.reason, failed, due, served, None, *held)
    return replace(facts, degraded=marks.degraded, accepted=marks.accepted, done_items=done, start_at=row.start_at)
