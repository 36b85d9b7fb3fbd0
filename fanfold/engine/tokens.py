"""Creates, checks and revokes access tokens of the server. A token is shown once and stored as a hash."""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from enum import StrEnum

from fanfold.errors import BadInput, NotFound
from fanfold.model.text.sentences import say
from fanfold.model.text.texts import is_storable
from fanfold.model.values import serial
from fanfold.store.rows.tokens import TokenRow
from fanfold.store.store import Store

PREFIX = "ffk_"
"""Prefix that makes a leaked token recognisable, for instance in a commit or a log."""
NAME = re.compile(r"[\w.@-]{1,100}")
EVERYONE = "*"


class Role(StrEnum):
    """What a token allows; the meanings are in ``ROLES``."""

    ADMIN = "admin"
    MEMBER = "member"
    VIEWER = "viewer"
    TIMER = "timer"


ROLES = {
    Role.ADMIN: "sees and steers the tasks of all owners, and may prune, tick and manage tokens",
    Role.MEMBER: "sees and steers the tasks of its owner",
    Role.VIEWER: "sees the tasks of its owner and changes nothing",
    Role.TIMER: "starts ticks, and sees and changes nothing else: for cron and cloud functions",
}


@dataclass(frozen=True)
class NewToken:
    """A new token; its secret is known only now."""

    secret: str
    name: str
    owner: str | None
    role: Role


def create(
    store: Store, name: str, *, role: str = Role.MEMBER, owner: str | None = None, days: float | None = None
) -> NewToken:
    """Create a token. A member or viewer sees the tasks of ``owner``, by default named like the token; `*` means all."""
    if not NAME.fullmatch(name):
        raise BadInput(say("token_name", name=name))
    if role not in [*Role]:
        raise BadInput(say("no_role", role=role, known=list(Role)))
    if days is not None and not 0 < days <= 36_500:
        raise BadInput(say("token_days", days=days))
    if role == Role.ADMIN and owner not in (None, EVERYONE):
        raise BadInput(say("admin_sees_all"))
    if role == Role.TIMER and owner is not None:
        raise BadInput(say("timer_sees_nothing"))
    whose = None if role == Role.ADMIN or owner == EVERYONE else (owner or name)
    if whose is not None and len(whose) > 200:
        raise BadInput(say("owner_too_long"))
    serial.dump(whose, "The owner")
    secret = PREFIX + secrets.token_urlsafe(32)
    with store.write() as tx:
        if not tx.tokens.add(name, hashed(secret), whose, role, days):
            raise BadInput(say("token_exists", name=name))
    return NewToken(secret, name, whose, Role(role))


def find(store: Store, secret: str) -> TokenRow | None:
    """The token with this secret, if it is valid."""
    if not secret.startswith(PREFIX) or not secret.isascii() or len(secret) > 200:
        return None
    with store.read() as tx:
        return tx.tokens.find(hashed(secret))


def every(store: Store) -> list[TokenRow]:
    """Every token, without its secret."""
    with store.read() as tx:
        return tx.tokens.all()


def revoke(store: Store, name: str) -> None:
    """Revoke a token at once."""
    with store.write() as tx:
        if not is_storable(name) or not tx.tokens.drop(name):
            raise NotFound(say("no_token", name=name))


def hashed(secret: str) -> str:
    """The stored hash of a secret. The secret has 256 random bits, so a plain hash is safe."""
    return hashlib.sha256(secret.encode()).hexdigest()
