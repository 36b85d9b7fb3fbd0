"""Asks about the paragraphs of a chunk until each has a good answer or is a marked gap."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import fanfold as ff
from fanfold.apps.proofread.asking.alignment import align_by_letters
from fanfold.apps.proofread.asking.ladder import Rung, Step, first_step, next_steps
from fanfold.apps.proofread.asking.prompt import Brief, Context, question
from fanfold.apps.proofread.asking.protocol import (
    ANSWER_SCHEMA,
    Outgoing,
    number_parts,
    read_answer,
    read_texts,
    with_edges,
)
from fanfold.apps.proofread.checks import (
    Contract,
    Defect,
    Mode,
    check_finish,
    check_parts,
    clean_answer,
    hard,
    one_line,
    printable,
    refused_parts,
)
from fanfold.apps.proofread.chunks import Part
from fanfold.apps.proofread.glossary import terms_in
from fanfold.apps.proofread.sentences import say_of_proofread
from fanfold.errors import HandlerError, NotAsked
from fanfold.model.words import QUOTA

Asking = Callable[..., Awaitable[ff.Answer]]
FINISHES = {"cut_off": "length", "filtered": "content_filter", "refusal": "refusal"}
"""Codes of answers that are rejected because of how they ended."""
OTHERS = {"empty": "empty_answer", "repetition": "loop"}
"""Codes of other answers that every application rejects."""

MOST_REJECTED, LONGEST_REJECTED = 5, 8_000


@dataclass
class Outcome:
    """What became of the parts: good texts, gaps with their reason, and a record of how they came about."""

    texts: dict[str, str] = field(default_factory=dict)
    models: dict[str, str] = field(default_factory=dict)
    gaps: dict[str, str] = field(default_factory=dict)
    warnings: dict[str, list[str]] = field(default_factory=dict)
    rungs: Counter[str] = field(default_factory=Counter)
    cleanings: Counter[str] = field(default_factory=Counter)
    defects: Counter[str] = field(default_factory=Counter)
    rejected: list[dict[str, Any]] = field(default_factory=list)
    """Answers that were rejected, with the reason: at most ``MOST_REJECTED``, shortened."""


@dataclass(frozen=True)
class Judged:
    """One judged answer: the good texts, the parts to ask again, and what is wrong with them."""

    texts: Mapping[str, str] = field(default_factory=dict)
    again: tuple[str, ...] = ()
    defects: tuple[Defect, ...] = ()
    model: str = ""


class Inquiry:
    """The questions about one chunk. ``models`` are asked in turn; the first may be None for that of the task."""

    def __init__(
        self, ask: Asking, brief: Brief, contract: Contract, context: Context, models: Sequence[str | None]
    ) -> None:
        self._ask = ask
        self.brief = brief
        self.contract = contract
        self.context = context
        self.models = models

    async def asked(self, groups: Sequence[Sequence[Part]]) -> Outcome:
        """Ask about groups of parts, all of a round at the same time, so that a batch has them together."""
        parts = {part.id: part for group in groups for part in group}
        outcome = Outcome()
        todo = [first_step(part.id for part in group) for group in groups if group]
        alone = {group[0].id for group in groups[1:] if len(group) == 1}
        while todo:
            for step in (step for step in todo if step.is_gap):
                self._note_gap(step, outcome)
            steps = [step for step in todo if not step.is_gap]
            found = await _all(self._step(step, parts, alone, outcome) for step in steps)
            todo = [
                follower for step, judged in zip(steps, found, strict=True) for follower in self._after(step, judged)
            ]
        return outcome

    def _after(self, step: Step, judged: Judged) -> tuple[Step, ...]:
        return next_steps(step, judged.again, judged.defects, models=len(self.models))

    async def _step(self, step: Step, parts: Mapping[str, Part], alone: set[str], outcome: Outcome) -> Judged:
        """Make one call and judge its answer. Raises NoAnswer if a service fails and there is no other model."""
        sent = number_parts(parts[one] for one in step.parts)
        outcome.rungs[str(step.rung)] += 1
        # A repeated paragraph is asked without its surroundings, so that its question is the same everywhere. After a
        # refusal the surroundings are left out as well, because they may be the reason for it.
        is_alone = len(step.parts) == 1 and step.parts[0] in alone
        is_alone = is_alone or any(defect.name == "refused" for defect in step.defects)
        text = "\n".join(part.text for part in sent.parts)
        terms = terms_in(text, self.context.terms)
        context = (
            Context(synopsis=self.context.synopsis, terms=terms) if is_alone else replace(self.context, terms=terms)
        )
        try:
            answer = await self._ask(
                question(sent, context, step),
                system=self.brief.system,
                model=self.models[step.model],
                fallback=(),
                schema=ANSWER_SCHEMA,
            )
        except ff.NoAnswer as problem:
            return self._unanswered(step, problem, outcome)
        except NotAsked as problem:
            # The wait for a new daily quota may take hours, so the next model is asked if there is one.
            if problem.reason.code != QUOTA or not self._has_next(step):
                raise
            return self._unanswered(step, problem.reason, outcome)
        # Answers that every application rejects, such as one that is cut off, were asked again once before this one.
        outcome.defects.update({"asked_again": len(answer.tried)} if answer.tried else {})
        outcome.cleanings.update({"remarks": 1} if answer.cleaned else {})
        judged = self._judged(answer.text, sent, outcome)
        if judged.again and len(outcome.rejected) < MOST_REJECTED:
            why = [str(defect.sentence) for defect in judged.defects]
            outcome.rejected.append({"model": answer.source, "why": why, "answer": answer.text[:LONGEST_REJECTED]})
        outcome.texts |= judged.texts
        outcome.models |= dict.fromkeys(judged.texts, answer.source)
        return judged

    def _has_next(self, step: Step) -> bool:
        """Whether there is another model after the one of a step."""
        return step.model + 1 < len(self.models)

    def _unanswered(self, step: Step, problem: HandlerError, outcome: Outcome) -> Judged:
        """A question without an answer: the content is at fault, or the service."""
        code = str(problem.code or "")
        defect = check_finish(FINISHES.get(code))
        if defect is None and code in OTHERS:
            defect = Defect(OTHERS[code], problem.message)
        if defect is None:
            if not self._has_next(step):
                raise problem
            defect = Defect("unavailable", problem.message)
        outcome.defects[defect.name] += 1
        return Judged({}, step.parts, (defect,))

    def _judged(self, text: str, sent: Outgoing, outcome: Outcome) -> Judged:
        cleaned = clean_answer(text, lambda shorter: bool(read_answer(shorter, sent).texts))
        outcome.cleanings.update(cleaned.cleanings)
        received = read_answer(cleaned.text, sent)
        sources = {part.id: part.text for part in sent.parts}
        texts = self._cleaned(sources, received.texts, outcome)
        defects = [*received.defects, *check_parts(self.contract, sources, texts)]
        bad = set(received.again) | refused_parts(defects, texts)
        if bad and self.contract.mode is Mode.FORMAT:
            aligned = self._aligned(cleaned.text, sent)
            if aligned is not None:
                outcome.cleanings["aligned"] += 1
                return Judged(aligned)
        outcome.defects.update(defect.name for defect in defects)
        for defect in defects:
            if defect not in hard([defect]) and defect.part not in bad:
                outcome.warnings.setdefault(defect.part, []).append(str(defect.sentence))
        good = {part: one for part, one in texts.items() if part not in bad}
        return Judged(good, tuple(part for part in sources if part in bad), tuple(hard(defects)))

    def _cleaned(self, sources: Mapping[str, str], texts: Mapping[str, str], outcome: Outcome) -> dict[str, str]:
        """The paragraphs of an answer without control characters, and, unless layout is the task, without new line breaks."""
        found = {part: printable(text) for part, text in texts.items()}
        outcome.cleanings.update({"control_characters": 1} if found != texts else {})
        if self.contract.mode is Mode.FORMAT:
            return found
        joined = {part: one_line(sources[part], text) for part, text in found.items()}
        outcome.cleanings.update({"line_breaks": 1} if joined != found else {})
        return joined

    def _aligned(self, answer: str, sent: Outgoing) -> dict[str, str] | None:
        """In format mode: the texts of an answer with wrong numbers, divided by counting letters; None if letters differ."""
        texts = list(sent.texts.values())
        try:
            pieces = align_by_letters(texts, printable(read_texts(answer, sent)))
        except ValueError:
            return None
        found = {part.id: with_edges(part.text, piece.text) for part, piece in zip(sent.parts, pieces, strict=True)}
        return None if hard(check_parts(self.contract, {part.id: part.text for part in sent.parts}, found)) else found

    def _note_gap(self, step: Step, outcome: Outcome) -> None:
        outcome.rungs[str(Rung.GAP)] += 1
        for part in step.parts:
            about = [str(defect.sentence) for defect in step.defects if defect.part in ("", part)]
            outcome.gaps[part] = "; ".join(dict.fromkeys(about)) or str(say_of_proofread("empty_answer"))


async def _all(questions: Iterable[Awaitable[Any]]) -> list[Any]:
    """The answers to all questions. A problem is raised only after all are asked, so that they go into one batch."""
    found = await asyncio.gather(*questions, return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return list(found)
