"""The rows of the buckets that this installation has used, so that every process finds files in any of them."""

from __future__ import annotations

import sqlalchemy as sa

from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.file_tables import file_places


class FilePlaces:
    """Verbs on the buckets that hold files."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def all(self) -> list[str]:
        """Their addresses, which hold no credentials."""
        return list(
            self.connection.execute(sa.select(file_places.c.address).order_by(file_places.c.added_at)).scalars()
        )

    def add(self, address: str) -> None:
        """Remember a bucket."""
        known = sa.select(file_places.c.address).where(file_places.c.address == address)
        if self.connection.execute(known).first() is None:
            row = {"address": address, "swept_to": "", "added_at": self.clock.now}
            self.connection.execute(sa.insert(file_places).values(**row))

    def swept_to(self, address: str) -> str:
        """The key at which the last cleanup stopped listing; empty at the beginning."""
        at = sa.select(file_places.c.swept_to).where(file_places.c.address == address)
        return self.connection.execute(at).scalar() or ""

    def note_swept(self, address: str, key: str) -> None:
        """Remember where the next cleanup continues."""
        self.connection.execute(sa.update(file_places).where(file_places.c.address == address).values(swept_to=key))
