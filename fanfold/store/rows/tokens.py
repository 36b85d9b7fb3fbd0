"""Stores access tokens: a name, the hash of a secret, an owner and a role. The secret itself is never stored."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.tables import tokens


@dataclass(frozen=True)
class TokenRow:
    """A token as stored. With ``owner`` None it sees the tasks of all owners."""

    name: str
    owner: str | None
    role: str
    created_at: datetime
    expires_at: datetime | None


SHOWN = tuple(tokens.c[name] for name in TokenRow.__dataclass_fields__)


class Tokens:
    """Verbs on tokens, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def add(self, name: str, hashed: str, owner: str | None, role: str, days: float | None) -> bool:
        """Store a new token; False if the name is taken."""
        if self.connection.execute(sa.select(tokens.c.name).where(tokens.c.name == name)).first():
            return False
        ends = None if days is None else self.clock.after(days * 86_400.0)
        values = {"name": name, "hash": hashed, "owner": owner, "role": role}
        self.connection.execute(sa.insert(tokens).values(**values, created_at=self.clock.now, expires_at=ends))
        return True

    def find(self, hashed: str) -> TokenRow | None:
        """The token with this hash, unless it has expired."""
        valid = sa.or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > self.clock.now)
        row = self.connection.execute(sa.select(*SHOWN).where(tokens.c.hash == hashed, valid)).first()
        return None if row is None else TokenRow(*row)

    def valid(self, hashes: Collection[str]) -> set[str]:
        """The given hashes whose token exists and has not expired."""
        lasting = sa.or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > self.clock.now)
        return set(
            self.connection.execute(sa.select(tokens.c.hash).where(tokens.c.hash.in_(hashes), lasting)).scalars()
        )

    def all(self) -> list[TokenRow]:
        """Every token, including expired ones, the oldest first."""
        return [TokenRow(*row) for row in self.connection.execute(sa.select(*SHOWN).order_by(tokens.c.created_at))]

    def drop(self, name: str) -> bool:
        """Delete a token; False if there is none of that name."""
        return self.connection.execute(sa.delete(tokens).where(tokens.c.name == name)).rowcount == 1
