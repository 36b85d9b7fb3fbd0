"""What did a person say? Pause, resume, cancel, retry, rerun, merge and delete; each one transaction under the task's lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from fanfold.engine.advance import (
    LargeCopy,
    compensate,
    compensated,
    enter,
    new_generation,
    stage_counts,
    unfinished_stage,
)
from fanfold.engine.copying import TRIES, copy_ahead
from fanfold.engine.discovery import find_installed
from fanfold.engine.moves import Pipelines, mirror_of, move
from fanfold.engine.removal import finish_removal, remove
from fanfold.engine.submit import check_options
from fanfold.engine.views import held_of
from fanfold.errors import BadInput, IllegalMove, NotFound
from fanfold.model import serial
from fanfold.model.asking import laid_over
from fanfold.model.lifecycle import TASK_MOVES, ItemState, TaskState, legal, refusal
from fanfold.model.plan import ON_CANCELLED, Kind, Plan
from fanfold.model.progress import Counts
from fanfold.model.task import TaskRow
from fanfold.model.words import Facts, available_commands, objection
from fanfold.store.store import Store, Transaction


class Commands:
    """A person's commands on tasks, by number."""

    def __init__(self, store: Store, pipelines: Pipelines, actor: str = "person") -> None:
        self.store = store
        self.pipelines = pipelines
        self.actor = actor

    def pause(self, number: int, reason: str | None = None) -> None:
        """active → paused. One row is written, whatever the number of items; workers hand back what runs."""
        self._do(number, "pause", lambda tx, row: self._move(tx, row, "pause", TaskState.PAUSED, reason=reason))

    def resume(self, number: int) -> None:
        """paused or waiting → active."""
        self._do(number, "resume", lambda tx, row: self._move(tx, row, "resume", TaskState.ACTIVE))

    def cancel(self, number: int, reason: str | None = None) -> None:
        """→ cancelled; or active in the step on_cancelled first, where the pipeline has one."""
        self._do(number, "cancel", lambda tx, row: self._cancel(tx, row, reason))

    def merge(self, number: int) -> None:
        """Go on to the next merge without what failed; through its gate; or merge again. What is missing is counted."""
        self._do(number, "merge", self._merge)

    def retry(
        self,
        number: int,
        keys: Sequence[str] = (),
        stage: str | None = None,
        options: dict[str, Any] | None = None,
        *,
        degraded: bool = False,
    ) -> int:
        """Failed items, or the named or the degraded ones, → pending; what is done stays done. Returns how many."""
        if degraded and keys:
            raise BadInput("Name the items to redo, or ask for the degraded ones, not both.")
        named = degraded or bool(keys)
        return int(
            self._do(number, "retry", lambda tx, row: self._retry(tx, row, keys, stage, options, degraded), named=named)
        )

    def rerun(self, number: int) -> None:
        """Start over from the first stage; the results so far are thrown away, and so are options of single items.

        The stages are those of the code as it is now, where this process knows the pipeline.
        """
        self._do(number, "rerun", self._rerun)

    def delete(self, number: int) -> None:
        """Remove the task for good, with its items, events and files."""
        if not self._do(number, "delete", self._delete):
            finish_removal(self.store, number)

    def _do(self, number: int, verb: str, act: Callable[[Transaction, TaskRow], Any], *, named: bool = False) -> Any:
        def decide(tx: Transaction) -> Any:
            row = tx.tasks.lock(number)
            if row is None:
                raise NotFound("The task was deleted meanwhile.")
            if row.plan.mirrored:
                mirror_of(self.pipelines, row)
            self._check(tx, row, verb, named)
            return act(tx, row)

        for _ in range(TRIES):
            try:
                return self.store.transact(decide)
            except LargeCopy as large:
                if not copy_ahead(self.store, large):
                    raise IllegalMove("The task is just moving on; try again in a moment.") from None
        raise IllegalMove("The task is steered by others at the same time; try again.")

    def _check(self, tx: Transaction, row: TaskRow, verb: str, named: bool) -> None:
        """Only a retry of whatever failed looks at the items: the other commands cost the same for 10 and for 10 million."""
        allowed = legal(TASK_MOVES, row.state, verb)
        facts = (
            facts_of(tx, row)
            if verb == "retry" and not named
            else Facts(row.state, row.stage, row.plan, Counts(), row.ending, failed_items=1)
        )
        fact = objection(facts, verb) if allowed else ""
        if not allowed or fact:
            raise IllegalMove(refusal(row.id, row.state, verb, available_commands(facts_of(tx, row)), fact))

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
        stored = {"reason": reason} if verb in ("pause", "resume") else {}
        move(
            tx, self.pipelines, row, verb, target, actor=self.actor, stage=stage, reason=reason, values=stored | values
        )

    def _cancel(self, tx: Transaction, row: TaskRow, reason: str | None) -> None:
        if row.plan.on_cancelled and self._costs(tx, row) and compensate(tx, row, ON_CANCELLED):
            self._move(
                tx, row, "cancel", TaskState.ACTIVE, reason=reason, stage=ON_CANCELLED, ending=TaskState.CANCELLED.value
            )
        else:
            self._move(tx, row, "cancel", TaskState.CANCELLED, reason=reason)

    def _costs(self, tx: Transaction, row: TaskRow) -> bool:
        """Whether there may be something to make up for: after a compensation only if anything was begun since."""
        return not row.generation or tx.items.begun_since(row.number, ("retry", "rerun"))

    def _merge(self, tx: Transaction, row: TaskRow) -> None:
        if row.state is TaskState.WAITING:
            self._move(tx, row, "merge", TaskState.ACTIVE)
        elif row.state is TaskState.COMPLETED:
            last = row.plan.last_merge()
            enter(tx, self.pipelines, row, last, actor=self.actor, verb="merge", through_gate=True)
        else:
            self._go_on(tx, row)

    def _go_on(self, tx: Transaction, row: TaskRow) -> None:
        """From a partial stage to the next one, which is not repeated, nor passed over; what failed on the way is passed."""
        counts = stage_counts(tx, row)
        target = row.plan.next_merge(row.stage)
        assert target is not None, "the objection to a merge says so"
        way = row.plan.stages[row.plan.index(row.stage) : row.plan.index(target.name)]
        passed = {stage.name: counts.get(stage.name, Counts())[ItemState.FAILED] for stage in way}
        row = replace(row, plan=row.plan.passing(passed))
        following = row.plan.after(row.stage)
        enter(
            tx,
            self.pipelines,
            row,
            following,
            actor=self.actor,
            verb="merge",
            through_gate=following == target,
            values={"plan": row.plan.to_json()},
        )

    def _retry(
        self,
        tx: Transaction,
        row: TaskRow,
        keys: Sequence[str],
        stage: str | None,
        options: dict[str, Any] | None,
        degraded: bool,
    ) -> int:
        if row.ending and row.state is TaskState.ACTIVE:
            return self._release_held(tx, row)
        counts = stage_counts(tx, row)
        if degraded:
            wanted = stage or self._degraded_stage(tx, row)
        else:
            wanted = stage or (self._stage_of(row, keys) if keys else self._failed_stage(row, counts))
        if wanted not in [planned.name for planned in row.plan.stages]:
            row.plan.stage(wanted)
            raise BadInput(f"{wanted} runs once per task, when the task ends; it can not be retried by itself.")
        ids = self._named(tx, row, wanted, keys) if keys else None
        if degraded:
            ids = tx.reading.degraded_ids(row.number, wanted)
        if options and (pipeline := self.pipelines.get(row.pipeline) or find_installed(row.pipeline)):
            check_options(pipeline, laid_over(serial.load(row.options) or {}, options))
        overrides = None if not options else serial.dump(options, "The options")
        moved = tx.resetting.retry(row.number, wanted, ids, overrides, row.plan.followers(wanted))
        if keys and moved < len(set(keys)):
            raise IllegalMove(
                f"Some of these items of task {row.id} are pending or being worked on; wait for them, or pause the task."
            )
        if stage and not moved:
            raise IllegalMove(f"Task {row.id} has nothing to redo in {wanted}: name done items of it with --item.")
        # Never forward: what is open in an earlier stage would be left behind.
        back = row.plan.index(wanted) < row.plan.index(row.stage)
        target = TaskState.PAUSED if row.state is TaskState.PAUSED else TaskState.ACTIVE
        reason = f"{moved} items of {wanted}" + (f": {', '.join(keys[:20])}" if keys else "")
        clear: dict[str, Any] = {"error_code": None, "error_message": None, "ending": None}
        if compensated(counts):
            clear |= new_generation(tx, row)
        move(
            tx,
            self.pipelines,
            row,
            "retry",
            target,
            actor=self.actor,
            stage=wanted if back else row.stage,
            reason=reason,
            values=clear,
        )
        return moved

    def _release_held(self, tx: Transaction, row: TaskRow) -> int:
        """A compensation step that waits for a person goes on; it stays a compensation."""
        moved = tx.resetting.retry(row.number, row.stage, None)
        self._move(tx, row, "retry", TaskState.ACTIVE, reason=f"{row.stage} goes on", stage=row.stage)
        return moved

    def _stage_of(self, row: TaskRow, keys: Sequence[str]) -> str:
        each = [stage.name for stage in row.plan.stages if stage.kind is Kind.EACH]
        if not each:
            raise BadInput(
                f"Task {row.id} has no stage with many items; retry it without naming items: fanfold retry {row.id}"
            )
        return each[-1] if row.stage not in each else row.stage

    def _degraded_stage(self, tx: Transaction, row: TaskRow) -> str:
        marked = tx.reading.degraded([row.number]).get(row.number, {})
        for stage in row.plan.stages:
            if stage.name in marked:
                return stage.name
        raise IllegalMove(f"Task {row.id} can not be retried like this: none of its items is degraded.")

    def _failed_stage(self, row: TaskRow, counts: Any) -> str:
        """Where the task stands, if anything failed there: what failed before was passed. Else the first stage with failures."""
        for stage in (row.plan.stage(row.stage), *row.plan.stages):
            if counts.get(stage.name, Counts())[ItemState.FAILED]:
                return stage.name
        return unfinished_stage(row, counts)

    def _named(self, tx: Transaction, row: TaskRow, stage: str, keys: Sequence[str]) -> list[int]:
        ids = tx.reading.ids(row.number, stage, keys)
        if len(ids) < len(set(keys)):
            known = {item.key for item in tx.reading.page(row.number, stage=stage, keys=keys, limit=len(keys))}
            unknown = [key for key in dict.fromkeys(keys) if key not in known]
            raise NotFound(
                f"Task {row.id} has no item {', '.join(unknown)} in {stage}. To see them: fanfold items {row.id}"
            )
        return ids

    def _rerun(self, tx: Transaction, row: TaskRow) -> None:
        plan = self._plan_now(row)
        known = {stage.name: stage for stage in (*row.plan.stages, *plan.stages)}
        first = plan.stages[0]
        others = [name for name in known if name != first.name or first.kind is not Kind.EACH]
        tx.items.delete(row.number, others)
        if first.kind is Kind.EACH:
            tx.resetting.start_over(row.number, first.name)
        row = replace(row, plan=plan)
        values = {**new_generation(tx, row), "plan": plan.to_json()}
        enter(tx, self.pipelines, row, first, actor=self.actor, verb="rerun", values=values)

    def _plan_now(self, row: TaskRow) -> Plan:
        """The plan of the code as it is now, where this process knows it; else the task's own, with nothing passed."""
        pipeline = self.pipelines.get(row.pipeline) or find_installed(row.pipeline)
        if pipeline is None:
            return row.plan.passing({stage.name: 0 for stage in row.plan.stages})
        plan = pipeline.plan()
        first, before = plan.stages[0], row.plan.stages[0]
        if Kind.EACH in (first.kind, before.kind) and (first.name, first.kind) != (before.name, before.kind):
            raise IllegalMove(
                f"Task {row.id} began with {before.name}, and its pipeline begins with {first.name} now: submit it again."
            )
        same = [stage.name for stage in plan.stages] == [stage.name for stage in row.plan.stages]
        straight = same and not any(stage.gate for stage in row.plan.stages)
        return plan.without_gates() if straight else plan

    def _delete(self, tx: Transaction, row: TaskRow) -> bool:
        return remove(tx, self.pipelines, row, "delete", self.actor)


def facts_of(tx: Transaction, row: TaskRow, served: bool = True) -> Facts:
    """What is known of a task, for its words and commands."""
    counts = stage_counts(tx, row)
    failed = sum(counts.get(stage.name, Counts())[ItemState.FAILED] for stage in row.plan.stages)
    timed = counts.get(row.stage, Counts())
    due = tx.reading.next_due_at(row.number) if timed[ItemState.RETRYING] or timed[ItemState.WAITING] else None
    held = held_of(row, tx.reading.held([row.number])) if timed[ItemState.WAITING] else (0, None)
    return Facts(row.state, row.stage, row.plan, timed, row.ending, row.reason, failed, due, served, None, *held)
