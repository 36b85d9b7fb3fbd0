"""Runs one call of a batch handler: a list of items of one task, each with its own lease, costs and end.

What the handler returns is a list: for each item, what a handler of that item alone would have returned, or the exception that it
would have raised. If the call fails as a whole, all of its items are tried again in smaller batches (`claiming/batches.py`), and
none is given up before it has failed alone.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from fanfold.engine.worker.attempt.attempt_result import OutOfTime, Settlement
from fanfold.engine.worker.attempt.call import Call
from fanfold.engine.worker.attempt.fixed_items import FixedItems
from fanfold.engine.worker.processes.forks import end_copy, in_one_process
from fanfold.errors import BadInput, Cancelled, ChildDied, HoldItem, LeaseLost, Permanent
from fanfold.model.endings import Ending
from fanfold.model.item import Claimed
from fanfold.model.text.sentences import say


class BatchCall:
    """One call with several items. Like a ``Call``, but everything that ends it is a list, one settlement per item."""

    outcomes: Sequence[Settlement] = ()
    """How it ended in its thread or child, known even while the loop is blocked."""

    def __init__(self, first: Call, others: Sequence[Claimed]) -> None:
        """``first`` is the call of its first item alone."""
        self.parts = [first, *map(first.beside, others)]
        self.store, self.stage, self.row = first.store, first.stage, first.row
        self.claimed = first.claimed
        """The first of its items, which stands for all where one is enough."""
        self.time = first.time
        self._given = self.parts
        """The items that the handler gets: all whose input can be read."""
        self._ended: dict[int, Settlement] = {}
        """Items that ended before the handler was called."""

    @property
    def name(self) -> str:
        """Its items in a log line."""
        others = len(self.parts) - 1
        return f"{self.claimed.key} and {others} more" if others else self.claimed.key

    @cached_property
    def _leases(self) -> dict[int, int]:
        return {call.claimed.id: call.claimed.lease for call in self.parts}

    def lease_of(self, item: int) -> int | None:
        """The lease of one of its items."""
        return self._leases.get(item)

    def stop(self, item: int | None = None) -> bool:
        """Mark an item, or all, as no longer wanted; returns whether none is wanted any more."""
        for call in self.parts:
            if item is None or call.claimed.id == item:
                call.work._stop.set()
        return all(call.work.cancelled for call in self.parts)

    def run_sync(self) -> list[Settlement]:
        """Call a plain handler in this thread; whatever happens becomes a settlement per item."""
        home = os.getpid()
        try:
            items = self._read()
            value = self.stage.handler(items) if items else []
            end_copy(home)
            return self.conclude(in_one_process(value) if inspect.isgenerator(value) else value)
        except BaseException as error:
            end_copy(home, error)
            return self.end(error)
        finally:
            self._close()

    async def run_async(self) -> list[Settlement]:
        """Await an `async def` handler; only a cancellation from outside propagates."""
        home = os.getpid()
        try:
            items = await self.parts[0]._beside(self._read)
            value: Any = []
            if items:
                made = self.stage.handler(items)
                value = [one async for one in made] if inspect.isasyncgen(made) else await made
            end_copy(home)
            return await self.parts[0]._beside(self.conclude, value)
        except asyncio.CancelledError as error:
            end_copy(home, error)
            attempt = asyncio.current_task()
            if attempt is not None and not attempt.cancelling():
                return self.end(error)  # Raised by the handler itself: releasing the items would repeat it forever.
            self.stop()
            raise
        except BaseException as error:
            end_copy(home, error)
            return self.end(error)
        finally:
            self._close()

    def _read(self) -> list[Any]:
        """The handler's argument. An item whose input cannot be read ends by itself, and the others continue."""
        self.parts[0].check_kind()
        for call in self.parts:
            try:
                call.read_input()
            except Exception as error:
                self._ended[call.claimed.id] = call.end(error)
        if self._ended:
            self._given = [call for call in self.parts if call.claimed.id not in self._ended]
        return FixedItems(call.work for call in self._given)

    def conclude(self, value: Any) -> list[Settlement]:
        """The settlements for the handler's list."""
        found = list(value) if inspect.isgenerator(value) else value
        if not isinstance(found, list | tuple):
            raise BadInput(
                say("batch_returns_list", stage=self.stage.name, type=type(found).__name__), code="bad_batch"
            )
        if len(found) != len(self._given):
            raise BadInput(
                say("batch_returns_each", stage=self.stage.name, results=len(found), items=len(self._given)),
                code="bad_batch",
            )
        return self._in_order([_concluded(call, one) for call, one in zip(self._given, found, strict=True)])

    def end(self, error: BaseException) -> list[Settlement]:
        """The settlements for an exception of the whole call: nobody knows which item is at fault, unless there is only one."""
        given = self._given
        if len(given) == 1:
            return self._in_order([given[0].end(error)])
        if isinstance(error, Cancelled | LeaseLost) and any(call.work.cancelled for call in given):
            # One item was taken away, and the handler stopped for it. The others have not failed.
            return self._in_order([call.release() for call in given])
        return self._in_order(self._shared([call.end(error) for call in given], error))

    def _shared(self, ends: list[Settlement], error: BaseException) -> list[Settlement]:
        """The ends of a call that failed as a whole: no item is given up, and all come back together, in smaller batches."""
        first = ends[0]
        delay = first.delay
        if first.ending in (Ending.FAIL, Ending.HOLD):
            useless = isinstance(error, Permanent | BadInput | HoldItem)
            delay = 0.0 if useless else self.stage.retry.delay(first.claimed.failures + 1)
        return [self._spared(one, error)._replace(delay=delay, shared=True) for one in ends]

    def _spared(self, one: Settlement, error: BaseException) -> Settlement:
        if one.ending is Ending.HOLD:
            call = next(call for call in self._given if call.claimed.id == one.claimed.id)
            one = call.fail(error)
        return one._replace(ending=Ending.BACK_OFF) if one.ending is Ending.FAIL else one

    def fail(self, error: BaseException) -> list[Settlement]:
        """The settlements for a failure of the whole call."""
        return self.end(error)

    def lose(self, death: ChildDied) -> list[Settlement]:
        """The settlements for a dead child process."""
        return self.end(death)

    def time_out(self) -> list[Settlement]:
        """The settlements for a call that took too long."""
        self.stop()
        ends = [call.time_out() for call in self._given]
        return self._in_order(ends if len(ends) == 1 else self._shared(ends, TimeoutError()))

    def release(self, pause: str | None = None, out_of_time: OutOfTime | None = None) -> list[Settlement]:
        """Hand all items back without a failure counted."""
        return self._in_order([call.release(pause, out_of_time) for call in self._given])

    def _in_order(self, ends: list[Settlement]) -> list[Settlement]:
        """One settlement per item, in the order of the items."""
        if not self._ended:
            return ends
        known = self._ended | {one.claimed.id: one for one in ends}
        return [known[call.claimed.id] for call in self.parts]

    def _close(self) -> None:
        for call in self.parts:
            call.work.close()


def _concluded(call: Call, value: Any) -> Settlement:
    """How one item ended: with a result, or with the exception that stands in its place."""
    if isinstance(value, BaseException):
        return call.end(value)
    try:
        return call.conclude(value)
    except Exception as error:
        return call.end(error)
