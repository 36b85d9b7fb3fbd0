"""The shared limits of all models that one event loop asks: each call gets its slot here, and reports its outcome."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from fanfold.model.money.questions import Question, Usage
from fanfold.model.money.rate_limits import Dimension
from fanfold.model.text.sentences import say
from fanfold.providers.configuration import Provider
from fanfold.providers.limits.lease import LimitRows
from fanfold.providers.limits.limit_settings import sizes_for
from fanfold.providers.limits.need import NOTHING, Need, NeedEstimate
from fanfold.providers.limits.shared import MustWait, SharedLimit
from fanfold.providers.limits.told import ToldLimit
from fanfold.providers.services.service import ServiceTrouble, TroubleKind
from fanfold.store.store import Store


class CallPlace:
    """The slot of one call under the limit of its model."""

    def __init__(self, limit: SharedLimit, estimate: NeedEstimate, question: Question) -> None:
        self.limit = limit
        self.need = estimate.need(question)
        self.used: Need | None = NOTHING
        """What the call used: nothing before it is sent, None (counted as estimated) while that is unknown."""
        self._estimate = estimate
        self._question = question
        self._now = limit.now
        self._sent_at = 0.0

    def sent(self) -> None:
        """The call is sent: from now on it counts."""
        self.used, self._sent_at = None, self._now()

    def answered(self, usage: Usage, told: tuple[ToldLimit, ...]) -> None:
        """An answer came."""
        self.used = self._estimate.learn(self._question, usage)
        self.limit.went_well()
        self.limit.learn(told)

    def failed(self, trouble: ServiceTrouble, closed_seconds: float) -> None:
        """No answer came. A refusal closes the limit for all workers. A call that was not served used no tokens."""
        self.limit.learn(trouble.told)
        ago = self._now() - self._sent_at
        if trouble.kind is TroubleKind.QUOTA:
            self.limit.refused(trouble.after or 0.0, ago, is_quota=True)
        elif trouble.kind is TroubleKind.LIMITED:
            self.limit.refused(closed_seconds, ago)
        if not trouble.unknown:
            self.used = NOTHING | {Dimension.REQUESTS: 1.0, Dimension.REQUESTS_DAY: 1.0}


class CallLimits:
    """The limits of one event loop, by account and model."""

    def __init__(self, store: Store, asker: str, patience: Callable[[], float]) -> None:
        self.store = store
        self.holder = f"{socket.gethostname()[:60]}-{os.getpid()}-{asker[:6]}"
        self._patience = patience
        self._limits: dict[str, tuple[SharedLimit, NeedEstimate]] = {}

    def of(self, provider: Provider, model: str) -> tuple[SharedLimit, NeedEstimate]:
        """The limit of a model, and the estimate of what its calls use."""
        key = provider.limit_key(model)
        if key not in self._limits:
            rows = LimitRows(self.store, key, sizes_for(provider, model), provider.concurrency, self.holder)
            now = asyncio.get_running_loop().time
            self._limits[key] = (SharedLimit(rows, now=now, patience=self._patience), NeedEstimate())
        return self._limits[key]

    @asynccontextmanager
    async def place(self, provider: Provider, model: str, question: Question) -> AsyncIterator[CallPlace]:
        """A slot for one call, as soon as the limit allows it; ServiceTrouble if that would take too long."""
        limit, estimate = self.of(provider, model)
        place = CallPlace(limit, estimate, question)
        try:
            await limit.enter(place.need)
        except MustWait as wait:
            kind = TroubleKind.QUOTA if wait.is_quota else TroubleKind.LIMITED
            why = say("quota_spent") if wait.is_quota else say("limit_used_up", limit=limit.rows.key)
            raise ServiceTrouble(provider, kind, why, wait.seconds, is_own=True) from None
        try:
            yield place
        finally:
            limit.leave(place.need, place.used)

    async def close(self) -> None:
        """Give back what is held."""
        for limit, _ in self._limits.values():
            await limit.close()
