"""Streams pieces of output while an attempt runs: sent to Redis at once if there is one, and written under its lease."""

from __future__ import annotations

import math
import time
from typing import Any

from fanfold.model.item import Claimed
from fanfold.model.values import serial
from fanfold.store.store import Store
from fanfold.store.streams.in_database import AT_ONCE
from fanfold.store.streams.in_redis import LivePiece

EMIT_SECONDS = 0.25


class StreamedOutput:
    """The pieces of one attempt."""

    def __init__(self, store: Store, claimed: Claimed) -> None:
        self.written_at = -math.inf
        """Time of the last write, on the monotonic clock."""
        self._store = store
        self._claimed = claimed
        self._pieces: list[str] = []
        self._written = 0
        self._has_stale = True
        self._live = store.live_streams
        self._began: str | None = None
        """When the attempt began, read with the first write; until then nothing is sent to Redis."""

    def add(self, value: Any) -> bool:
        """Add a piece, sent to Redis now and written now or soon; False if the lease was lost."""
        piece = serial.dump(value, "A streamed piece", self._store.settings.inline_bytes)
        position = self._written + len(self._pieces)
        self._pieces.append(piece)
        sent = self._began is not None and self._send(piece, position)
        if self._live is not None and self._began is not None and not sent:
            # Redis has pieces of a later attempt, so write now: the database knows who holds the lease.
            self._live = None
            return self.flush()
        if time.monotonic() - self.written_at < EMIT_SECONDS:
            return True
        held = self.flush()
        if held and not sent:
            self._send(piece, position)
        return held

    def flush(self) -> bool:
        """Write the buffered pieces; False if the lease was lost."""
        if not self._pieces:
            return True
        while self._pieces:
            if not self._write(self._pieces[:AT_ONCE]):
                return False
            self._written += len(self._pieces[:AT_ONCE])
            self._pieces = self._pieces[AT_ONCE:]
        self.written_at = time.monotonic()
        return True

    def end(self) -> None:
        """Tell followers that this attempt emits nothing more."""
        self._send(None, self._written + len(self._pieces))

    def _send(self, body: str | None, position: int) -> bool:
        """Send an entry to Redis, if there is one; False if Redis has pieces of a later attempt."""
        if self._live is None or self._began is None:
            return True
        claimed = self._claimed
        return self._live.add(claimed.id, LivePiece(claimed.lease, position, body, self._began))

    def _write(self, pieces: list[str]) -> bool:
        """Write pieces, and drop a number of those from earlier attempts, which no longer count; False if the lease was lost."""
        claimed = self._claimed
        with self._store.write() as tx:
            held = tx.settling.holds(claimed.id, claimed.lease)
            if held:
                if self._has_stale:
                    self._has_stale = not tx.streams.drop_stale(claimed.id, claimed.lease)
                tx.streams.add(claimed.task, claimed.id, claimed.lease, self._written, pieces)
                if self._live is not None and self._began is None:
                    found = tx.streams.newest_attempt(claimed.id)
                    self._began = None if found is None else found.began
        return held
