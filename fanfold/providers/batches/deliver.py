"""Writes the results of a batch: answers into the cache, costs into the ledger, and the items that waited are due."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from fanfold.errors import BadAnswer
from fanfold.model.batch import MemberState
from fanfold.model.values import serial
from fanfold.model.values.files import File
from fanfold.model.values.questions import Answer, Usage
from fanfold.model.values.usage import ledger
from fanfold.providers.answer_checks import judge
from fanfold.providers.batches.batch_service import MemberResult
from fanfold.providers.batches.trial import charge
from fanfold.providers.configuration import Provider
from fanfold.providers.desk import packed
from fanfold.providers.services import Reply
from fanfold.store.rows.answers import BAD_ANSWER, OUTCOMES, TAKEN
from fanfold.store.rows.batched_questions import MemberRow
from fanfold.store.rows.batches import BatchRow
from fanfold.store.store import Store, Transaction

AT_ONCE = 100
"""Results that are written in one transaction."""


class Delivery:
    """The results of one batch on their way into the database."""

    def __init__(self, store: Store, provider: Provider, batch: BatchRow) -> None:
        self.store = store
        self.provider = provider
        self.batch = batch
        self._results: dict[int, MemberResult] = {}

    @property
    def is_full(self) -> bool:
        """Whether it is time to write."""
        return len(self._results) >= AT_ONCE

    def add(self, result: MemberResult) -> None:
        """Take a result; those of questions that are not ours are passed over."""
        name, dash, number = result.name.rpartition("-")
        if dash and name == self.batch.name and number.isdecimal() and (result.reply or result.trouble):
            self._results[int(number)] = result

    def write(self) -> None:
        """Write what was taken, in one transaction, and remove the files of requests that are not needed any more."""
        results, self._results = self._results, {}
        if results:
            judged = {id_: self._judged(result.reply) for id_, result in results.items() if result.reply is not None}
            folded = self.store.transact(lambda tx: self._write(tx, results, judged))
            self._remove_files(folded)

    def _judged(self, reply: Reply) -> tuple[str, str | None]:
        """The outcome of an answer for the ledger, and its text where it can be taken."""
        try:
            return TAKEN, judge(reply)
        except BadAnswer as bad:
            return BAD_ANSWER if bad.code in OUTCOMES else bad.code, None

    def _write(
        self, tx: Transaction, results: dict[int, MemberResult], judged: dict[int, tuple[str, str | None]]
    ) -> list[str]:
        """Settle the questions. One that was asked live meanwhile is paid as well; its answer is kept all the same."""
        waiting = tx.batched.open_among(list(results))
        known = {member.id: member for member in tx.batched.by_ids(list(results))}
        settled: list[MemberRow] = []
        passed_over: set[int] = set()
        for id_, member in known.items():
            if member.state in (MemberState.ANSWERED, MemberState.FAILED):
                passed_over.add(id_)  # It was written before the worker died that read these results first.
                continue
            if (reply := results[id_].reply) is not None:
                outcome, text = judged[id_]
                if not tx.calls.add([self._call(member, outcome, reply)]):
                    passed_over.add(id_)
                    continue
                if text is not None:
                    tx.answers.keep(member.key, packed(Answer(text, self.batch.provider, self.batch.model)))
                same = [one for one in waiting if one.key == member.key and (text is not None or one.id == id_)]
                tx.batched.settle([one.id for one in same], MemberState.ANSWERED)
                if member.state is MemberState.LIVE:
                    tx.batched.answer_late(id_)
            else:
                trouble = results[id_].trouble
                assert trouble is not None
                same = [one for one in waiting if one.key == member.key]
                reason = str(trouble.kind), trouble.message
                tx.batched.settle([one.id for one in same], MemberState.FAILED, *reason)
            settled += same
        tx.batched.wake([member.item for member in settled])
        tx.batched.free_budgets()
        for id_, member in known.items():
            if (reply := results[id_].reply) is not None and id_ not in passed_over:
                charge(tx, member, self._at_batch_price(reply.usage))
        return [member.request for member in settled if member.request]

    def _call(self, member: MemberRow, outcome: str, reply: Reply) -> dict[str, Any]:
        return {
            "item": member.item,
            "lease": member.lease,
            "provider": self.batch.provider,
            "model": self.batch.model,
            "outcome": outcome,
            "seconds": 0.0,
            "answer": member.key,
            "raw": None if outcome == TAKEN else reply.text.replace("\0", "\N{REPLACEMENT CHARACTER}"),
            **ledger(asdict(self._at_batch_price(reply.usage))),
        }

    def _at_batch_price(self, usage: Usage) -> Usage:
        return usage if usage.cost is None else replace(usage, cost=usage.cost * self.provider.batch_price)

    def _remove_files(self, requests: list[str]) -> None:
        found = [serial.load(text, self.store.bind) for text in requests if text.startswith('{"$large"')]
        keys = [file.key for value in found if isinstance(file := value.get(serial.LARGE_MARK), File)]
        if keys:
            self.store.transact(lambda tx: tx.removal.unname(keys))
            self.store.shelf.delete(keys)
