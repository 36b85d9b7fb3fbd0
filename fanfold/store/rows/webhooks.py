"""Stores webhooks: where to send which events."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.statements import fetch
from fanfold.store.schema.tables import webhooks


class WebhookRow(NamedTuple):
    """A webhook as stored; its events are a JSON list."""

    name: str
    url: str
    events: str
    pipeline: str | None
    owner: str | None
    actor: str
    created_at: datetime
    disabled_at: datetime | None
    disabled_because: str | None


SHOWN = tuple(webhooks.c[name] for name in WebhookRow._fields)
ALL = sa.select(*SHOWN).order_by(webhooks.c.name)


class StoredWebhooks:
    """Verbs on webhooks, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def put(self, row: dict[str, Any]) -> None:
        """Add a webhook, or replace the one with this name; it is enabled."""
        values = {**row, "created_at": self.clock.now, "disabled_at": None, "disabled_because": None}
        new = self.clock.dialect.insert(webhooks).values(**values)
        others = {name: new.excluded[name] for name in values if name != "name"}
        self.connection.execute(new.on_conflict_do_update(index_elements=["name"], set_=others))

    def all(self) -> list[WebhookRow]:
        """All webhooks, by name."""
        return [WebhookRow(*row) for row in fetch(self.connection, ALL)]

    def get(self, name: str) -> WebhookRow | None:
        """The webhook with this name."""
        found = self.connection.execute(sa.select(*SHOWN).where(webhooks.c.name == name)).first()
        return None if found is None else WebhookRow(*found)

    def wanting(self, event: str, pipeline: str, owner: str) -> list[WebhookRow]:
        """The enabled webhooks that want an event of a task."""
        return [
            row
            for row in self.all()
            if row.disabled_at is None
            and event in json.loads(row.events)
            and row.pipeline in (None, pipeline)
            and row.owner in (None, owner)
        ]

    def disable(self, name: str, url: str, reason: str) -> None:
        """Send nothing to a webhook any more, if it still has this address."""
        mine = sa.update(webhooks).where(webhooks.c.name == name, webhooks.c.url == url)
        self.connection.execute(mine.values(disabled_at=self.clock.now, disabled_because=reason))

    def remove(self, name: str) -> bool:
        """Remove a webhook; False if there was none."""
        return self.connection.execute(sa.delete(webhooks).where(webhooks.c.name == name)).rowcount == 1
