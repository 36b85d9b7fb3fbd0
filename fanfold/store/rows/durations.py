"""Stores how long the calls of each stage took lately."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

import sqlalchemy as sa

from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.duration_tables import stage_durations

Pair = tuple[str, str]


class Durations:
    """Verbs on durations, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def of(self, pipelines: Collection[str]) -> dict[Pair, list[float]]:
        """Seconds of the last calls, oldest first, by pipeline and stage."""
        columns = stage_durations.c.pipeline, stage_durations.c.stage, stage_durations.c.recent
        wanted = sa.select(*columns).where(stage_durations.c.pipeline.in_(list(pipelines)))
        return {(row.pipeline, row.stage): json.loads(row.recent) for row in self.connection.execute(wanted)}

    def learn(self, seconds: Mapping[Pair, Sequence[float]], most: int) -> None:
        """Add calls, and keep the last ``most`` of each stage. What two ticks add at the same time may overwrite each other."""
        known = self.of({pipeline for pipeline, _ in seconds})
        for (pipeline, stage), new in sorted(seconds.items()):
            recent = [*known.get((pipeline, stage), ()), *(round(one, 3) for one in new)][-most:]
            values = {"pipeline": pipeline, "stage": stage, "recent": json.dumps(recent), "at": self.clock.now}
            made = self.clock.dialect.insert(stage_durations).values(**values)
            changed = {"recent": made.excluded.recent, "at": made.excluded["at"]}
            self.connection.execute(made.on_conflict_do_update(index_elements=["pipeline", "stage"], set_=changed))
