"""Credits of a run: tasks of owners cost some, and what was not delivered comes back, whatever happens to processes.

After every commit the balances are the sums of the entries and none is below zero. In the end, each task has been charged for
what it delivered, and for nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fanfold.engine.client import Client
from fanfold.model.money.credits import WHOLE_TASK, Price, PriceWork
from fanfold.store.rows.money.credits import StoredCredits, Unit
from tests.simulation.watch import require

if TYPE_CHECKING:
    from tests.simulation.world import World

OWNERS = ("ann", "bob")
GRANTS = (9, 30, 1_000)
"""What owners have: some cannot pay for a second task, or for a retry."""
PLENTY = 1_000_000
PRICED = 3
"""Items with a price: each entry is a row, and a transaction may write only a few of them."""


def priced(work: PriceWork) -> Price:
    """One credit for the task, and two for each of its first items."""
    plans = work.options["items"]
    keys = work.items or [str(place) if plan["unkeyed"] else plan["key"] for place, plan in enumerate(plans, 1)]
    return Price(task=1, items=dict.fromkeys(keys[:PRICED], 2))


def open_accounts(world: World) -> None:
    """Owners get their first credits, before anything can go wrong."""
    for pipeline in world.pipelines.values():
        pipeline.price(priced)
    for owner in OWNERS:
        Client(store=world.store).credits.grant(owner, world.credit_dice.choice(GRANTS))


def give_plenty(world: World) -> None:
    """When calm comes, everybody can pay for what is left to be done."""
    for owner in OWNERS:
        Client(store=world.store).credits.grant(owner, PLENTY)


def accounts_add_up(world: World) -> None:
    """Balances are the sums of entries, and none is below zero. Called after every commit."""
    with world.store.database.undisturbed() as connection:
        credits = StoredCredits(connection, world.store.database.clock)
        differences = credits.differences()
        accounts = credits.accounts(None, 10)
    require(not differences, f"balances are not the sums of entries: {differences}")
    require(all(one.balance >= 0 for one in accounts), f"below zero: {accounts}")


def everything_delivered_is_paid_for(world: World) -> None:
    """Of each task that is left, exactly what was delivered is charged."""
    for number, task in world.watch.now.tasks.items():
        if task["owner"] not in OWNERS:
            continue
        with world.store.database.undisturbed() as connection:
            units = StoredCredits(connection, world.store.database.clock).units(world.people.id_of(number))
        for unit in units:
            paid = _is_delivered(world, number, task, unit)
            require(unit.is_refunded is not paid, f"{unit} of {number}, which is {task['state']}: delivered is {paid}")


def _is_delivered(world: World, number: int, task: Any, unit: Unit) -> bool:
    plan, events = world.watch.plan(number), world.watch.now.events.get(number, ())
    told = [event for event in events if event["verb"] == "rerun" or event["target"] == "completed"]
    has_completed = bool(told) and told[-1]["verb"] != "rerun"
    chains = plan.chains()
    if task["state"] == "failed" and not has_completed:
        return False
    if unit.item == WHOLE_TASK or not chains:
        return has_completed or bool(task["state"] == "partial")
    mine = [item for item in world.watch.now.of(number) if (item["key"] or str(item["seq"])) == unit.item]
    states = {item["stage"]: item["state"] for item in mine}
    if task["state"] == "partial":
        return not any(states.get(stage) == "failed" for stage in chains[-1])
    return states.get(chains[-1][-1]) == "done"
