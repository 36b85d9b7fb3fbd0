"""No order of random commands, claims, endings and clock moves breaks an invariant, on the real store.

`FANFOLD_TEST_EXAMPLES` sets how many random histories are tried. Few by default: the simulation tries orders of statements too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from fanfold.engine.tasks.moving.advance import advance
from fanfold.engine.tasks.recovery.sweep import sweep
from fanfold.engine.tasks.steering.commands import Commands
from fanfold.engine.tasks.submitting.submission import Submission
from fanfold.engine.tasks.submitting.submit import submit
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.errors import FanfoldError, KeyReused
from fanfold.model.endings import Ending
from fanfold.model.item import NewItem
from fanfold.model.lifecycle import FINISHED_TASKS, TASK_MOVES, legal
from fanfold.model.plan import Kind
from tests.databases import Databases
from tests.engine.world import Attempt, Finish, Picture, SimulatedWorker, World
from tests.engine.world_rules import (
    check,
    check_claimed,
    check_settled,
    check_split,
    check_swept,
    has_duplicate,
    is_alive,
    is_held,
    text,
)
from tests.engine.world_shapes import Shape, made, shapes

Thing = TypeVar("Thing")
EXAMPLES = int(os.environ.get("FANFOLD_TEST_EXAMPLES", "20"))
STEPS = 50
MOST_TASKS, MOST_WORKERS = 4, 3
LONGEST_WAIT = 700.0
STEERING = ("pause", "resume", "cancel", "rerun", "merge", "retry")

picks = st.integers(0, 40)
outputs = st.sampled_from([None, "a", "b", "c"])
mishaps = st.sampled_from(["fail", "fail", "fail", "back_off", "uncounted", "postpone", "release", "reclaim"])
verbs = st.just("finish") | mishaps
yields = st.sampled_from([["x"], ["x", "y", "z"], [None, None], [], ["x", "x"]])
has_tasks = precondition(lambda self: bool(self.now.tasks))
has_workers = precondition(lambda self: bool(self.world.workers))


class AnyHistory(RuleBasedStateMachine):
    """Every rule acts on the real store, then compares what the database says with what it may say."""

    world: World

    def __init__(self) -> None:
        super().__init__()
        self.now: Picture = self.world.picture()
        self.sound = True

    @initialize(drawn=st.lists(shapes(), min_size=1, max_size=2))
    def begin(self, drawn: list[Shape]) -> None:
        self.world.begin({f"p{place}": made(f"p{place}", shape) for place, shape in enumerate(drawn)})
        self.commands = Commands(self.world.store, self.world.pipelines)
        self.keys: dict[str | None, tuple[int, Any]] = {}
        self.now = self.world.picture()
        self.hire()
        self.submit(0, 3, "mine")

    @precondition(lambda self: len(self.now.tasks) < MOST_TASKS)
    @rule(pick=picks, count=st.integers(1, 4), key=st.sampled_from(["mine", "yours", None]))
    def submit(self, pick: int, count: int, key: str | None) -> None:
        """The same key gives the same task, and no other work."""
        pipeline = chosen(self.world.pipelines, pick)
        first = pipeline.plan().stages[0]
        items = range(count) if first.kind is Kind.EACH else None
        work = (pipeline.name, items)
        known, known_work = self.keys.get(key, (None, None)) if key is not None else (None, None)
        if known in self.now.tasks and work != known_work:
            with pytest.raises(KeyReused):
                submit(self.world.store, pipeline, Submission(items=items, key=key))
            assert self.look() == self.now
            return
        number = submit(self.world.store, pipeline, Submission(items=items, key=key)).number
        before = self.look()
        if known in before.tasks:
            assert (number, before) == (known, self.now), f"{key} gave two tasks"
        else:
            assert number not in before.tasks
            self.keys[key] = (number, work)

    @precondition(lambda self: len(self.world.workers) < MOST_WORKERS)
    @rule()
    def hire(self) -> None:
        self.world.hire()
        self.look()

    @has_workers
    @rule(pick=picks)
    def beat(self, pick: int) -> None:
        """A sign of life that comes too late does not bring the leases back."""
        worker = self.worker(pick)
        in_time = is_alive(self.world, self.now, worker.id)
        assert self.world.beat(worker) is in_time
        before = self.look()
        assert before == self.now
        assert in_time or self.now.seen_at.get(worker.id) == before.seen_at.get(worker.id)

    @rule(seconds=st.sampled_from([None, 0.7, 5.3, 16.3, LONGEST_WAIT]))
    def let_time_pass(self, seconds: float | None) -> None:
        """None is until the next back-off is over, or the next external job wants a look."""
        due = [item["available_at"] for item in self.now.items.values() if item["available_at"]]
        if seconds is None:
            seconds = max(0.0, (min(due) - self.world.clock.time).total_seconds()) + 0.1 if due else 0.0
        self.world.clock.turn(seconds)

    @has_workers
    @rule(pick=picks, free=st.integers(1, 6), look=st.booleans())
    def claim(self, pick: int, free: int, look: bool) -> None:
        worker = self.worker(pick)
        claimed = self.world.turn(worker, [], free, look=look)
        before = self.look()
        assert len(claimed) <= free
        check_claimed(before, self.now, worker.id, {one.id for one in claimed}, self.world.clock.time)

    @precondition(lambda self: bool(self.live()))
    @rule(pick=picks, verb=verbs, output=outputs, keys=yields)
    def settle(self, pick: int, verb: str, output: str | None, keys: list[str | None]) -> None:
        """An attempt that still has its lease ends, whether or not its task still wants it."""
        self.end([(chosen_of(self.live(), pick), verb, output, keys)])

    @precondition(lambda self: bool(self.live()))
    @rule(pick=picks, heir=picks, verb=verbs, output=outputs, keys=yields)
    def thought_dead(self, pick: int, heir: int, verb: str, output: str | None, keys: list[str | None]) -> None:
        """A worker hangs past its lease, its items are reclaimed and claimed again, and then it reports."""
        attempt = chosen_of(self.live(), pick)
        self.world.clock.turn(16.3)
        self.sweep()
        others = [name for name in sorted(self.world.workers) if name != attempt.worker] or [attempt.worker]
        self.claim(sorted(self.world.workers).index(chosen_of(others, heir)), 6, True)
        self.end([(attempt, verb, output, keys)])

    @precondition(lambda self: bool(self.overtaken()))
    @rule(pick=picks, verb=verbs, output=outputs, keys=yields)
    def sent_back(self, pick: int, verb: str, output: str | None, keys: list[str | None]) -> None:
        """An item of an earlier stage is to be redone while one of the next stage runs, which then ends."""
        attempt, item = chosen_of(self.overtaken(), pick)
        self.retry(item)
        self.end([(attempt, verb, output, keys)])

    @precondition(lambda self: bool(self.unwanted()))
    @rule(pick=picks, verb=verbs, output=outputs, keys=yields)
    def settle_unwanted(self, pick: int, verb: str, output: str | None, keys: list[str | None]) -> None:
        """An attempt ends whose task was paused, cancelled or sent elsewhere meanwhile."""
        self.end([(chosen_of(self.unwanted(), pick), verb, output, keys)])

    @precondition(lambda self: bool(self.lost()))
    @rule(pick=picks, verb=verbs, output=outputs, keys=yields)
    def settle_late(self, pick: int, verb: str, output: str | None, keys: list[str | None]) -> None:
        """An attempt that was taken away ends, or one ends a second time: a worker that was thought dead reports."""
        self.end([(chosen_of(self.lost(), pick), verb, output, keys)])

    @has_workers
    @rule(pick=picks, output=outputs, keys=yields)
    def work_off(self, pick: int, output: str | None, keys: list[str | None]) -> None:
        """A good worker: claims what there is and finishes all of it in one batch."""
        self.claim_and_end(pick, "finish", output, keys)

    @has_workers
    @rule(pick=picks, verb=mishaps, count=st.integers(1, 3), output=outputs, keys=yields)
    def work_badly(self, pick: int, verb: str, count: int, output: str | None, keys: list[str | None]) -> None:
        """The same with mishaps: the first of them end otherwise."""
        self.claim_and_end(pick, verb, output, keys, count)
        if verb in ("back_off", "uncounted", "postpone"):
            self.let_time_pass(None)
            self.claim(pick, 6, True)

    def claim_and_end(self, pick: int, verb: str, output: str | None, keys: list[str | None], mishaps: int = 0) -> None:
        """Its earlier attempts stay with it: a slow handler, or one that never returns."""
        worker = self.worker(pick)
        self.world.beat(worker)
        slow = len(worker.held)
        self.claim(pick, 6, True)
        if claimed := worker.held[slow:]:
            ends = [verb] * mishaps + ["finish"] * len(claimed)
            self.end([(one, end, output, keys) for one, end in zip(claimed, ends, strict=False)])

    @precondition(lambda self: any(worker.held for worker in self.world.workers.values()))
    @rule(pick=picks, verb=verbs, output=outputs, free=st.integers(1, 4))
    def settle_and_claim(self, pick: int, verb: str, output: str | None, free: int) -> None:
        """Both in one commit, as a busy worker does."""
        busy = [worker for worker in self.world.workers.values() if worker.held]
        worker = chosen_of(busy, pick)
        attempts = worker.held[: 1 + pick % 3]
        settled = [self.ending(one, verb, output, [None]) for one in attempts]
        self.note_endings(attempts, settled)
        self.world.turn(worker, settled, free)
        self.look()

    @precondition(lambda self: bool(self.held() or self.lost()))
    @rule(pick=picks, value=st.integers(0, 9))
    def remember(self, pick: int, value: int) -> None:
        """What an attempt keeps on the way carries its lease as well."""
        claimed = chosen_of([*self.held(), *self.lost()], pick).claimed
        item = self.now.items.get(claimed.id)
        with self.world.store.write() as tx:
            same = tx.settling.generation(claimed.id) == claimed.generation
            held = item is not None and item["lease"] == claimed.lease and same
            assert tx.settling.remember(claimed.id, claimed.lease, str(value), claimed.generation) is held
        before = self.look()
        changed = {number for number, row in self.now.items.items() if row != before.items[number]}
        assert changed <= ({claimed.id} if held else set())

    @rule(seconds=st.sampled_from([0.0, 5.3, 16.3]), living=st.booleans())
    def sweep_after(self, seconds: float, living: bool) -> None:
        """Recovery, after a while in which the workers sent heartbeats, or not."""
        if living:
            for worker in self.world.workers.values():
                self.world.beat(worker)
            self.look()
        self.world.clock.turn(seconds)
        self.sweep()

    def sweep(self) -> None:
        sweep(self.world.store, self.world.pipelines, force=True)
        check_swept(self.world, self.look(), self.now)

    @has_tasks
    @rule(pick=picks)
    def advance(self, pick: int) -> None:
        """Anyone may probe at any time; nothing happens unless the stage is over."""
        advance(self.world.store, self.world.pipelines, chosen_of(sorted(self.now.tasks), pick), "anyone")
        check_settled(self.world, self.look(), self.now, {})

    @has_tasks
    @rule(pick=picks, verb=picks)
    def command(self, pick: int, verb: int) -> None:
        """What the table allows; the task itself may still object."""
        number = chosen_of(sorted(self.now.tasks), pick)
        possible = [one for one in STEERING if legal(TASK_MOVES, self.now.tasks[number]["state"], one)]
        self.steer(number, chosen_of(possible, verb))

    @has_tasks
    @rule(pick=picks, verb=st.sampled_from(STEERING))
    def any_command(self, pick: int, verb: str) -> None:
        self.steer(chosen_of(sorted(self.now.tasks), pick), verb)

    def steer(self, number: int, verb: str) -> None:
        self.do(number, verb, partial(getattr(self.commands, verb), number))

    @precondition(lambda self: bool(self.redoable()))
    @rule(pick=picks)
    def retry_one(self, pick: int) -> None:
        """Redo of one item of any stage, whatever its task is doing."""
        self.retry(chosen_of(self.redoable(), pick))

    @precondition(lambda self: bool(self.redoable()))
    @rule(pick=picks, output=outputs, keys=yields)
    def redo_one(self, pick: int, output: str | None, keys: list[str | None]) -> None:
        """The same, and it is done at once."""
        self.retry(chosen_of(self.redoable(), pick))
        self.claim_and_end(pick, "finish", output, keys)

    def retry(self, item: dict[str, Any]) -> bool:
        key = item["key"] or str(item["seq"])
        return self.do(item["task"], "retry", lambda: self.commands.retry(item["task"], [key], item["stage"]))

    @precondition(lambda self: len(self.now.tasks) > 2)
    @rule(pick=picks)
    def delete(self, pick: int) -> None:
        number = chosen_of(sorted(self.now.tasks), pick)
        if self.do(number, "delete", lambda: self.commands.delete(number)):
            assert number not in self.now.tasks
            assert not self.now.of(number)

    def teardown(self) -> None:
        """Left alone, every task ends: one sweep after the last worker is dead, then one good worker and time."""
        if not self.sound:
            return
        for number, task in self.now.tasks.items():
            if task["state"] in ("paused", "waiting"):
                self.do(number, "resume", partial(self.commands.resume, number))
        self.world.clock.turn(LONGEST_WAIT)
        self.sweep()
        worker = self.world.hire()
        for _ in range(60):
            self.world.clock.turn(LONGEST_WAIT)
            self.world.beat(worker)
            for number, task in self.now.tasks.items():
                if task["state"] == "waiting":
                    self.do(number, "resume", partial(self.commands.resume, number))
            claimed = self.world.turn(worker, [], 50)
            self.look()
            if not claimed:
                break
            self.end([(attempt, "finish", "last", ["x", "y"]) for attempt in worker.held])
        stuck = [task for task in self.now.tasks.values() if task["state"] not in FINISHED_TASKS]
        assert not stuck, f"stuck: {stuck} with {[self.now.of(task['number']) for task in stuck]}"

    def do(self, number: int, verb: str, act: Callable[[], Any]) -> bool:
        """A person's command: refused without a trace, or a legal move."""
        try:
            act()
        except FanfoldError:
            assert self.look() == self.now, f"{verb} was refused and changed something"
            return False
        before = self.look()
        assert legal(TASK_MOVES, before.tasks[number]["state"], verb), f"{verb} is illegal for {before.tasks[number]}"
        return True

    def end(self, wanted: list[tuple[Attempt, str, str | None, list[str | None]]]) -> None:
        """Attempts of one worker end, in one turn that claims nothing."""
        endings = [self.ending(*one) for one in wanted]
        worker = self.world.workers[wanted[0][0].worker]
        self.note_endings([one[0] for one in wanted], endings)
        effects = {one.claimed.id: one._replace(ending=Ending.FAIL) if has_duplicate(one) else one for one in endings}
        taken = [one for one in effects.values() if one.ending is Ending.FINISH and is_held(self.now, one)]
        yielded = [(one, list(one.new_items)) for one in taken if one.new_items is not None]
        self.world.turn(worker, endings, 0)
        before = self.look()
        check_settled(self.world, before, self.now, effects)
        for one, items in yielded:
            check_split(self.world, self.now, one.claimed, items)

    def ending(self, attempt: Attempt, verb: str, output: str | None, keys: list[str | None]) -> Settlement:
        """How the attempt ends; a split that finishes yields items."""
        claimed = attempt.claimed
        if verb == "finish" and claimed.stage.endswith("split"):
            items = [NewItem(key=key, input=key) for key in keys]
            return Settlement(claimed, Ending.FINISH, new_items=self.world.new_items(items))
        if verb == "finish":
            kept = text(None if output is None else f"{output} {claimed.id}/{claimed.lease}")
            return Settlement(claimed, Ending.FINISH, output=kept)
        counted = verb != "uncounted"
        verb = "back_off" if verb == "uncounted" else verb
        delay = (5.0 if claimed.seq % 2 else 50.0) if verb in ("back_off", "postpone") else 0.0
        return Settlement(
            claimed, Ending[verb.upper()], delay=delay, counted=counted, error_code="code", error_message="message"
        )

    def note_endings(self, attempts: list[Attempt], endings: list[Settlement]) -> None:
        """Remember which of them must be taken, before they are."""
        for attempt, one in zip(attempts, endings, strict=True):
            if one.ending is Ending.FINISH and is_held(self.now, one) and not has_duplicate(one):
                self.world.finishes[one.claimed.id] = Finish(
                    one.claimed.lease, one.output, one.claimed.input, attempt.order, next(self.world.ticks)
                )
                self.world.finished[one.claimed.id] += 1
            if attempt not in self.world.spent:
                self.world.spent.append(attempt)

    def look(self) -> Picture:
        """Take a new picture and check what must always hold; returns the one before."""
        before, self.now = self.now, self.world.picture()
        self.sound = False
        check(self.world, before, self.now)
        self.sound = True
        return before

    def held(self) -> list[Attempt]:
        """Everything in the hands of workers, rightly or not."""
        return [attempt for worker in self.world.workers.values() for attempt in worker.held]

    def redoable(self) -> list[dict[str, Any]]:
        """Items that have ended, or wait for their time."""
        return [item for _, item in sorted(self.now.items.items()) if item["state"] not in ("pending", "running")]

    def overtaken(self) -> list[tuple[Attempt, dict[str, Any]]]:
        """What runs, each with an item of an earlier stage of its task that could be redone."""
        found = []
        for attempt in self.live():
            plan = self.world.plan(self.now, attempt.claimed.task)
            for item in self.redoable():
                if item["task"] == attempt.claimed.task and plan.index(item["stage"]) < plan.index(
                    attempt.claimed.stage
                ):
                    found.append((attempt, item))
        return found

    def live(self) -> list[Attempt]:
        """What is in the hands of workers under the lease that counts."""
        return [attempt for attempt in self.held() if is_running(self.now, attempt)]

    def unwanted(self) -> list[Attempt]:
        """What runs though its task is not active, or has left the stage."""
        return [attempt for attempt in self.live() if not is_wanted(self.now, attempt)]

    def lost(self) -> list[Attempt]:
        """What was taken away from workers, or has ended; where there are any, only those with a rival at work now."""
        lost = [attempt for attempt in [*self.held(), *self.world.spent] if not is_running(self.now, attempt)]
        return [attempt for attempt in lost if state_of(self.now, attempt) == "running"] or lost

    def worker(self, pick: int) -> SimulatedWorker:
        return chosen(self.world.workers, pick)


def state_of(picture: Picture, attempt: Attempt) -> str | None:
    return picture.items.get(attempt.claimed.id, {}).get("state")


def is_running(picture: Picture, attempt: Attempt) -> bool:
    lease = picture.items.get(attempt.claimed.id, {}).get("lease")
    return state_of(picture, attempt) == "running" and lease == attempt.claimed.lease


def is_wanted(picture: Picture, attempt: Attempt) -> bool:
    task = picture.tasks[attempt.claimed.task]
    return bool(task["state"] == "active" and task["stage"] == attempt.claimed.stage)


def chosen(things: dict[str, Thing], pick: int) -> Thing:
    return things[chosen_of(sorted(things), pick)]


def chosen_of(things: Sequence[Thing], pick: int) -> Thing:
    return things[pick % len(things)]


@pytest.mark.timeout(1_200)
def test_no_history_breaks_an_invariant(databases: Databases, tmp_path: Path) -> None:
    with databases.fresh() as url:
        world = World(url, tmp_path)
        history = type("History", (AnyHistory,), {"world": world})
        try:
            run_state_machine_as_test(
                history,
                settings=settings(
                    # A step on PostgreSQL takes twice as long.
                    max_examples=EXAMPLES if url.startswith("sqlite") else EXAMPLES // 2,
                    stateful_step_count=STEPS,
                    deadline=None,
                    print_blob=True,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            world.close()
