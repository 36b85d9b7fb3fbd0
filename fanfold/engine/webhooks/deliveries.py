"""The pipelines that deliver webhooks. Each delivery is an item: durable, visible, retried, with every answer in its history."""

from __future__ import annotations

import hashlib
import time
from typing import Any
from urllib.parse import urlsplit

from fanfold.engine.webhooks.signing import secret_of, signed
from fanfold.errors import HoldItem, Permanent, Temporary
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.retry import Retry
from fanfold.model.text.sentences import say
from fanfold.outside.addresses import Allowed, RequestRefused
from fanfold.outside.guarded_request import Reply, send

NAME, STAGE = "webhooks", "deliver"
LEDGER = "webhooks-credits"
DELAYS = (5.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0)
"""Seconds before each further try."""
SECONDS = 20.0
"""Time limit of one try."""
LEDGER_TRIES = 30_000
"""Tries of a delivery to another ledger, at most ten hours apart: until it is accepted."""
ANSWER_BYTES, ANSWER_SHOWN = 4_096, 200

deliveries = Pipeline(NAME, title="Webhooks")
ledger = Pipeline(LEDGER, title="Credits for another ledger")
OWN_PIPELINES = (deliveries, ledger)
"""What every worker and tick serves, besides the pipelines it is told to."""


@deliveries.each(name=STAGE, retry=Retry(limit=len(DELAYS)), timeout=SECONDS * 3, concurrency=8)
def deliver(item: Any) -> dict[str, Any]:
    """Send one event to one receiver."""
    hook = item.input
    name, url = hook["name"], hook["url"]
    if hook["is_stored"]:
        with item._store.read() as tx:
            row = tx.webhooks.get(name)
        if row is None or row.disabled_at is not None:
            raise Permanent(say("webhook_gone", webhook=name), code="webhook_disabled")
        url = row.url
    reply = _tried(item, url, secret_of(name), hook["body"].encode())
    if 200 <= reply.status < 300:
        return {"status": reply.status, "answer": shown(reply)}
    said = say("webhook_answered", host=host_of(url), status=reply.status, answer=shown(reply))
    if reply.status == 410:
        if hook["is_stored"]:
            item._store.transact(lambda tx: tx.webhooks.disable(name, url, "410 Gone"))
        raise Permanent(said, code="gone")
    raise Temporary(said, after=delay(item), code=str(reply.status))


@ledger.each(name=STAGE, retry=Retry(limit=LEDGER_TRIES), timeout=SECONDS * 3, concurrency=8)
def deliver_entries(item: Any) -> dict[str, Any]:
    """Send entries of the ledger to another ledger. Nothing but its yes ends this: an entry that is lost is lost money."""
    with item._store.read() as tx:
        row = tx.webhooks.get(item.input["name"])
    if row is None or row.disabled_at is not None:
        raise HoldItem(say("webhook_gone", webhook=item.input["name"]))
    after = DELAYS[min(len(DELAYS) - 1, max(0, LEDGER_TRIES - item.retries_left))]
    try:
        reply = _tried(item, row.url, secret_of(row.name), item.input["body"].encode())
    except (Permanent, Temporary) as problem:
        raise Temporary(problem.message, after=after, code=problem.code) from None
    if 200 <= reply.status < 300:
        return {"status": reply.status, "answer": shown(reply)}
    said = say("webhook_answered", host=host_of(row.url), status=reply.status, answer=shown(reply))
    raise Temporary(said, after=after, code=str(reply.status))


def _tried(item: Any, url: str, secret: bytes, body: bytes) -> Reply:
    message = "msg_" + hashlib.sha256(item.idempotency_key.encode()).hexdigest()[:24]
    headers = {"Content-Type": "application/json", "User-Agent": "fanfold-webhooks"}
    headers |= signed(secret, message, int(time.time()), body)
    allowed = Allowed.parsed(item._store.settings.private_addresses)
    try:
        return send(
            url, method="POST", body=body, headers=headers, seconds=SECONDS, most_bytes=ANSWER_BYTES, allowed=allowed
        )
    except RequestRefused as problem:
        raise Permanent(say("webhook_refused", host=host_of(url), why=str(problem)), code="refused") from None
    except OSError as problem:
        said = say("webhook_unreachable", host=host_of(url), why=str(problem) or type(problem).__name__)
        raise Temporary(said, after=delay(item), code="unreachable") from None


def delay(item: Any) -> float:
    """Seconds until the next try."""
    return DELAYS[min(len(DELAYS) - 1, max(0, len(DELAYS) - item.retries_left))]


def host_of(url: str) -> str:
    """The host of an address, for people; the path may contain a token."""
    try:
        return urlsplit(url).hostname or "?"
    except ValueError:
        return "?"


def shown(reply: Reply) -> str:
    """The beginning of an answer, as text that can be stored."""
    text = reply.body.decode("utf-8", "replace").replace("\0", "")
    return " ".join(text.split())[:ANSWER_SHOWN]
