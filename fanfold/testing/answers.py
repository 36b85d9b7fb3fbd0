"""Scripted answers: what a model says in a test, and every way in which a service can fail to answer.

engine.answer("Bonjour")                                 # to every question
engine.answer("Bonjour", to="Translate")                 # to questions with this text
engine.answers("One", "Two", rate_limited(after=30))     # one after the other
engine.answer(lambda request: request.prompt.upper())    # made from the question
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from fanfold.model.money.questions import Usage
from fanfold.model.text.sentences import say
from fanfold.providers.configuration import Provider, load
from fanfold.providers.services.service import Finish, Request, ServiceReply, ServiceTrouble, TroubleKind

COST = 0.01
"""What a scripted answer costs in US dollars, unless it says otherwise."""
A_CENT = Usage(cost=COST)
TEST_PROVIDER = Provider("test", model="test-model")
"""The provider that is asked when a pipeline names none."""


@dataclass(frozen=True)
class Scripted:
    """What happens to one question: an answer or an error."""

    text: str = ""
    finish: Finish = Finish.WHOLE
    usage: Usage = A_CENT
    seconds: float = 0.0
    """How long it takes, on the clock of the test."""
    trouble: TroubleKind | None = None
    said: str = ""
    after: float | None = None
    unknown: bool = False
    crashes: bool = False


Answering = str | Scripted | Callable[[Request], "str | Scripted"]
"""A text, one of the functions of this module, or a function that takes the question and returns either."""
Fits = str | Callable[[Request], bool] | None
"""Which questions to answer: those whose prompt contains this text, those for which a function returns True, or all."""


def answer(
    text: str,
    *,
    cost: float | None = COST,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    seconds: float = 0.0,
) -> Scripted:
    """An answer with a price or a duration. ``cost=None`` means that the price is unknown."""
    return Scripted(text, usage=Usage(input_tokens, output_tokens, cost=cost), seconds=seconds)


def cut_off(text: str = "An answer without") -> Scripted:
    """A bad answer that is cut off, as at the token limit."""
    return Scripted(text, Finish.CUT_OFF)


def filtered(text: str = "") -> Scripted:
    """A bad answer that the service's content filter stopped."""
    return Scripted(text, Finish.FILTERED)


def rate_limited(after: float | None = None) -> Scripted:
    """The service is called too often (429). The item waits for ``after`` seconds; no retry is used up."""
    return Scripted(trouble=TroubleKind.LIMITED, said="answered 429: too many requests", after=after)


def quota_used_up(after: float = 86_400.0) -> Scripted:
    """The daily quota of the model is used up. The next model of the chain is asked; the last one is waited for."""
    return Scripted(trouble=TroubleKind.QUOTA, said="answered 429: the daily quota is used up", after=after)


def refused() -> Scripted:
    """The key, the account or the model is not accepted (401 to 404). Several in a row pause the task."""
    return Scripted(trouble=TroubleKind.REFUSED, said="answered 401: the key is not accepted")


def rejected() -> Scripted:
    """The service does not accept this request (400). Another model of the chain may."""
    return Scripted(trouble=TroubleKind.REJECTED, said="answered 400: the request is not accepted")


def busy(after: float | None = None) -> Scripted:
    """The service failed (500). The item is tried again, which uses up a retry."""
    return Scripted(trouble=TroubleKind.BUSY, said="answered 500: internal error", after=after)


def unreachable() -> Scripted:
    """The service cannot be reached. The item waits; no retry is used up."""
    return Scripted(trouble=TroubleKind.UNREACHABLE, said="cannot be reached")


def timed_out() -> Scripted:
    """The service does not answer before the provider's timeout. The call may have been charged; it uses up a retry."""
    return Scripted(seconds=float("inf"))


def unknown_outcome() -> Scripted:
    """The connection broke after the request was sent (502): the call may have been charged. It uses up a retry."""
    return Scripted(trouble=TroubleKind.BUSY, said="answered 502: bad gateway", unknown=True)


def worker_crash() -> Scripted:
    """The worker dies while it waits for the answer. The call may have been charged."""
    return Scripted(crashes=True)


class UnscriptedQuestion(AssertionError):
    """A handler asked something for which the test has no answer."""


@dataclass
class Rule:
    """Answers for the questions that match: always the same one, or each once, in order."""

    fits: Fits
    model: str | None
    left: Iterator[Answering]

    def takes(self, request: Request) -> bool:
        """Whether this rule answers the question."""
        if self.model is not None and request.model != self.model:
            return False
        if callable(self.fits):
            return self.fits(request)
        return self.fits is None or self.fits in request.prompt


class Script:
    """The answers of one test, and the questions that it asked."""

    def __init__(self, crash: Callable[[], BaseException]) -> None:
        self.requests: list[Request] = []
        self._problem: UnscriptedQuestion | None = None
        self._rules: list[Rule] = []
        self._crash = crash

    def add(self, rule: Rule) -> None:
        """Later rules apply when no earlier rule has an answer left."""
        self._rules.append(rule)

    def connect(self, provider: Provider) -> ScriptedService:
        """A scripted service, the same for every provider."""
        return ScriptedService(provider, self)

    def next_for(self, request: Request) -> Scripted:
        """The scripted answer to this question."""
        self.requests.append(request)
        for rule in self._rules:
            if rule.takes(request) and (found := next(rule.left, None)) is not None:
                made = found(request) if callable(found) else found
                return Scripted(made) if isinstance(made, str) else made
        raise self._unscripted(request)

    def take_problem(self) -> UnscriptedQuestion | None:
        """The first question without an answer since the last call. It ends the run, even if the handler catches the error."""
        problem, self._problem = self._problem, None
        return problem

    def crash(self) -> BaseException:
        """The exception to raise where the worker dies."""
        return self._crash()

    def _unscripted(self, request: Request) -> UnscriptedQuestion:
        shown = " ".join(request.prompt.split())[:200]
        problem = UnscriptedQuestion(
            f"There is no answer for question {len(self.requests)}, to {request.model}: {shown!r}. "
            "Script one with engine.answer(…) or engine.answers(…)."
        )
        self._problem = self._problem or problem
        return problem


class ScriptedService:
    """Replaces the connection to a provider. Fanfold itself checks, stores and accounts for the answers."""

    def __init__(self, provider: Provider, script: Script) -> None:
        self.provider = provider
        self._script = script

    async def call(self, request: Request) -> ServiceReply:
        """The next answer of the script."""
        scripted = self._script.next_for(request)
        if scripted.crashes:
            raise self._script.crash()
        if scripted.seconds:
            await asyncio.sleep(min(scripted.seconds, self.provider.timeout + 1))
        if scripted.trouble is not None:
            said = say("answered_error", said=scripted.said)
            raise ServiceTrouble(self.provider, scripted.trouble, said, scripted.after, unknown=scripted.unknown)
        return ServiceReply(scripted.text, scripted.finish, scripted.usage)

    async def close(self) -> None:
        """There is no connection."""


def scripted_providers() -> dict[str, Provider]:
    """The configured providers by name, changed to need no key and no library, and the provider for tests."""
    known = {name: replace(provider, key_env="", kind="openai") for name, provider in load().items()}
    return {
        name: provider if provider.model else replace(provider, model=f"{name}-model")
        for name, provider in (known | {TEST_PROVIDER.name: TEST_PROVIDER}).items()
    }
