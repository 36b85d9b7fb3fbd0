"""Writes the results of a batch: answers into the cache, costs into the ledger. Items that waited become due."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fanfold.errors import BadAnswer
from fanfold.model.money.batch import MemberState
from fanfold.model.money.questions import Answer
from fanfold.model.values import serial
from fanfold.model.values.files import File
from fanfold.providers.answer_checks import judge
from fanfold.providers.batches.batch_service import MemberResult
from fanfold.providers.batches.charge import PaidAnswer, charge
from fanfold.providers.cached_answer import for_cache
from fanfold.providers.configuration import Provider
from fanfold.providers.costs.ledger_rows import storable
from fanfold.providers.services.service import ServiceReply
from fanfold.store.rows.money.answers import BAD_ANSWER, OUTCOMES, TAKEN
from fanfold.store.rows.money.batched_questions import MemberRow
from fanfold.store.rows.money.batches import BatchRow
from fanfold.store.store import Store, Transaction

WRITTEN = (MemberState.ANSWERED, MemberState.FAILED)
"""States of questions whose result was already written, by a worker that died while it read the results."""
AT_ONCE = 100
"""Number of results that are written in one transaction."""


class Delivery:
    """Collects the results of one batch, and writes them to the database."""

    def __init__(self, store: Store, provider: Provider, batch: BatchRow) -> None:
        self.store = store
        self.provider = provider
        self.batch = batch
        self._results: dict[int, MemberResult] = {}

    @property
    def is_full(self) -> bool:
        """Whether enough results are collected to write them."""
        return len(self._results) >= AT_ONCE

    def add(self, result: MemberResult) -> None:
        """Collect a result. Skips results of questions that are not ours, and results without an outcome."""
        name, dash, number = result.name.rpartition("-")
        if dash and name == self.batch.name and number.isdecimal() and (result.reply or result.trouble):
            self._results[int(number)] = result

    def write(self) -> None:
        """Write the collected results in one transaction, and delete request files that are no longer needed."""
        results, self._results = self._results, {}
        if results:
            judged = {id_: self._judged(result.reply) for id_, result in results.items() if result.reply is not None}
            folded = self.store.transact(lambda tx: self._write(tx, results, judged))
            self._remove_files(folded)

    def _judged(self, reply: ServiceReply) -> tuple[str, str | None]:
        """The outcome of an answer for the ledger, and its text if the answer is good."""
        try:
            return TAKEN, judge(reply)
        except BadAnswer as bad:
            return BAD_ANSWER if bad.code in OUTCOMES else bad.code, None

    def _write(
        self, tx: Transaction, results: dict[int, MemberResult], judged: dict[int, tuple[str, str | None]]
    ) -> list[str]:
        """Settle the questions. One that was asked live meanwhile is charged here too, and its answer is cached as well.

        If the task of a question was deleted, its cost still counts, but its answer is cached only if other items wait for it.
        """
        known = {member.id: member for member in tx.batched.by_ids(list(results)) if member.state not in WRITTEN}
        waiting = tx.batched.open_among(list(known))
        gone = tx.batched.withdraw(list(known))
        open_ones = _by_key(one for one in waiting if one.id not in gone)
        paid = [PaidAnswer(one, reply.usage) for id_, one in known.items() if (reply := results[id_].reply) is not None]
        tx.calls.add([self._row(answer, results, judged) for answer in paid if answer.member.id not in gone])
        texts: dict[str, str] = {}
        answered: list[MemberRow] = []
        for member in (answer.member for answer in paid):
            (outcome, text), same = judged[member.id], open_ones.get(member.key, [])
            answered += same
            if text is None:  # The other items that asked this do not pay for it again: they get the bad answer too.
                raw = _raw(results[member.id])
                tx.batched.settle([one.id for one in same], MemberState.ANSWERED, outcome, raw)
            elif same or member.id not in gone:
                texts[member.key] = for_cache(Answer(text, self.batch.provider, self.batch.model))
        tx.answers.keep_all(texts)
        tx.batched.settle([one.id for one in answered], MemberState.ANSWERED)
        tx.batched.answer_late(
            [one.id for one in known.values() if one.state is MemberState.LIVE and results[one.id].reply]
        )
        failed = self._fail(tx, known, results, open_ones)
        tx.batched.wake([member.item for member in answered + failed])
        tx.batched.free_budgets()
        charge(tx, self.provider, paid)
        return [member.request for member in answered + failed if member.request]

    def _fail(
        self,
        tx: Transaction,
        known: Mapping[int, MemberRow],
        results: Mapping[int, MemberResult],
        open_ones: Mapping[str, list[MemberRow]],
    ) -> list[MemberRow]:
        """Settle the questions that failed, together with the same questions of other items."""
        failed: list[MemberRow] = []
        for id_, member in known.items():
            if (trouble := results[id_].trouble) is not None:
                same = open_ones.get(member.key, [])
                tx.batched.settle([one.id for one in same], MemberState.FAILED, str(trouble.kind), trouble.message)
                failed += same
        return failed

    def _row(
        self,
        answer: PaidAnswer,
        results: Mapping[int, MemberResult],
        judged: Mapping[int, tuple[str, str | None]],
    ) -> dict[str, Any]:
        outcome = judged[answer.member.id][0]
        return answer.row(self.provider, outcome, None if outcome == TAKEN else _raw(results[answer.member.id]))

    def _remove_files(self, requests: list[str]) -> None:
        found = [serial.load(text, self.store.bind) for text in requests if text.startswith('{"$large"')]
        keys = [file.key for value in found if isinstance(file := value.get(serial.LARGE_MARK), File)]
        if keys:
            self.store.transact(lambda tx: tx.removal.unname(keys))
            self.store.shelf.delete(keys)


def _raw(result: MemberResult) -> str:
    """The text of a reply, as a database can store it."""
    assert result.reply is not None
    return storable(result.reply.text)


def _by_key(members: Iterable[MemberRow]) -> dict[str, list[MemberRow]]:
    found: dict[str, list[MemberRow]] = {}
    for member in members:
        found.setdefault(member.key, []).append(member)
    return found
