"""Writes the file of requests that is sent to a service, page by page, so that a large batch needs little memory."""

from __future__ import annotations

import secrets
from pathlib import Path

from fanfold.providers.batches.batch_end import PAGE
from fanfold.providers.batches.batch_service import BatchService, unpacked_request
from fanfold.store.rows.money.batched_questions import MemberRow
from fanfold.store.rows.money.batches import BatchRow
from fanfold.store.store import Store


def write_requests(store: Store, service: BatchService, batch: BatchRow) -> tuple[Path, int]:
    """The file that is sent, and how many questions it has."""
    # A name of its own: a worker that was frozen must not share the file with the one that took over.
    path = store.scratch / f"batch-{batch.name}-{secrets.token_hex(4)}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    last = count = 0
    with path.open("w", encoding="utf-8") as file:
        while members := page_of(store, batch, last):
            for member in members:
                request = unpacked_request(store.unfold(member.request))
                file.write(service.line(f"{batch.name}-{member.id}", request) + "\n")
            last, count = members[-1].id, count + len(members)
    return path, count


def page_of(store: Store, batch: BatchRow, last: int) -> list[MemberRow]:
    """The next questions of a batch, after the one with the id ``last``."""
    with store.read() as tx:
        return tx.batched.members(batch.id, last, PAGE)
