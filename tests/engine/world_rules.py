"""Invariants visible in the data, checked between two snapshots of it."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from fanfold.engine.tasks.recovery.sweep import HANG_GRACE_SECONDS
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.model.item import Claimed
from fanfold.model.lifecycle import ITEM_MOVES, OPEN_ITEMS, TASK_MOVES, legal, pairs, targets
from fanfold.model.plan import ON_CANCELLED, ON_FAILED, Kind, PlannedStage
from tests.engine.world import Picture, World

Row = Mapping[str, Any]
LEGAL_ITEM_CHANGES = set(pairs(ITEM_MOVES))
LEGAL_TASK_CHANGES = set(pairs(TASK_MOVES))


def check(world: World, before: Picture, after: Picture) -> None:
    """Everything that must hold after any rule."""
    check_items(world, before, after)
    check_tasks(before, after)
    check_events(before, after)
    check_permits(world, after)
    for task in after.tasks:
        check_stage(world, after, task)
        check_gates(world, after, task)
        check_flow(world, after, task)
        check_compensations(world, after, task)


def check_items(world: World, before: Picture, after: Picture) -> None:
    """Leases only grow, by a claim or when an item begins again; done means finished under the very lease the row has."""
    for number, now in after.items.items():
        was = before.items.get(number)
        if was is not None:
            assert (was["state"], now["state"]) in LEGAL_ITEM_CHANGES or was["state"] == now["state"], (was, now)
            assert now["lease"] >= was["lease"], f"the lease went back: {was} → {now}"
            if was["state"] in ("done", "failed") and now["state"] == "pending":
                counted = (now["attempts"], now["failures"], now["crashes"])
                assert counted == (0, 0, 0), f"begun again with a past: {was} → {now}"
            if (now["state"], now["attempts"], now["lease"]) == ("pending", 0, was["lease"] + 1):
                world.leases.add((number, now["lease"]))
        assert now["lease"] == 0 or (number, now["lease"]) in world.leases, f"a lease that no claim gave: {now}"
        assert (now["state"] == "running") == (now["worker"] is not None), now
        if now["state"] == "done":
            finish = world.finishes.get(number)
            assert finish is not None, f"done, but nobody finished it: {now}"
            assert finish.lease == now["lease"], f"done under another lease than that of {finish}: {now}"
            assert finish.output == now["output"], f"the output is not that of {finish}: {now}"


def check_tasks(before: Picture, after: Picture) -> None:
    """A task's row changes only with a move of its own, which leaves an event."""
    for number, now in after.tasks.items():
        was = before.tasks.get(number)
        if was is None or was == now:
            continue
        assert (was["state"], now["state"]) in LEGAL_TASK_CHANGES or was["state"] == now["state"], (was, now)
        assert len(after.moves(number)) > len(before.moves(number)), f"written without a move: {was} → {now}"


def check_events(before: Picture, after: Picture) -> None:
    """The log only grows, and a task's moves form a chain that ends where the task stands."""
    kept = [event for event in before.events if event["task"] in after.tasks]
    assert [event for event in after.events if event["id"] <= (before.events or [{"id": 0}])[-1]["id"]] == kept
    for number, task in after.tasks.items():
        moves = after.moves(number)
        assert moves, f"no event tells of {task}"
        assert (moves[0]["verb"], moves[0]["source"]) == ("submit", None), moves[0]
        for earlier, later in itertools.pairwise(moves):
            assert later["source"] == earlier["target"], f"the chain breaks between {earlier} and {later}"
            assert legal(TASK_MOVES, later["source"], later["verb"]), later
            assert later["target"] in targets(TASK_MOVES, later["verb"]), later
        assert (moves[-1]["target"], moves[-1]["stage"]) == (task["state"], task["stage"]), (moves[-1], task)


def check_permits(world: World, after: Picture) -> None:
    """A permit belongs to an item that runs under its lease; there are never more than the limit; none runs without."""
    held = {(permit["item"], permit["lease"]) for permit in after.permits}
    for permit in after.permits:
        item = after.items.get(permit["item"], {})
        assert (item.get("state"), item.get("lease")) == ("running", permit["lease"]), (permit, item)
    for name, count in Counter(permit["name"] for permit in after.permits).items():
        limit = limit_of(world, name)
        assert count <= (limit or 0), f"{count} permits of {name}, limit {limit}"
    for item in after.items.values():
        if item["state"] == "running":
            name = f"{after.tasks[item['task']]['pipeline']}.{item['stage']}"
            assert limit_of(world, name) is None or (item["id"], item["lease"]) in held, (
                f"runs without a permit: {item}"
            )


def limit_of(world: World, name: str) -> int | None:
    """The limit across all workers of `pipeline.stage`."""
    pipeline, stage = name.split(".")
    found = world.pipelines[pipeline].find(stage)
    return found.limit if found is not None else None


def check_stage(world: World, after: Picture, task: int) -> None:
    """An active task has items where it stands; one that is over has none that are open in its way."""
    row = after.tasks[task]
    if row["state"] in ("active", "waiting", "paused"):
        assert after.of(task, row["stage"]), f"no items in the stage of {row}"
    if row["state"] == "completed":
        left = [item for item in after.of(task) if item["state"] in OPEN_ITEMS]
        assert not left, f"completed with {left} still open: {row}"
        last = world.plan(after, task).stages[-1]
        assert last.kind is Kind.EACH or [item["state"] for item in after.of(task, last.name)] == ["done"], row
    if row["state"] == "partial":
        states = {item["state"] for item in after.of(task, row["stage"])}
        assert states == {"done", "failed"}, (row, states)
    if row["state"] == "failed":
        stages = world.plan(after, task).stages
        assert any(item["state"] == "failed" for stage in stages for item in after.of(task, stage.name)), row


def check_gates(world: World, after: Picture, task: int) -> None:
    """Nobody comes through a gate without a person."""
    gates = {stage.name for stage in world.plan(after, task).stages if stage.gate}
    opened: set[str] = set()
    for move in after.moves(task):
        if move["verb"] in ("resume", "merge", "rerun", "retry"):
            opened.add(move["stage"])
        if move["verb"] in ("submit", "advance") and move["target"] == "active" and move["stage"] in gates:
            assert move["stage"] in opened, f"through a gate that nobody opened: {move}"


def check_flow(world: World, after: Picture, task: int) -> None:
    """In a completed task everything was made from what was there last: no stage has worked on something redone since."""
    if after.tasks[task]["state"] != "completed":
        return
    stages = world.plan(after, task).stages
    for earlier, later in itertools.pairwise(stages):
        sources = [item for item in after.of(task, earlier.name) if item["state"] == "done"]
        for item in after.of(task, later.name):
            if item["state"] == "done":
                check_made_from(world, earlier, later, sources, item)


def check_made_from(
    world: World, earlier: PlannedStage, later: PlannedStage, sources: list[dict[str, Any]], item: Row
) -> None:
    """One item of a stage was claimed after the items before it were done, and saw what they gave."""
    finish = world.finishes[item["id"]]
    chained = later.kind is Kind.EACH and earlier.kind is Kind.EACH
    used = [source for source in sources if not chained or source["seq"] == item["seq"]]
    for source in used:
        made = world.finishes[source["id"]]
        if chained:
            assert finish.seen_input == made.output, f"{item} was made from something else than {source}"
        else:
            assert made.order < finish.claimed_order, f"{item} was made before {source} was done again"


def check_compensations(world: World, after: Picture, task: int) -> None:
    """At most one compensation is done per generation; a new generation begins without the items of the last."""
    made = [item["id"] for stage in (ON_FAILED, ON_CANCELLED) for item in after.of(task, stage)]
    done = sum(world.finished[item] for item in made)
    assert done <= 1, f"task {task} was made up for {done} times in one generation"


def is_leased(before: Picture, one: Settlement) -> bool:
    """Whether the lease of an attempt is still the item's."""
    item = before.items.get(one.claimed.id)
    return item is not None and item["state"] == "running" and item["lease"] == one.claimed.lease


def is_held(before: Picture, one: Settlement) -> bool:
    """Whether the ending of an attempt must be taken: its lease is the item's, and its task still wants it."""
    if not is_leased(before, one):
        return False
    item = before.items[one.claimed.id]
    task = before.tasks[item["task"]]
    return one.ending in ("release", "reclaim") or (task["state"] == "active" and task["stage"] == item["stage"])


def check_handed_back(was: Row, now: Row) -> None:
    """An ending that its task no longer wants puts the item back, and changes nothing else of it."""
    freed = {**was, "state": "pending", "worker": None, "deadline_at": None}
    assert now == freed, f"not handed back: {was} → {now}"


def check_settled(world: World, before: Picture, after: Picture, endings: Mapping[int, Settlement]) -> None:
    """Each ending has its effect on its item, an unwanted one puts it back, a lost one has none; tasks change only to move on."""
    taken = {number: one for number, one in endings.items() if is_held(before, one)}
    unwanted = {number for number, one in endings.items() if is_leased(before, one)} - taken.keys()
    moved_on = {number for number in after.tasks if after.tasks[number] != before.tasks.get(number)}
    for number, was in before.items.items():
        now = after.items.get(number)
        if now is not None and number in taken:
            check_ending(world, taken[number], was, now)
        elif now is not None and number in unwanted and was["task"] not in moved_on:
            check_handed_back(was, now)
        elif now != was:
            assert was["task"] in moved_on, f"touched, though it was not settled: {was} → {now}"
            entered = after.tasks[was["task"]]["stage"]
            assert now is None or was["stage"] == entered, f"touched in a stage that was not entered: {was}"
            assert now is None or now["state"] == "pending", now
    for task in moved_on:
        stage = before.tasks[task]["stage"]
        still_open = [item for item in after.of(task, stage) if item["state"] in OPEN_ITEMS]
        planned = world.plan(before, task).stage(stage)
        assert not still_open or planned.fail_fast, f"moved on with open items: {still_open}"


def is_poison(was: Row, now: Row, crash_limit: int) -> bool:
    """Whether a lost item has to fail; one that remembers more than before is forgiven, which its row does not tell."""
    reached = was["crashes"] + 1 >= crash_limit
    return bool(reached and (now["state"] == "failed" or not was["memory"]))


def check_ending(world: World, one: Settlement, was: Row, now: Row) -> None:
    """What one ending does to one row. Only errors count as failures."""
    poisoned = is_poison(was, now, world.store.settings.crash_limit)
    state = {
        "finish": "done",
        "fail": "failed",
        "back_off": "retrying",
        "postpone": "waiting",
        "release": "pending",
        "reclaim": "failed" if poisoned else "pending",
    }[one.ending]
    failures = int(one.ending == "fail" or (one.ending == "back_off" and one.counted))
    assert now["state"] == state, f"{one.ending} of {was} gave {now}"
    assert now["failures"] == was["failures"] + failures, f"{one.ending} of {was} counted wrongly: {now}"
    assert now["crashes"] == was["crashes"] + int(one.ending == "reclaim"), (
        f"{one.ending} of {was} counted wrongly: {now}"
    )
    assert (now["lease"], now["attempts"]) == (was["lease"], was["attempts"]), (was, now)
    if state in ("retrying", "waiting"):
        due = world.clock.time + timedelta(seconds=one.delay)
        assert abs(now["available_at"] - due) < timedelta(milliseconds=1), (due, now)
    if one.ending != "finish":
        assert now["output"] == was["output"], f"{one.ending} of {was} wrote an output"


def check_claimed(before: Picture, after: Picture, worker: str, claimed: set[int], now: Any) -> None:
    """A claim takes due items of active tasks in their stage, gives each the next lease, and touches nothing else."""
    assert after.tasks == before.tasks, "a claim wrote a task's row"
    for number, was in before.items.items():
        is_ = after.items[number]
        if number not in claimed:
            assert is_ == was, f"touched by a claim of others: {was} → {is_}"
            continue
        task = before.tasks[was["task"]]
        assert (task["state"], task["stage"]) == ("active", was["stage"]), f"not to be claimed: {was} of {task}"
        assert was["state"] == "pending" or (was["state"] in ("retrying", "waiting") and was["available_at"] <= now), (
            was
        )
        assert (is_["state"], is_["worker"]) == ("running", worker), is_
        assert (is_["lease"], is_["attempts"]) == (was["lease"] + 1, was["attempts"] + 1), (was, is_)
        assert (is_["failures"], is_["crashes"]) == (was["failures"], was["crashes"]), (was, is_)


def check_swept(world: World, before: Picture, after: Picture) -> None:
    """Recovery takes back exactly what is lost, hangs or is no longer wanted; no retry is used up by it."""
    settings, now = world.store.settings, world.clock.time
    alive = {name for name in before.seen_at if is_alive(world, after, name)}
    for number, was in before.items.items():
        is_ = after.items[number]
        if was["state"] != "running":
            continue
        task = before.tasks[was["task"]]
        wanted = task["state"] == "active" and task["stage"] == was["stage"]
        hangs = was["deadline_at"] is not None and was["deadline_at"] < now - timedelta(seconds=HANG_GRACE_SECONDS)
        idle = not wanted and was["started_at"] < now - timedelta(seconds=settings.look_seconds * 5)
        if is_["attempts"] == 0:
            assert after.tasks[was["task"]] != task, f"begun again without a move: {was}"
        elif was["worker"] not in alive or hangs:
            poisoned = is_poison(was, is_, settings.crash_limit)
            assert is_["state"] == ("failed" if poisoned else "pending"), (was, is_)
            assert (is_["crashes"], is_["failures"]) == (was["crashes"] + 1, was["failures"]), (was, is_)
        elif idle:
            assert (is_["state"], is_["crashes"], is_["failures"]) == ("pending", was["crashes"], was["failures"]), (
                was,
                is_,
            )
        else:
            assert is_ == was, f"taken from a living worker: {was} → {is_}"
    unclosed = [task for task in after.tasks if is_over(world, after, task)]
    assert not unclosed, f"nobody closed {[after.tasks[task] for task in unclosed]}"


def is_alive(world: World, picture: Picture, worker: str) -> bool:
    """Whether a worker was seen lately enough."""
    seen = picture.seen_at.get(worker)
    return seen is not None and seen > world.clock.time - timedelta(seconds=world.store.settings.lease_seconds)


def is_over(world: World, picture: Picture, task: int) -> bool:
    """Whether a task is active though nothing is left to be done in its stage."""
    row = picture.tasks[task]
    states = {item["state"] for item in picture.of(task, row["stage"])}
    return row["state"] == "active" and not states & set(OPEN_ITEMS)


def check_split(world: World, after: Picture, split: Claimed, yielded: list[tuple[str | None, str | None]]) -> None:
    """The items of the next stage are those that the split has yielded, all of them, in order."""
    following = world.plan(after, split.task).after(split.stage)
    assert following is not None
    made = [(item["key"], item["input"]) for item in after.of(split.task, following.name)]
    assert made == yielded, f"{split} yielded {yielded}, which made {made}"


def has_duplicate(one: Settlement) -> bool:
    """Whether a split has yielded a key twice."""
    return one.new_items is not None and one.new_items.first_duplicate() is not None


def text(value: Any) -> str | None:
    """An output as a handler's result is kept: none for None."""
    return None if value is None else json.dumps(value)
