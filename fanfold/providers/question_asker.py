"""Asks questions in one event loop, so that identical questions are asked, and paid for, once.

An asker holds the connections, rate limits and questions in flight of its event loop. Askers share answers through the database.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from fanfold.engine.telemetry.telling import model_call
from fanfold.errors import BadAnswer, DatabaseProblem
from fanfold.model.money.questions import NOT_TOLD, Answer, Usage
from fanfold.model.text.sentences import say
from fanfold.model.values.chatter import without_chatter
from fanfold.providers.answer_checks import judge, judge_again
from fanfold.providers.cached_answer import for_cache, from_cache
from fanfold.providers.configuration import Provider, choose, load
from fanfold.providers.costs.call_budget import BudgetFull, BudgetSpent, BudgetWaits, CallBudget, CallPlan, give_back
from fanfold.providers.costs.ledger_rows import ledger_row, storable
from fanfold.providers.flights import Flight, Flights
from fanfold.providers.inquiry import Inquiry
from fanfold.providers.limits.calls import CallLimits, CallPlace
from fanfold.providers.rate_limit import PATIENCE, RateLimit
from fanfold.providers.services.service import Request, Service, ServiceTrouble, TroubleKind, connect
from fanfold.store.rows.money.answers import ASKED, BAD_ANSWER, CACHED, NO_ANSWER, OUTCOMES, TAKEN
from fanfold.store.store import Store

log = logging.getLogger("fanfold.providers")
OTHERS_SECONDS = 0.25
"""How often to poll for the answer to a question that another worker is asking."""


@dataclass(frozen=True)
class BegunCall:
    """A question that this asker may send, and the id of its call in the ledger (None if its item is gone)."""

    call: int | None
    plan: CallPlan


class QuestionAsker:
    """The rate limits of all providers and the questions in flight, in one event loop."""

    def __init__(
        self,
        store: Store,
        providers: Mapping[str, Provider] | None = None,
        default: Provider | None = None,
        connect: Callable[[Provider], Service] = connect,
    ) -> None:
        """``providers``: by default those of the configuration. ``default``: the provider of models that name none."""
        self.store = store
        self.asker = uuid.uuid4().hex
        self.providers = load() if providers is None else providers
        self._default = default
        self._connect = connect
        self._now = asyncio.get_running_loop().time
        self.budget = CallBudget(store)
        self.limits = CallLimits(store, self.asker, lambda: PATIENCE)
        self._rate_limits: dict[tuple[str, str], RateLimit] = {}
        self._flights = Flights()

    def choose(self, entry: str) -> tuple[Provider, str]:
        """The provider and model of a chain entry; BadInput if the entry names none."""
        return choose(entry, self.providers, self._default)

    def rate_limit(self, provider: Provider, model: str) -> RateLimit:
        """The rate limit of a model in this process. The models of a provider share its concurrency and its connection."""
        if (provider.name, model) not in self._rate_limits:
            beside = next((limit for (name, _), limit in self._rate_limits.items() if name == provider.name), None)
            self._rate_limits[provider.name, model] = RateLimit(provider, self._now, self._connect, beside=beside)
        return self._rate_limits[provider.name, model]

    async def answer(self, rate_limit: RateLimit, inquiry: Inquiry, changes: dict[str, Any]) -> Answer:
        """A cached answer, the answer to the same question in flight, or a new one. BadAnswer also if it was bad before.

        A question that was sent continues when its item is stopped: the answer is paid for, and will be needed later.
        """
        key = inquiry.key(changes)
        kept = await asyncio.to_thread(self._kept, key, inquiry)
        if kept is not None:
            return kept
        answer, mine = await self._joined(rate_limit, inquiry, changes, key)
        if not mine:
            await asyncio.to_thread(self.account, inquiry, key, CACHED, NOT_TOLD, 0.0)
        return replace(answer, cached=answer.cached or not mine)

    async def _joined(
        self, rate_limit: RateLimit, inquiry: Inquiry, changes: dict[str, Any], key: str
    ) -> tuple[Answer, bool]:
        """The answer to a question that may be in flight already, and whether this inquiry started it."""
        while True:
            flight, mine = self._flights.join(key, partial(self._fetch, rate_limit, inquiry, changes, key))
            try:
                return await flight.answer(inquiry.asking.clock), mine
            except (BudgetSpent, BudgetWaits):
                if mine:
                    raise  # Otherwise the budget of another task stopped the question: ask it for this task.

    async def finish(self, seconds: float) -> None:
        """Wait up to ``seconds`` for the questions in flight: their answers are paid for, and nobody else waits for them."""
        await self._flights.finish(seconds)

    async def close(self) -> None:
        """Close all connections, and give back what is left of the shared limits."""
        await self.limits.close()
        for rate_limit in self._rate_limits.values():
            await rate_limit.close()

    async def _fetch(
        self, rate_limit: RateLimit, inquiry: Inquiry, changes: dict[str, Any], key: str, flight: Flight
    ) -> Answer:
        """Ask once the limits allow it, and try again after a refusal. Only one worker asks; the others poll for its answer."""
        give_up_at = self._now() + PATIENCE
        while True:
            shared = self.limits.place(inquiry.provider, inquiry.model, inquiry.question)
            async with rate_limit.place(), shared as place:
                with flight.sending():
                    found = await self._ask(rate_limit, inquiry, changes, key, place)
            if isinstance(found, Answer):
                return found
            flight.end_if_unwanted()
            if isinstance(found, ServiceTrouble):
                if self._now() + rate_limit.closed_seconds() > give_up_at:
                    raise found
            elif isinstance(found, BudgetFull):
                await self.budget.until_room(found.plan, found.scope, give_up_at)
            else:
                await asyncio.sleep(OTHERS_SECONDS)

    async def _ask(
        self, rate_limit: RateLimit, inquiry: Inquiry, changes: dict[str, Any], key: str, place: CallPlace
    ) -> Answer | ServiceTrouble | BudgetFull | None:
        """Record the call and send it. Returns a rate-limit refusal or what ``_begin`` returns; raises any other trouble."""
        begun = await asyncio.to_thread(self._begin, key, inquiry, changes)
        if not isinstance(begun, BegunCall):
            return begun
        begun_at = self._now()
        place.sent()
        try:
            return await self._call(rate_limit, inquiry, changes, key, begun, place)
        except ServiceTrouble as trouble:
            await asyncio.to_thread(self._give_up, key, inquiry, begun, trouble, self._now() - begun_at)
            if trouble.kind is TroubleKind.REFUSED:
                rate_limit.refused(inquiry.asking.task_id, inquiry.model)
            if trouble.kind is TroubleKind.UNREACHABLE:
                rate_limit.unreachable(begun_at)
            if trouble.kind is TroubleKind.LIMITED:
                rate_limit.limited(trouble.after, begun_at)
            place.failed(trouble, rate_limit.closed_seconds())
            if trouble.kind is not TroubleKind.LIMITED:
                raise
            return trouble
        except BaseException:
            # Not in a thread: a coroutine that is cancelled may not be able to wait for one.
            self._give_up(key, inquiry, begun)
            raise

    async def _call(
        self,
        rate_limit: RateLimit,
        inquiry: Inquiry,
        changes: dict[str, Any],
        key: str,
        begun: BegunCall,
        place: CallPlace,
    ) -> Answer:
        question = inquiry.question
        parameters = inquiry.parameters(changes)
        service = await rate_limit.connected()
        started = self._now()
        headers = {inquiry.provider.idempotency_header: key} if inquiry.provider.idempotency_header else {}
        request = Request(inquiry.model, question.prompt, question.images, question.system, parameters, headers)
        try:
            # The libraries' timeouts apply to each read: a service that sends a byte now and then would never time out.
            with model_call(self.store.settings, inquiry.provider.name, inquiry.model) as tell:
                async with asyncio.timeout(inquiry.provider.timeout):
                    reply = await service.call(request)
                tell(reply.usage)
        except TimeoutError:
            late = say("late", seconds=inquiry.provider.timeout)
            raise ServiceTrouble(inquiry.provider, TroubleKind.LATE, late) from None
        seconds = round(self._now() - started, 3)
        rate_limit.went_well(inquiry.model)
        place.answered(reply.usage, reply.told)
        try:
            text = judge(reply, question.check)
        except BadAnswer as bad:
            outcome = BAD_ANSWER if bad.code in OUTCOMES else bad.code
            row = _row(inquiry, key, outcome, reply.usage, seconds, reply.text)
            await self._persistently(self._settle, begun, row)
            await self._persistently(self._reconcile, begun, inquiry, key)
            raise
        cleaned = without_chatter(reply.text) != reply.text.strip()
        answer = Answer(storable(text), inquiry.provider.name, inquiry.model, reply.usage, seconds, cleaned=cleaned)
        raw = reply.text if question.keep_raw else None
        row = _row(inquiry, key, TAKEN, reply.usage, answer.seconds, raw)
        await self._persistently(self._keep, begun, row, key, answer)
        await self._persistently(self._reconcile, begun, inquiry, key)
        return answer

    async def _persistently(self, write: Callable[..., None], *values: Any) -> None:
        """Write what was paid for, and retry while the database cannot be reached."""
        pause = 0.1
        while True:
            try:
                await asyncio.to_thread(write, *values)
                return
            except DatabaseProblem as problem:
                if problem.code != "unreachable":
                    raise
                log.warning("[ask] %s Trying again in %.1f s", problem, pause)
                await asyncio.sleep(pause)
                pause = min(5.0, pause * 2)

    def _kept(self, key: str, inquiry: Inquiry) -> Answer | None:
        """The cached answer, if any; BadAnswer if there is none and this item got a bad one before."""
        with self.store.read() as tx:
            body = tx.answers.get(key)
            is_own = body is not None and tx.calls.has_paid(inquiry.asking.item, key)
            rejected = tx.calls.rejected(inquiry.asking.item, inquiry.asking.first_lease, key) if body is None else None
        if rejected is not None:
            text = judge_again(rejected.raw, rejected.code, inquiry.question.check)
            self.account(inquiry, None, CACHED, NOT_TOLD, 0.0)
            return Answer(text, inquiry.provider.name, inquiry.model, cached=True)
        if body is None:
            return None
        answer = from_cache(body)
        if inquiry.question.check is not None:
            try:
                answer = replace(answer, text=inquiry.question.check(answer.text))
            except BadAnswer:
                with self.store.write() as tx:
                    tx.answers.drop(key)
                return None
        if not is_own:  # An item that reads its own answer again has saved nothing.
            self.account(inquiry, key, CACHED, NOT_TOLD, 0.0)
        return answer

    def _begin(self, key: str, inquiry: Inquiry, changes: dict[str, Any]) -> BegunCall | Answer | BudgetFull | None:
        """Reserve the question and record its call. Returns the answer if it exists, and None while another worker asks.

        An earlier attempt at the item may have got a bad answer meanwhile, which ends the question like a good one.

        The call is recorded and its cost reserved in the same transaction: if the process dies while the call is in flight,
        a record of its possible cost remains. BudgetFull is returned if a budget has no room.
        """
        plan = self.budget.plan(inquiry, inquiry.parameters(changes))
        try:
            with self.store.write() as tx:
                if tx.answers.begin(
                    key,
                    self.asker,
                    inquiry.provider.timeout + 30,
                    inquiry.asking.item,
                    self.store.settings.lease_seconds,
                ):
                    # Since this attempt read the cache, only an earlier one can have got a bad answer.
                    is_first = inquiry.asking.lease == inquiry.asking.first_lease
                    if is_first or tx.calls.rejected(inquiry.asking.item, inquiry.asking.first_lease, key) is None:
                        call = tx.calls.begin(_row(inquiry, key, ASKED, NOT_TOLD, 0.0, None) | plan.noted)
                        self.budget.reserve(tx, plan)
                        return BegunCall(call, plan)
                    tx.answers.give_up(key, self.asker)
        except BudgetFull as full:
            return full
        return self._kept(key, inquiry)

    def _give_up(
        self, key: str, inquiry: Inquiry, begun: BegunCall, trouble: ServiceTrouble | None = None, seconds: float = 0.0
    ) -> None:
        """Release the question for others to ask. A refused call was not charged; one without an answer may have been."""
        with self.store.write() as tx:
            tx.answers.give_up(key, self.asker)
            if trouble is None:
                return
            if begun.call is not None and trouble.unknown:
                row = _row(inquiry, key, NO_ANSWER, NOT_TOLD, round(seconds, 3), None) | begun.plan.noted
                if not tx.calls.settle(begun.call, row):
                    self.budget.note_gone(tx, begun.call, begun.plan)
            elif begun.call is not None:
                tx.calls.withdraw(begun.call)
            if trouble.unknown:
                self.budget.hold(tx, begun.plan)
            else:
                self.budget.release(tx, begun.plan)

    def _settle(self, begun: BegunCall, row: dict[str, Any]) -> None:
        """Record the outcome of a call in the ledger, and its cost in the budgets."""
        with self.store.write() as tx:
            self.budget.note_try(tx, begun.call, begun.plan)
            if begun.call is not None and not tx.calls.settle(begun.call, row):
                self.budget.note_gone(tx, begun.call, begun.plan)
            self.budget.settle(tx, begun.plan, row)

    def _keep(self, begun: BegunCall, row: dict[str, Any], key: str, answer: Answer) -> None:
        """Store the answer and its cost in one transaction, even if the lease was lost: the answer is paid for."""
        with self.store.write() as tx:
            self.budget.note_try(tx, begun.call, begun.plan)
            if begun.call is not None and tx.calls.settle(begun.call, row):
                tx.answers.keep(key, for_cache(answer))
            else:
                tx.answers.drop(key)  # Its task was deleted meanwhile: none of its texts may remain.
                self.budget.note_gone(tx, begun.call, begun.plan)
            self.budget.settle(tx, begun.plan, row)

    def _reconcile(self, begun: BegunCall, inquiry: Inquiry, key: str) -> None:
        """If the service supports idempotency keys, this answer also settles earlier calls with the same key."""
        if inquiry.provider.idempotency_header and begun.call is not None:
            with self.store.write() as tx:
                give_back(tx, tx.calls.withdraw_repeated(begun.call, inquiry.asking.item, key))

    def account(
        self,
        inquiry: Inquiry,
        key: str | None,
        outcome: str,
        usage: Usage,
        seconds: float,
        raw: str | None = None,
    ) -> None:
        """Write a call into the ledger."""
        with self.store.write() as tx:
            tx.calls.add([_row(inquiry, key, outcome, usage, seconds, raw)])


def _row(
    inquiry: Inquiry, key: str | None, outcome: str, usage: Usage, seconds: float, raw: str | None
) -> dict[str, Any]:
    asking = inquiry.asking
    return ledger_row(
        inquiry.provider, inquiry.model, outcome, usage,
        item=asking.item, lease=asking.lease, key=key, seconds=seconds, raw=raw, purpose=inquiry.purpose,
    )  # fmt: skip


_askers: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[QuestionAsker, AsyncGenerator[None]]] = WeakKeyDictionary()


_makers: WeakKeyDictionary[Store, Callable[[Store], QuestionAsker]] = WeakKeyDictionary()


async def asker_here(store: Store) -> QuestionAsker:
    """The asker of this event loop; its connections are closed when the loop ends."""
    loop = asyncio.get_running_loop()
    if loop not in _askers:
        made = _makers.get(store, QuestionAsker)(store)
        keeper = _until_the_loop_ends(made)
        _askers[loop] = (made, keeper)
        await anext(keeper)
    return _askers[loop][0]


def make_askers(store: Store, make: Callable[[Store], QuestionAsker]) -> None:
    """From now on, create the asker of each event loop for this store with ``make``."""
    _makers[store] = make


async def finish(seconds: float) -> None:
    """Wait up to ``seconds`` for the questions in flight in this event loop."""
    loop = asyncio.get_running_loop()
    if loop in _askers:
        await _askers[loop][0].finish(seconds)


async def _until_the_loop_ends(here: QuestionAsker) -> AsyncGenerator[None]:
    """Close the asker when its event loop ends: a loop that ends closes its asynchronous generators."""
    try:
        yield
    finally:
        await here.close()
