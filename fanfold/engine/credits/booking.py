"""Books entries: adds them to the ledger, changes the balance and tells other ledgers, all in the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence

from fanfold.engine.webhooks.notices import tell_ledgers
from fanfold.errors import NotEnoughCredits
from fanfold.model.text.sentences import say
from fanfold.store.rows.money.credits import NewEntry
from fanfold.store.store import Transaction


def book(
    tx: Transaction, entries: Sequence[NewEntry], *, pipeline: str = "", outside: bool | None = None
) -> list[NewEntry]:
    """Add entries of one owner that are not in the ledger yet, and return them. NotEnoughCredits if the balance is too low.

    With ``outside``, another ledger decides what the owner may spend; None: as at the owner's last charge.
    """
    added = tx.credits.add(entries)
    total = sum(one.amount for one in added)
    if not added:
        return []
    owner = added[0].owner
    if outside is None:
        account = tx.credits.account(owner)
        outside = account is not None and account.outside
    if total >= 0:
        tx.credits.give(owner, total)
    elif outside:
        tx.credits.give(owner, total, outside=True)
    elif not tx.credits.take(owner, -total):
        raise not_enough(tx, owner, -total)
    tell_ledgers(tx, added, pipeline)
    return added


def not_enough(tx: Transaction, owner: str, price: int) -> NotEnoughCredits:
    """The error for a charge that the balance does not cover."""
    account = tx.credits.account(owner)
    balance = 0 if account is None else account.balance
    said = say("credits_not_enough", owner=owner, balance=balance, price=price)
    return NotEnoughCredits(said, balance=balance, price=price)
