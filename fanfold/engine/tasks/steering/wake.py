"""Makes an item due now because the service of its external job says that something has changed.

The message is only a hint: it is not read, and the item looks at its job by itself.
"""

from __future__ import annotations

import hashlib

from fanfold.errors import NotFound
from fanfold.model.text.sentences import say
from fanfold.store.store import Store, Transaction

TOKEN_LENGTH = 100


def hashed(token: str) -> str:
    """What is stored of a token: whoever reads the database cannot wake anything."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def wake(store: Store, token: str) -> bool:
    """Make the item with this token due now; False if it is due already, or does not wait. NotFound if nobody has the token."""
    known = hashed(token[: TOKEN_LENGTH + 1])
    with store.read() as tx:
        item = tx.externals.waking(known)
    if item is None:
        raise NotFound(say("no_wake_token"))
    return store.transact(lambda tx: _wake(tx, item))


def _wake(tx: Transaction, item: int) -> bool:
    woken = tx.externals.wake(item)
    if woken:
        tx.announce()
    return woken
