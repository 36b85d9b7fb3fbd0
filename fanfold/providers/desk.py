"""The questions in flight in one event loop, so that the same question is asked, and paid for, once."""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from fanfold.engine.telemetry.telling import model_call
from fanfold.errors import BadAnswer, DatabaseProblem
from fanfold.model.text.sentences import say
from fanfold.model.values.questions import NOT_TOLD, Answer, Usage
from fanfold.model.values.usage import ledger
from fanfold.providers.answer_checks import judge, judge_again
from fanfold.providers.call_budget import BudgetFull, BudgetSpent, BudgetWaits, CallBudget, CallPlan
from fanfold.providers.configuration import Provider, choose, load
from fanfold.providers.inquiry import Inquiry
from fanfold.providers.limits.calls import CallLimits, CallPlace
from fanfold.providers.rate_limit import PATIENCE, RateLimit
from fanfold.providers.services import Request, Service, ServiceTrouble, TroubleKind, connect
from fanfold.store.rows.answers import ASKED, BAD_ANSWER, CACHED, NO_ANSWER, OUTCOMES, TAKEN
from fanfold.store.store import Store

log = logging.getLogger("fanfold.providers")
OTHERS_SECONDS = 0.25
"""How often to look for the answer that another worker is waiting for."""


@dataclass(frozen=True)
class BegunCall:
    """A question that is ours to ask, and the row of its call in the ledger; None when its item is gone."""

    call: int | None
    plan: CallPlan


class Desk:
    """The rate limits to all providers, and the questions that are under way, in one event loop."""

    def __init__(
        self,
        store: Store,
        providers: Mapping[str, Provider] | None = None,
        default: Provider | None = None,
        connect: Callable[[Provider], Service] = connect,
    ) -> None:
        """``providers``: those of the configuration, if none are given. ``default``: asked when a model names none."""
        self.store = store
        self.asker = uuid.uuid4().hex
        self.providers = load() if providers is None else providers
        self._default = default
        self._connect = connect
        self._now = asyncio.get_running_loop().time
        self.budget = CallBudget(store)
        self.limits = CallLimits(store, self.asker, lambda: PATIENCE)
        self._rate_limits: dict[tuple[str, str], RateLimit] = {}
        self._under_way: dict[str, asyncio.Task[Answer]] = {}

    def choose(self, entry: str) -> tuple[Provider, str]:
        """The provider and model that an entry of a chain means; BadInput where it names none."""
        return choose(entry, self.providers, self._default)

    def rate_limit(self, provider: Provider, model: str) -> RateLimit:
        """The rate limit of a model in this process; the models of a provider share its places and its connection."""
        if (provider.name, model) not in self._rate_limits:
            beside = next((limit for (name, _), limit in self._rate_limits.items() if name == provider.name), None)
            self._rate_limits[provider.name, model] = RateLimit(provider, self._now, self._connect, beside=beside)
        return self._rate_limits[provider.name, model]

    async def answer(self, rate_limit: RateLimit, inquiry: Inquiry, changes: dict[str, Any]) -> Answer:
        """A kept answer, the one that somebody is waiting for already, or a new one. BadAnswer also for one that was bad before.

        A question that is under way is not given up when its item is: the answer is paid for, and will be wanted later.
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
        """The answer to a question that may be under way already, and whether it was asked for this inquiry."""
        while True:
            mine = key not in self._under_way
            if mine:
                flight = asyncio.create_task(self._fetch(rate_limit, inquiry, changes, key))
                self._under_way[key] = flight
                flight.add_done_callback(lambda done: self._landed(key, done))
            try:
                return await asyncio.shield(self._under_way[key]), mine
            except (BudgetSpent, BudgetWaits):
                if mine:
                    raise  # Otherwise it was the budget of another task: this one asks for itself.

    async def finish(self, seconds: float) -> None:
        """Wait for what is under way: it is paid for, and nobody else waits for it."""
        if self._under_way:
            await asyncio.wait(list(self._under_way.values()), timeout=seconds)

    async def close(self) -> None:
        """Let go of all connections, and give back what is left of the shared limits."""
        await self.limits.close()
        for rate_limit in self._rate_limits.values():
            await rate_limit.close()

    def _landed(self, key: str, done: asyncio.Task[Answer]) -> None:
        del self._under_way[key]
        if not done.cancelled():
            done.exception()  # Whoever waited has it; when nobody did, it is not to be complained about.

    async def _fetch(self, rate_limit: RateLimit, inquiry: Inquiry, changes: dict[str, Any], key: str) -> Answer:
        """Ask as soon as the rate limit is open, again when it was closed meanwhile, and once among all workers."""
        give_up_at = self._now() + PATIENCE
        while True:
            shared = self.limits.place(inquiry.provider, inquiry.model, inquiry.question)
            async with rate_limit.place(), shared as place:
                begun = await asyncio.to_thread(self._begin, key, inquiry, changes)
                if isinstance(begun, BegunCall):
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
                        if self._now() + rate_limit.closed_seconds() > give_up_at:
                            raise
                        continue
                    except BaseException:
                        self._give_up(key, inquiry, begun)
                        raise
            if isinstance(begun, Answer):
                return begun
            if isinstance(begun, BudgetFull):
                await self.budget.until_room(begun.plan, begun.scope, give_up_at)
            else:
                await asyncio.sleep(OTHERS_SECONDS)

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
            # The libraries' own limits are for each read: a service that sends a byte now and then would never be late.
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
        answer = Answer(_storable(text), inquiry.provider.name, inquiry.model, reply.usage, seconds)
        raw = reply.text if question.keep_raw else None
        row = _row(inquiry, key, TAKEN, reply.usage, answer.seconds, raw)
        await self._persistently(self._keep, begun, row, key, answer)
        await self._persistently(self._reconcile, begun, inquiry, key)
        return answer

    async def _persistently(self, write: Callable[..., None], *values: Any) -> None:
        """Write what was paid for, again and again while the database cannot be reached."""
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
        """The answer that is kept for everybody; BadAnswer when there is none and this item was given a bad one before."""
        with self.store.read() as tx:
            body = tx.answers.get(key)
            rejected = tx.calls.rejected(inquiry.asking.item, inquiry.asking.first_lease, key) if body is None else None
        if rejected is not None:
            text = judge_again(rejected.raw, rejected.code, inquiry.question.check)
            self.account(inquiry, None, CACHED, NOT_TOLD, 0.0)
            return Answer(text, inquiry.provider.name, inquiry.model, cached=True)
        if body is None:
            return None
        answer = unpacked(body)
        if inquiry.question.check is not None:
            try:
                answer = replace(answer, text=inquiry.question.check(answer.text))
            except BadAnswer:
                with self.store.write() as tx:
                    tx.answers.drop(key)
                return None
        self.account(inquiry, key, CACHED, NOT_TOLD, 0.0)
        return answer

    def _begin(self, key: str, inquiry: Inquiry, changes: dict[str, Any]) -> BegunCall | Answer | BudgetFull | None:
        """Begun when the question is ours to ask; the answer when somebody has it; None when somebody is asking.

        An earlier attempt at the item may have got a bad answer meanwhile, which ends the asking like a good one.

        The call is noted and its cost reserved in the same transaction: a process that dies with it in the air leaves a trace
        of what it may cost.
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
                    if tx.calls.rejected(inquiry.asking.item, inquiry.asking.first_lease, key) is None:
                        call = tx.calls.begin(_row(inquiry, key, ASKED, NOT_TOLD, 0.0, None))
                        self.budget.reserve(tx, plan)
                        return BegunCall(call, plan)
                    tx.answers.give_up(key, self.asker)
        except BudgetFull as full:
            return full
        return self._kept(key, inquiry)

    def _give_up(
        self, key: str, inquiry: Inquiry, begun: BegunCall, trouble: ServiceTrouble | None = None, seconds: float = 0.0
    ) -> None:
        """The question may be asked again. A call that was refused was not paid; one without an answer may have been."""
        with self.store.write() as tx:
            tx.answers.give_up(key, self.asker)
            if trouble is None:
                return
            if begun.call is not None and trouble.unknown:
                tx.calls.settle(begun.call, _row(inquiry, key, NO_ANSWER, NOT_TOLD, round(seconds, 3), None))
            elif begun.call is not None:
                tx.calls.withdraw(begun.call)
            if trouble.unknown:
                self.budget.hold(tx, begun.plan)
            else:
                self.budget.release(tx, begun.plan)

    def _settle(self, begun: BegunCall, row: dict[str, Any]) -> None:
        """What became of a call, in the ledger."""
        with self.store.write() as tx:
            self.budget.note_try(tx, begun.call, begun.plan)
            if begun.call is not None:
                tx.calls.settle(begun.call, row)
            self.budget.settle(tx, begun.plan, row)

    def _keep(self, begun: BegunCall, row: dict[str, Any], key: str, answer: Answer) -> None:
        """The answer and its cost in one transaction, whatever became of the lease: it is paid for."""
        with self.store.write() as tx:
            self.budget.note_try(tx, begun.call, begun.plan)
            if begun.call is not None and tx.calls.settle(begun.call, row):
                tx.answers.keep(key, packed(answer))
            else:
                tx.answers.drop(key)  # Its task was deleted meanwhile, and leaves nothing of its texts behind.
            self.budget.settle(tx, begun.plan, row)

    def _reconcile(self, begun: BegunCall, inquiry: Inquiry, key: str) -> None:
        """Where the service knows idempotency keys, this answer is also that of earlier calls with the same key."""
        if inquiry.provider.idempotency_header and begun.call is not None:
            with self.store.write() as tx:
                tx.calls.withdraw_repeated(begun.call, inquiry.asking.item, key)

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
    return {
        "item": inquiry.asking.item,
        "lease": inquiry.asking.lease,
        "provider": inquiry.provider.name,
        "model": inquiry.model,
        "outcome": outcome,
        "seconds": seconds,
        "answer": key,
        "raw": None if raw is None else _storable(raw),
        "purpose": inquiry.purpose,
        **ledger(asdict(usage)),
    }


def _storable(text: str) -> str:
    """Text without what databases refuse: NUL, and halves of surrogate pairs."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


def packed(answer: Answer) -> str:
    """An answer as it is kept."""
    said = {
        "text": _storable(answer.text),
        "provider": answer.provider,
        "model": answer.model,
        "seconds": answer.seconds,
    }
    return json.dumps(said, ensure_ascii=False)


def unpacked(body: str) -> Answer:
    """The answer that was kept."""
    found = json.loads(body)
    return Answer(found["text"], found["provider"], found["model"], seconds=found["seconds"], cached=True)


_desks: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Desk, AsyncGenerator[None]]] = WeakKeyDictionary()


_makers: WeakKeyDictionary[Store, Callable[[Store], Desk]] = WeakKeyDictionary()


async def desk(store: Store) -> Desk:
    """The desk of this event loop; its connections are closed when the loop ends."""
    loop = asyncio.get_running_loop()
    if loop not in _desks:
        made = _makers.get(store, Desk)(store)
        keeper = _until_the_loop_ends(made)
        _desks[loop] = (made, keeper)
        await anext(keeper)
    return _desks[loop][0]


def make_desks(store: Store, make: Callable[[Store], Desk]) -> None:
    """From now on have the questions of this store asked at desks made by ``make``, in every event loop."""
    _makers[store] = make


async def finish(seconds: float) -> None:
    """Let the questions of this event loop come to their end, for at most so many seconds."""
    loop = asyncio.get_running_loop()
    if loop in _desks:
        await _desks[loop][0].finish(seconds)


async def _until_the_loop_ends(here: Desk) -> AsyncGenerator[None]:
    """A loop that ends closes its asynchronous generators: the moment to let go of connections."""
    try:
        yield
    finally:
        await here.close()
