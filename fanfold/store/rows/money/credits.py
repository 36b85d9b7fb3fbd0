"""Credits: accounts, and the ledger of charges and refunds.

The unique key of an entry (task, item, kind, generation) is what makes a charge or a refund take effect once: an entry that
exists is not added again, and only added entries change the balance. The account's row is locked last, for the commit only.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.model.money.credits import EntryKind
from fanfold.model.text.sentences import kept, restored
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.money.credit_tables import credit_accounts, credit_entries

AT_ONCE = 1_000
"""Most entries in one statement."""
REASON_LENGTH = 1_000
KEY = ("task", "item", "kind", "generation")


class AccountRow(NamedTuple):
    """An account as stored."""

    owner: str
    balance: int
    outside: bool
    opened_at: datetime


class NewEntry(NamedTuple):
    """An entry to be added; charges are negative."""

    owner: str
    kind: EntryKind
    amount: int
    task: str
    item: str
    generation: int
    actor: str
    reason: str | None = None
    key: str | None = None


class EntryRow(NamedTuple):
    """An entry as stored."""

    id: int
    owner: str
    kind: str
    amount: int
    task: str
    item: str
    generation: int
    actor: str
    reason: str | None
    key: str | None
    at: datetime


class Unit(NamedTuple):
    """The latest charge of an item of a task, or of the task as a whole."""

    item: str
    generation: int
    amount: int
    is_refunded: bool


class Difference(NamedTuple):
    """An owner whose balance is not the sum of the entries. There must be none."""

    owner: str
    balance: int
    entries: int


ACCOUNT = tuple(credit_accounts.c[name] for name in AccountRow._fields)
ENTRY = (*(credit_entries.c[name] for name in EntryRow._fields), credit_entries.c.reason_sentence)


def _entry(row: Any) -> EntryRow:
    *values, sentence = row
    entry = EntryRow(*values)
    return entry._replace(reason=restored(entry.reason, sentence))


class StoredCredits:
    """Verbs on credits, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def account(self, owner: str) -> AccountRow | None:
        """The account of an owner, if there is one."""
        found = self.connection.execute(sa.select(*ACCOUNT).where(credit_accounts.c.owner == owner)).first()
        return None if found is None else AccountRow(*found)

    def accounts(self, after: str | None, limit: int) -> list[AccountRow]:
        """Accounts by owner, those after ``after``."""
        wanted = sa.select(*ACCOUNT).order_by(credit_accounts.c.owner).limit(limit)
        if after is not None:
            wanted = wanted.where(credit_accounts.c.owner > after)
        return [AccountRow(*row) for row in self.connection.execute(wanted)]

    def add(self, entries: Sequence[NewEntry]) -> list[NewEntry]:
        """Add the entries whose key is new, and return those. The caller changes the balance by their sum."""
        added: set[tuple[object, ...]] = set()
        for start in range(0, len(entries), AT_ONCE):
            rows = [self._row(one) for one in entries[start : start + AT_ONCE]]
            new = self.clock.dialect.insert(credit_entries).values(rows)
            once = new.on_conflict_do_nothing()
            known = self.connection.execute(once.returning(*(credit_entries.c[name] for name in KEY)))
            added |= {tuple(row) for row in known}
        return [one for one in entries if (one.task, one.item, one.kind.value, one.generation) in added]

    def _row(self, entry: NewEntry) -> dict[str, Any]:
        reason = None if entry.reason is None else str(entry.reason)[:REASON_LENGTH]
        told = {"reason": reason, "reason_sentence": kept(entry.reason, reason), "at": self.clock.now}
        return {**entry._asdict(), "kind": entry.kind.value, **told}

    def take(self, owner: str, amount: int) -> bool:
        """Lower a balance; False, and nothing changes, if the account has less. One statement, so no race can overdraw it."""
        enough = sa.and_(credit_accounts.c.owner == owner, credit_accounts.c.balance >= amount)
        taken = sa.update(credit_accounts).where(enough).values(balance=credit_accounts.c.balance - amount)
        return self.connection.execute(taken).rowcount == 1

    def give(self, owner: str, amount: int, *, outside: bool | None = None) -> None:
        """Change a balance by an amount, and open the account if there is none.

        ``outside`` True allows the balance to fall below zero from now on; None leaves that as it is.
        """
        values = {"owner": owner, "balance": amount, "outside": bool(outside), "opened_at": self.clock.now}
        new = self.clock.dialect.insert(credit_accounts).values(**values)
        changed = {"balance": credit_accounts.c.balance + new.excluded.balance}
        if outside is not None:
            changed["outside"] = sa.literal(outside)
        self.connection.execute(new.on_conflict_do_update(index_elements=["owner"], set_=changed))

    def units(self, task: str) -> list[Unit]:
        """The latest charge of each item of a task, and whether it was refunded."""
        own = sa.select(
            credit_entries.c.item, credit_entries.c.kind, credit_entries.c.generation, credit_entries.c.amount
        )
        latest: dict[str, tuple[int, int]] = {}
        refunded: set[tuple[str, int]] = set()
        for item, kind, generation, amount in self.connection.execute(own.where(credit_entries.c.task == task)):
            if kind == EntryKind.REFUND:
                refunded.add((item, generation))
            elif kind == EntryKind.CHARGE and generation >= latest.get(item, (-1, 0))[0]:
                latest[item] = (generation, -amount)
        return [
            Unit(item, generation, amount, (item, generation) in refunded)
            for item, (generation, amount) in sorted(latest.items())
        ]

    def submitted(self, task: str) -> dict[str, int]:
        """What a task was charged when it was submitted, by item. Only these charges have no reason."""
        charge = sa.and_(
            credit_entries.c.task == task,
            credit_entries.c.kind == EntryKind.CHARGE.value,
            credit_entries.c.generation == 0,
        )
        first = sa.select(credit_entries.c.item, credit_entries.c.amount).where(
            charge, credit_entries.c.reason.is_(None)
        )
        return {item: -amount for item, amount in self.connection.execute(first)}

    def entries(
        self, *, owner: str | None = None, task: str | None = None, before: int | None = None, limit: int = 100
    ) -> list[EntryRow]:
        """Entries, newest first; of one owner, of one task, older than the entry ``before``."""
        wanted = sa.select(*ENTRY).order_by(credit_entries.c.id.desc()).limit(limit)
        for column, value in ((credit_entries.c.owner, owner), (credit_entries.c.task, task)):
            if value is not None:
                wanted = wanted.where(column == value)
        if before is not None:
            wanted = wanted.where(credit_entries.c.id < before)
        return [_entry(row) for row in self.connection.execute(wanted)]

    def find(self, task: str, item: str, kind: EntryKind, generation: int) -> EntryRow | None:
        """The entry with this key, if there is one."""
        key = sa.and_(
            credit_entries.c.task == task,
            credit_entries.c.item == item,
            credit_entries.c.kind == kind.value,
            credit_entries.c.generation == generation,
        )
        found = self.connection.execute(sa.select(*ENTRY).where(key)).first()
        return None if found is None else _entry(found)

    def differences(self) -> list[Difference]:
        """Owners whose balance is not the sum of their entries. There are none unless somebody edits the tables."""
        total = sa.func.sum(credit_entries.c.amount).label("total")
        sums = sa.select(credit_entries.c.owner, total).group_by(credit_entries.c.owner)
        entries = {row.owner: int(row.total) for row in self.connection.execute(sums)}
        balances = {row.owner: row.balance for row in self.connection.execute(sa.select(*ACCOUNT))}
        return [
            Difference(owner, balances.get(owner, 0), entries.get(owner, 0))
            for owner in sorted({*entries, *balances})
            if balances.get(owner, 0) != entries.get(owner, 0)
        ]
