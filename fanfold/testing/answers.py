"""Scripted answers: what a model says in a test, and every way in which a service can fail to say it.

engine.answer("Bonjour")                                 # to every question
engine.answer("Bonjour", to="Translate")                 # to questions with this text
engine.answers("One", "Two", rate_limited(after=30))     # one after the other
engine.answer(lambda request: request.prompt.upper())    # made from the question
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from fanfold.model.text.sentences import say
from fanfold.model.values.questions import Usage
from fanfold.providers.configuration import Provider, load
from fanfold.providers.services import Finish, Reply, Request, ServiceTrouble, TroubleKind

COST = 0.01
"""What a scripted answer costs in US dollars, unless it says otherwise."""
A_CENT = Usage(cost=COST)
TEST_PROVIDER = Provider("test", model="test-model")
"""Who is asked when a pipeline names no provider."""


@dataclass(frozen=True)
class Scripted:
    """What happens to one question: an answer, or trouble."""

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
"""A text, one of the functions of this module, or a function of the question that gives either."""
Fits = str | Callable[[Request], bool] | None
"""Which questions are meant: those whose prompt has this text, those for which a function is true, or all."""


def answer(
    text: str,
    *,
    cost: float | None = COST,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    seconds: float = 0.0,
) -> Scripted:
    """An answer with a price, or one that takes its time. ``cost=None`` is a price that is not known."""
    return Scripted(text, usage=Usage(input_tokens, output_tokens, cost=cost), seconds=seconds)


def cut_off(text: str = "An answer without") -> Scripted:
    """A bad answer: it has no end, as at the limit of tokens."""
    return Scripted(text, Finish.CUT_OFF)


def filtered(text: str = "") -> Scripted:
    """A bad answer: the service's filter has stopped it."""
    return Scripted(text, Finish.FILTERED)


def rate_limited(after: float | None = None) -> Scripted:
    """The service is asked too often (429). The item waits for ``after`` seconds; no retry is used up."""
    return Scripted(trouble=TroubleKind.LIMITED, said="answered 429: too many requests", after=after)


def refused() -> Scripted:
    """The key, the account or the model is not accepted (401 to 404). Several in a row pause the task."""
    return Scripted(trouble=TroubleKind.REFUSED, said="answered 401: the key is not accepted")


def rejected() -> Scripted:
    """The service does not take this very request (400). Another model of the chain may."""
    return Scripted(trouble=TroubleKind.REJECTED, said="answered 400: the request is not accepted")


def busy(after: float | None = None) -> Scripted:
    """The service failed (500). The item is tried again, which uses up a retry."""
    return Scripted(trouble=TroubleKind.BUSY, said="answered 500: internal error", after=after)


def unreachable() -> Scripted:
    """Nobody is there. The item waits; no retry is used up."""
    return Scripted(trouble=TroubleKind.UNREACHABLE, said="cannot be reached")


def timed_out() -> Scripted:
    """The service does not answer in the provider's time. The call may have been paid; it uses up a retry."""
    return Scripted(seconds=float("inf"))


def unknown_outcome() -> Scripted:
    """The connection broke after the request was sent (502): the call may have been paid. It uses up a retry."""
    return Scripted(trouble=TroubleKind.BUSY, said="answered 502: bad gateway", unknown=True)


def worker_crash() -> Scripted:
    """The worker dies while it waits for the answer. The call may have been paid."""
    return Scripted(crashes=True)


class UnscriptedQuestion(AssertionError):
    """A handler asked something for which the test has no answer."""


@dataclass
class Rule:
    """Answers for the questions that fit: ``always`` the same one, or each once, in order."""

    fits: Fits
    model: str | None
    left: Iterator[Answering]

    def takes(self, request: Request) -> bool:
        """Whether this question is meant."""
        if self.model is not None and request.model != self.model:
            return False
        if callable(self.fits):
            return self.fits(request)
        return self.fits is None or self.fits in request.prompt


class Script:
    """The answers of one test, and the questions that were asked."""

    def __init__(self, crash: Callable[[], BaseException]) -> None:
        self.requests: list[Request] = []
        self._problem: UnscriptedQuestion | None = None
        self._rules: list[Rule] = []
        self._crash = crash

    def add(self, rule: Rule) -> None:
        """Later rules are asked when no earlier one has an answer left."""
        self._rules.append(rule)

    def connect(self, provider: Provider) -> ScriptedService:
        """The service of any provider."""
        return ScriptedService(provider, self)

    def next_for(self, request: Request) -> Scripted:
        """What is said to this question."""
        self.requests.append(request)
        for rule in self._rules:
            if rule.takes(request) and (found := next(rule.left, None)) is not None:
                made = found(request) if callable(found) else found
                return Scripted(made) if isinstance(made, str) else made
        raise self._unscripted(request)

    def take_problem(self) -> UnscriptedQuestion | None:
        """The first question without an answer since the last time: a run ends with it, whatever the handler makes of it."""
        problem, self._problem = self._problem, None
        return problem

    def crash(self) -> BaseException:
        """What to raise where the worker dies."""
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
    """Stands for the connection to a provider; judging, keeping and paying for answers stays with Fanfold."""

    def __init__(self, provider: Provider, script: Script) -> None:
        self.provider = provider
        self._script = script

    async def call(self, request: Request) -> Reply:
        """The next answer of the script."""
        scripted = self._script.next_for(request)
        if scripted.crashes:
            raise self._script.crash()
        if scripted.seconds:
            await asyncio.sleep(min(scripted.seconds, self.provider.timeout + 1))
        if scripted.trouble is not None:
            said = say("answered_error", said=scripted.said)
            raise ServiceTrouble(self.provider, scripted.trouble, said, scripted.after, unknown=scripted.unknown)
        return Reply(scripted.text, scripted.finish, scripted.usage)

    async def close(self) -> None:
        """There is no connection."""


def scripted_providers() -> dict[str, Provider]:
    """The providers of the configuration by name, none of which needs a key or a library; and the one for tests."""
    known = {name: replace(provider, key_env="", kind="openai") for name, provider in load().items()}
    return {
        name: provider if provider.model else replace(provider, model=f"{name}-model")
        for name, provider in (known | {TEST_PROVIDER.name: TEST_PROVIDER}).items()
    }
