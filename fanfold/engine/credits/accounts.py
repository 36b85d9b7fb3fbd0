"""Grants, charges, refunds and shows credits: ``client.credits``."""

from __future__ import annotations

import builtins
import hashlib
import secrets
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from fanfold.engine.credits.booking import book
from fanfold.engine.credits.price import keys_of, priced
from fanfold.engine.credits.settling import refund_units
from fanfold.engine.tasks.many_items.new_items import check_key
from fanfold.engine.tasks.submitting.submission import OWNER_LENGTH
from fanfold.errors import BadInput, KeyReused, NotFound
from fanfold.model.item import NewItem
from fanfold.model.money.credits import (
    OUTSIDE,
    WHOLE_TASK,
    CreditAccount,
    CreditEntry,
    EntryKind,
    PriceWork,
    check_amount,
)
from fanfold.model.pipelines.pipeline import Target, as_pipeline
from fanfold.model.text.sentences import say
from fanfold.model.text.texts import check_chosen, check_reason, check_text
from fanfold.store.rows.money.credits import AccountRow, Difference, EntryRow, NewEntry
from fanfold.store.store import Transaction

if TYPE_CHECKING:
    from fanfold.engine.client import Client

KEY_LENGTH = 200
MOST_LISTED = 1_000


class Credits:
    """The credits of an installation's owners. A client with an owner sees its own account, and changes none."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._store = client.store

    def balance(self, owner: str | None = None) -> int:
        """How many credits an owner has; 0 without an account. The default is the client's own owner."""
        whose = self._whose(owner)
        with self._store.read() as tx:
            row = tx.credits.account(whose)
        return 0 if row is None else row.balance

    def account(self, owner: str | None = None) -> CreditAccount:
        """The account of an owner. NotFound if nothing was ever granted or charged."""
        whose = self._whose(owner)
        with self._store.read() as tx:
            row = tx.credits.account(whose)
        if row is None:
            raise NotFound(say("credits_none", owner=whose))
        return _account(row)

    def accounts(self, *, after: str | None = None, limit: int = 100) -> builtins.list[CreditAccount]:
        """Accounts by owner, those after ``after``; a client with an owner gets its own."""
        with self._store.read() as tx:
            if self._client.owner is None:
                return [_account(row) for row in tx.credits.accounts(after, min(limit, MOST_LISTED))]
            own = tx.credits.account(self._client.owner)
        return [] if own is None else [_account(own)]

    def entries(
        self, owner: str | None = None, *, task: str | None = None, before: int | None = None, limit: int = 100
    ) -> builtins.list[CreditEntry]:
        """Entries of the ledger, newest first: of one owner, of one task (its full id), older than entry ``before``."""
        whose = owner if owner is None and self._client.owner is None else self._whose(owner)
        limit = min(limit, MOST_LISTED)
        with self._store.read() as tx:
            return [_entry(row) for row in tx.credits.entries(owner=whose, task=task, before=before, limit=limit)]

    def grant(self, owner: str, amount: int, *, reason: str | None = None, key: str | None = None) -> CreditEntry:
        """Add credits to an owner's account, which is opened if there is none. The same ``key`` adds them once."""
        return self._by_hand(EntryKind.GRANT, owner, amount, reason, key)

    def charge(self, owner: str, amount: int, *, reason: str | None = None, key: str | None = None) -> CreditEntry:
        """Take credits from an owner's account, for something other than a task. NotEnoughCredits if it has fewer."""
        return self._by_hand(EntryKind.CHARGE, owner, amount, reason, key)

    def refund(self, task_id: str, items: Sequence[str] | None = None, *, reason: str | None = None) -> int:
        """Refund what a task cost, or the named items of it; returns the amount. What was refunded before stays so.

        A retry of an item that was refunded is charged again.
        """
        self._demand_all()
        check_reason(reason)
        number, keys = self._client.lookup.row(task_id).number, check_chosen(items)
        return self._store.transact(partial(self._refund, number, keys, reason))

    def quote(
        self,
        pipeline: Target,
        *inputs: Any,
        items: Iterable[Any] | None = None,
        options: dict[str, Any] | None = None,
        owner: str = "",
    ) -> int:
        """What a task would cost, in credits; nothing is submitted. 0 if the pipeline has no price."""
        rows = [(check_key(one.key, place), None) if isinstance(one, NewItem) else (None, None)
                for place, one in enumerate(items or (), 1)]  # fmt: skip
        work = PriceWork(inputs, dict(options or {}), {}, self._client.owner or owner, keys_of(rows))
        return sum(priced(as_pipeline(pipeline), work).values())

    def differences(self) -> builtins.list[Difference]:
        """Owners whose balance is not the sum of their entries: none, unless somebody has edited the tables."""
        self._demand_all()
        with self._store.read() as tx:
            return tx.credits.differences()

    def _by_hand(self, kind: EntryKind, owner: str, amount: int, reason: str | None, key: str | None) -> CreditEntry:
        self._demand_all()
        check_text(owner, "The owner", least=1, most=OWNER_LENGTH)
        check_reason(reason)
        if key is not None:
            check_text(key, "The key", least=1, most=KEY_LENGTH)
        signed = check_amount(amount, "The amount") * (-1 if kind is EntryKind.CHARGE else 1)
        item = secrets.token_hex(16) if key is None else hashlib.sha256(f"{owner}\n{key}".encode()).hexdigest()
        entry = NewEntry(owner, kind, signed, "", item, 0, self._client.actor, reason, key)
        return self._store.transact(partial(self._book_one, entry))

    def _book_one(self, entry: NewEntry, tx: Transaction) -> CreditEntry:
        outside = True if self._store.settings.credits == OUTSIDE else None
        book(tx, [entry], outside=outside)
        found = tx.credits.find("", entry.item, entry.kind, 0)
        assert found is not None
        if found.amount != entry.amount:
            raise KeyReused(say("credits_key_reused", key=entry.key, owner=entry.owner, amount=found.amount))
        return _entry(found)

    def _refund(self, number: int, keys: Sequence[str], reason: str | None, tx: Transaction) -> int:
        row = tx.tasks.lock(number)
        if row is None:
            raise NotFound(say("deleted_meanwhile"))
        units = tx.credits.units(row.id)
        if not units:
            raise BadInput(say("credits_task_free", task=row.id))
        if unknown := sorted(set(keys) - {unit.item for unit in units}):
            raise BadInput(say("credits_items_free", task=row.id, items=unknown[:20]))
        wanted = [unit for unit in units if not keys or unit.item in keys]
        told = say("credits_refunded_by_hand") if reason is None else reason
        return refund_units(tx, row, [unit for unit in wanted if not unit.is_refunded], self._client.actor, told)

    def _whose(self, owner: str | None) -> str:
        """The owner that is asked about, if the client may."""
        own = self._client.owner
        if own is None:
            return check_text(owner, "The owner", least=1, most=OWNER_LENGTH)
        if owner not in (None, own):
            raise BadInput(say("credits_foreign"), code="forbidden")
        return own

    def _demand_all(self) -> None:
        if self._client.owner is not None:
            raise BadInput(say("credits_foreign"), code="forbidden")


def _account(row: AccountRow) -> CreditAccount:
    return CreditAccount(row.owner, row.balance, row.opened_at, row.outside)


def _entry(row: EntryRow) -> CreditEntry:
    item = row.item if row.task and row.item != WHOLE_TASK else None
    return CreditEntry(
        row.id, row.owner, EntryKind(row.kind), row.amount, row.task or None, item, row.generation, row.actor, row.reason,
        row.at, row.key,
    )  # fmt: skip
