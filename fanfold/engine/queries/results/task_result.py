"""The results of a stage, in order, as a merge reads them."""

from __future__ import annotations

import heapq
import shlex
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from operator import attrgetter
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from fanfold.errors import NotFound, Unreadable
from fanfold.model.decision import Decision, DecisionVerdict
from fanfold.model.item import Result
from fanfold.model.lifecycle import ItemState
from fanfold.model.money.questions import NOTHING_SPENT, Spending
from fanfold.model.pipelines.kept_types import NO_TYPES, KeptTypes
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.model.values.annotations import is_plain
from fanfold.model.values.decoding import PLAIN, Reading, unreadable
from fanfold.model.values.files import File
from fanfold.model.values.serial import MARKED, load_own
from fanfold.model.values.typed import In, Out
from fanfold.store.files.file_store import BlobGone
from fanfold.store.items.kept import MANY, Kept
from fanfold.store.rows.decisions import DecisionRow
from fanfold.store.store import Store, Transaction

Made = TypeVar("Made")


def decision_of(row: DecisionRow, reading: Reading = PLAIN) -> Decision:
    """A decision with its value."""
    return Decision(*row[:4], DecisionVerdict(row.verdict), serial.load(row.value, reading=reading), row.actor, row.at)


GONE_NAMED = 100
"""Most items, with results missing from the data folder, named in one command to redo them."""


class _Page(NamedTuple):
    """Items of a stage, and what belongs to them."""

    rows: Sequence[Kept]
    earlier: Mapping[int, Sequence[str]]
    """Why they were degraded in earlier stages, by position."""
    decided: Mapping[str, Mapping[str, DecisionRow]]
    spent: Mapping[int, Spending]


class Results(Generic[In, Out]):
    """The results of a stage: a lazy, ordered stream, read page by page however many there are.

    ``before`` names the `each` stages that lead to it directly: an item that failed there never reached this stage and is
    missing here, and a result that was made from a degraded one is degraded. By default, ``reading`` reads values as handlers
    do.
    """

    kept_types: ClassVar[tuple[str, ...]] = ("input", "output")

    def __init__(
        self,
        store: Store,
        task: int,
        stage: str,
        before: Sequence[str] = (),
        types: KeptTypes = NO_TYPES,
        reading: Reading | None = None,
        bind: Callable[[File], File] | None = None,
    ) -> None:
        self._store = store
        self._task = task
        self._stage = stage
        self._before = before
        self._types = types
        self._reading = reading or types.reading
        self._bind = bind

    def __iter__(self) -> Iterator[Result[In, Out]]:
        """The available results, in order; `all` and `missing` include the rest."""
        return (result for result in self.all() if result.ok)

    def after(self, seq: int) -> Iterator[Result[In, Out]]:
        """The available results of the items after a position, in order: for reading a long stage page by page."""
        return (result for result in self._of(self._stage, after=seq) if result.ok)

    def missing(self) -> Iterator[Result[In, Out]]:
        """Items without a result, in order, with the reason."""
        return (result for result in self.all() if not result.ok)

    def all(self) -> Iterator[Result[In, Out]]:
        """Every item in order; ``ok`` says whether it has a result. An item that failed in an earlier stage is listed with
        that failure."""
        gaps = [self._of(stage, failed=True) for stage in self._stages_with_gaps()]
        if not gaps:
            yield from self._of(self._stage)
            return
        last = -1
        for result in heapq.merge(*gaps, self._of(self._stage), key=attrgetter("seq")):
            if result.seq != last:
                yield result
            last = result.seq

    def remembered(
        self, make: Callable[[Result[In, Out]], Made], memory: MutableMapping[int, tuple[Any, Made]]
    ) -> Iterator[Made]:
        """What ``make`` returns for every item, as `all` lists them. It is called only for items that are new or changed.

        ``memory`` holds what it returned earlier: keep one in the process for each task, stage and ``make``. A merge that is
        repeated after a decision then reads one result instead of all. An item has changed if its result, its decisions or
        its calls have. A stage that follows another `each` stage is read whole.
        """
        if self._before:
            yield from map(make, self.all())
            return
        after = 0
        while True:
            with self._store.read() as tx:
                stamps = tx.reading.stamps(self._task, self._stage, after)
                spent = self._spent(tx, [one.id for one in stamps])
                newest = tx.decisions.newest(self._task, self._stage)
                now = {one.seq: (one, newest.get(one.key), spent.get(one.id)) for one in stamps}
                found = {seq: memory[seq] for seq in now if seq in memory}
                changed = [seq for seq, stamp in now.items() if seq not in found or found[seq][0] != stamp]
                rows = tx.reading.kept_at(self._task, self._stage, changed) if changed else []
                page = _Page(rows, {}, tx.decisions.latest(self._task, self._stage, [row.key for row in rows]), spent)
            found |= {result.seq: (now[result.seq], make(result)) for result in self._read(self._stage, page)}
            memory.update(found)
            yield from (found[seq][1] for seq in now)
            if len(stamps) < MANY:
                return
            after = stamps[-1].seq

    def _stages_with_gaps(self) -> list[str]:
        """Earlier stages of the chain with failed items; checking the counts avoids reading the others."""
        if not self._before:
            return []
        with self._store.read() as tx:
            counted = tx.counting.counts([self._task]).get(self._task, {})
        return [stage for stage in self._before if stage in counted and counted[stage][ItemState.FAILED]]

    def _of(self, stage: str, *, failed: bool = False, after: int = 0) -> Iterator[Result[In, Out]]:
        """The items of one stage in order, after a position; with ``failed`` only those that failed."""
        while True:
            with self._store.read() as tx:
                rows = tx.reading.kept(self._task, stage, after, failed=failed)
                earlier = tx.reading.degraded_before(self._task, self._before, rows)
                decided = tx.decisions.latest(self._task, stage, [row.key for row in rows])
                spent = self._spent(tx, [row.id for row in rows])
            yield from self._read(stage, _Page(rows, earlier, decided, spent))
            if len(rows) < MANY:
                return
            after = rows[-1].seq

    def _spent(self, tx: Transaction, ids: Sequence[int]) -> Mapping[int, Spending]:
        return tx.calls.of_items(ids) if tx.calls.exist(self._task) else {}

    def _read(self, stage: str, page: _Page) -> Iterator[Result[In, Out]]:
        """The results of a page, with their values."""
        takes, makes = self._types.input(stage), self._types.output(stage)
        plain_input, plain_output = (self._reading.plain or is_plain(hint) for hint in (takes, makes))
        rows, earlier, decided, spent = page
        for id_, seq, key, state, given, made, code, message, model, usage, seconds, degraded in rows:
            ok = state == ItemState.DONE
            output: Any
            try:
                if not ok or made is None:
                    output = None
                elif plain_output and MARKED not in made:
                    output = load_own(made)
                else:
                    output = self._value(made, makes, stage, key)
            except BlobGone:
                raise self._gone([one for one in rows if one.seq >= seq]) from None
            is_own = given is None or (plain_input and MARKED not in given)
            yield Result(
                key,
                seq,
                ok,
                load_own(given) if is_own else self._value(given, takes, None, key),
                output,
                code,
                message,
                model,
                None if usage is None else serial.load(usage),
                None if seconds is None else round(seconds, 3),
                spent.get(id_, NOTHING_SPENT),
                "; ".join((*earlier[seq], *([degraded] if degraded else ()))) if seq in earlier else degraded,
                {part: decision_of(one, self._reading) for part, one in decided[key].items()} if key in decided else {},
            )

    def _value(self, text: str | None, hint: Any, made_by: str | None, key: str) -> Any:
        try:
            return self._store.unfold(text, self._reading, hint, self._bind)
        except Unreadable as problem:
            made = say("output_of_item", stage=made_by, item=key)
            raise unreadable(say("input_of_item", item=key) if made_by is None else made, problem) from problem

    def _gone(self, rows: Sequence[Kept]) -> NotFound:
        """The error for results whose file is gone: which, and how to redo them."""
        lost = [row.key for row in rows if row.state == ItemState.DONE and not self._is_there(row)]
        with self._store.read() as tx:
            task = tx.tasks.get(self._task)
        named = ", ".join(lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
        again = " ".join(f"--item {shlex.quote(key)}" for key in lost[:GONE_NAMED])
        return NotFound(
            say("result_file_gone", stage=self._stage, item=named, task=task.id if task else "TASK", again=again),
            code=BlobGone.code,
        )

    def _is_there(self, row: Kept) -> bool:
        try:
            self._store.unfold(row.output)
        except BlobGone:
            return False
        return True
