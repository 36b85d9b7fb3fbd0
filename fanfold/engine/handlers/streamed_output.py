"""Streams pieces of output while an attempt runs: buffered briefly, then written under its lease."""

from __future__ import annotations

import time
from typing import Any

from fanfold.model.item import Claimed
from fanfold.model.values import serial
from fanfold.store.store import Store
from fanfold.store.streams.database import AT_ONCE

EMIT_SECONDS = 0.25


class StreamedOutput:
    """The pieces of one attempt."""

    def __init__(self, store: Store, claimed: Claimed) -> None:
        self.written_at = 0.0
        """Time of the last write, on the monotonic clock."""
        self._store = store
        self._claimed = claimed
        self._pieces: list[str] = []
        self._written = 0
        self._has_stale = True

    def add(self, value: Any) -> bool:
        """Add a piece, written now or soon; False if the lease was lost."""
        self._pieces.append(serial.dump(value, "A streamed piece", self._store.settings.inline_bytes))
        return time.monotonic() - self.written_at < EMIT_SECONDS or self.flush()

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

    def _write(self, pieces: list[str]) -> bool:
        """Write pieces, and drop a number of those from earlier attempts, which no longer count; False if the lease was lost."""
        claimed = self._claimed
        with self._store.write() as tx:
            held = tx.settling.holds(claimed.id, claimed.lease)
            if held:
                if self._has_stale:
                    self._has_stale = not tx.streams.drop_stale(claimed.id, claimed.lease)
                tx.streams.add(claimed.task, claimed.id, claimed.lease, self._written, pieces)
        return held
