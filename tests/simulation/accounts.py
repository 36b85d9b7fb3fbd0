"""What the ledger must say in the end: what was paid is there once, and what may have been paid is named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fanfold.store.rows.money.answers import Calls
from fanfold.store.schema.tables import calls
from tests.simulation.money import Till
from tests.simulation.watch import require

if TYPE_CHECKING:
    from tests.simulation.world import World


def all_is_accounted_for(world: World) -> None:
    """Calls that were cut off are possibly paid, answered ones are paid once, and what handlers used is in the ledger once."""
    till, items = world.witness.till, world.watch.now.items
    with world.store.database.undisturbed() as connection:
        spent = Calls(connection, world.store.database.clock).of_items(sorted(till.sent))
        own = sa.select(calls.c.item, calls.c.lease, sa.func.count()).where(calls.c.provider == "own")
        noted = {(row[0], row[1]): row[2] for row in connection.execute(own.group_by(calls.c.item, calls.c.lease))}
        summed = sa.select(calls.c.item, calls.c.lease, sa.func.sum(calls.c.cost)).where(calls.c.provider == "own")
        cost = {(row[0], row[1]): row[2] for row in connection.execute(summed.group_by(calls.c.item, calls.c.lease))}
    for item in sorted(till.sent):
        if item in items:
            own_calls = sum(many for attempt, many in noted.items() if attempt[0] == item)
            _calls_add_up(till, item, spent.get(item), own_calls)
    for attempt, process in till.used.items():
        if attempt[0] not in items:
            continue
        found, least = noted.get(attempt, 0), not process.dead and process.name not in world.cut_short
        # A handler that was told to stop between its two calls has a second row.
        require(least <= found <= 2, f"what {attempt} has used in {process.name} is noted {found} times")
        is_whole = cost.get(attempt) == 1.0 or (not least and cost.get(attempt) == 0.5)
        require(not found or is_whole, f"{attempt} has used 1.0, and {cost.get(attempt)} is noted")


def _calls_add_up(till: Till, item: int, spending: Any, own: int) -> None:
    lost = till.sent[item] - till.answered[item]
    paid, possibly = (spending.calls - own, spending.possibly_paid) if spending is not None else (0, 0)
    # A process that dies with its answer on the way to the database may be the last one that knew it.
    require(till.answered[item] <= paid <= till.sent[item], f"{paid} paid calls of {item}: {till}")
    least = lost - (paid - till.answered[item])
    require(
        least <= possibly <= least + till.unsure[item],
        f"{possibly} calls of {item} are possibly paid, and {least} of {till.sent[item]} brought no answer",
    )
