"""Rate limits for people: list them, and open or close one for all workers."""

from __future__ import annotations

from fanfold.errors import BadInput, NotFound
from fanfold.model.money.rate_limits import LimitRow
from fanfold.model.text.sentences import say
from fanfold.store.store import Store, Transaction

LONGEST_SECONDS = 30 * 86_400.0


def list_limits(store: Store) -> list[LimitRow]:
    """Every limit as it is now."""
    with store.read() as tx:
        return tx.rate_limits.all()


def open_limit(store: Store, key: str) -> list[LimitRow]:
    """Open a limit that was closed by a refusal, a used-up daily quota or a person."""
    return store.transact(lambda tx: _changed(tx, key, tx.rate_limits.open(key)))


def close_limit(store: Store, key: str, seconds: float) -> list[LimitRow]:
    """Send no call for ``seconds`` seconds."""
    if not 0 < seconds <= LONGEST_SECONDS:
        raise BadInput(say("limit_seconds", most=LONGEST_SECONDS))
    return store.transact(lambda tx: _changed(tx, key, tx.rate_limits.close(key, seconds)))


def _changed(tx: Transaction, key: str, was_found: bool) -> list[LimitRow]:
    rows = tx.rate_limits.all()
    if not was_found:
        raise NotFound(say("no_limit", key=key, known=sorted({row.key for row in rows})))
    return [row for row in rows if row.key == key]
