"""Adds, lists, tests and removes webhooks: ``client.webhooks``."""

from __future__ import annotations

import builtins
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fanfold.engine.webhooks.notices import EVENTS, KNOWN, TEST, submit_deliveries
from fanfold.errors import BadInput, NotFound
from fanfold.model.task import Task
from fanfold.model.text.sentences import say
from fanfold.outside.addresses import PORTS
from fanfold.store.rows.webhooks import WebhookRow

if TYPE_CHECKING:
    from fanfold.engine.client import Client

NAME = re.compile(r"[\w.-]{1,63}")
URL_LENGTH = 2_000
MOST_NOTIFIED = 10


@dataclass(frozen=True)
class Webhook:
    """A webhook as people see it."""

    name: str
    url: str
    events: tuple[str, ...]
    pipeline: str | None
    owner: str | None
    actor: str
    created_at: datetime
    disabled_at: datetime | None
    disabled_because: str | None


class Webhooks:
    """The webhooks of an installation. They tell of tasks of all owners, unless they name one."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._store = client.store

    def add(
        self,
        name: str,
        url: str,
        *,
        events: Sequence[str] = EVENTS,
        pipeline: str | None = None,
        owner: str | None = None,
    ) -> Webhook:
        """Send these events to an address from now on; a webhook of the same name is replaced, and enabled again.

        The secret with which deliveries are signed is not given here: workers take it from the environment
        (`FANFOLD_WEBHOOK_SECRET_NAME`, or `FANFOLD_WEBHOOK_SECRET` for all) or from `fanfold.toml`.
        """
        if not _is_name(name):
            raise BadInput(say("webhook_name", name=str(name)[:100]))
        check_url(url)
        unknown = [event for event in events if event not in KNOWN]
        if unknown or not events:
            raise BadInput(say("webhook_events", known=KNOWN, unknown=unknown[:5]))
        row = {"name": name, "url": url, "events": json.dumps(list(dict.fromkeys(events))), "pipeline": pipeline}
        owner = self._client.owner if self._client.owner is not None else owner
        with self._store.write() as tx:
            before = tx.webhooks.get(name)
            if before is not None and self._client.owner not in (None, before.owner):
                raise BadInput(say("webhook_taken", name=name), code="webhook_taken")
            tx.webhooks.put({**row, "owner": owner, "actor": self._client.actor})
        return self.get(name)

    def list(self) -> builtins.list[Webhook]:
        """All webhooks, by name."""
        with self._store.read() as tx:
            rows = tx.webhooks.all()
        return [_webhook(row) for row in rows if self._client.owner in (None, row.owner)]

    def get(self, name: str) -> Webhook:
        """One webhook."""
        return _webhook(self._row(name))

    def test(self, name: str) -> Task:
        """Deliver an event `task.test`; the task shows what the receiver answers."""
        row = self._row(name)
        receiver = {"name": row.name, "url": row.url, "is_stored": True}
        data = {"title": row.name, "by": self._client.actor}
        owner = self._client.owner or row.owner or ""
        with self._store.write() as tx:
            task_id = submit_deliveries(tx, [receiver], TEST, owner, data)
        return self._client.get(task_id)

    def remove(self, name: str) -> None:
        """Remove a webhook. Deliveries that were not made yet fail."""
        self._row(name)
        with self._store.write() as tx:
            tx.webhooks.remove(name)

    def _row(self, name: str) -> WebhookRow:
        with self._store.read() as tx:
            row = tx.webhooks.get(name) if _is_name(name) else None
        if row is None or self._client.owner not in (None, row.owner):
            raise NotFound(say("no_webhook", name=str(name)[:100]))
        return row


def _is_name(name: object) -> bool:
    return isinstance(name, str) and NAME.fullmatch(name) is not None


def check_url(url: object) -> None:
    """An address that deliveries can be sent to; whether it is public is checked when they are."""
    if not isinstance(url, str) or not url.isprintable() or " " in url or len(url) > URL_LENGTH:
        raise BadInput(say("webhook_url", url=str(url)[:100]))
    try:
        parts = urlsplit(url)
        fits = parts.scheme in PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise BadInput(say("webhook_url", url=url[:100]))
    if "@" in parts.netloc:
        raise BadInput(say("webhook_url_user", host=parts.hostname or "?"))


def check_notify(notify: object) -> None:
    """Receivers of one task: names of webhooks, or addresses."""
    if isinstance(notify, str) or not isinstance(notify, Sequence) or len(notify) > MOST_NOTIFIED:
        raise BadInput(say("notify_list", most=MOST_NOTIFIED))
    for one in notify:
        if isinstance(one, str) and "://" in one:
            check_url(one)
        elif not isinstance(one, str) or not NAME.fullmatch(one):
            raise BadInput(say("webhook_name", name=str(one)[:100]))


def _webhook(row: WebhookRow) -> Webhook:
    return Webhook(**row._asdict() | {"events": tuple(json.loads(row.events))})
