"""The actions on a task: decide about all changes of a kind, and change the glossary of a translation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import fanfold as ff
from fanfold.apps.proofread.glossary import Term, read_glossary, write_glossary
from fanfold.apps.proofread.sentences import say_of_proofread
from fanfold.model.views.changes import KINDS, STATES, TOPICS, ChangeFilter, listed_changes

ANY = "any"
PROCESSED = ("waiting", "paused", "completed", "partial")
VERDICTS = ("accept", "reject", "undo")
STAGE = "process"


def decide_changes(work: ff.ActionWork) -> str:
    """Accept or reject all changes that fit, or undo earlier decisions about them."""
    given = {name: work.options[name] for name in ("state", "kind", "topic", "origin", "chapter", "text")}
    wanted = ChangeFilter(**{name: "" if value == ANY else value for name, value in given.items()})
    verdict = work.options["verdict"]
    found = [
        ff.NewDecision(one.item, one.key, verdict, stage=STAGE)
        for one in listed_changes(work.results(STAGE), wanted)
        if one.state != verdict and not (verdict == "undo" and one.state == "open")
    ]
    if not found:
        raise ff.Permanent(say_of_proofread("nothing_to_decide"), code="nothing_to_decide")
    work.client.decide_many(work.task.id, found, stage=STAGE)
    return say_of_proofread("changes_decided", count=len(found), verdict=verdict)


def change_glossary(work: ff.ActionWork) -> str:
    """Use another glossary: before the translation it replaces the collected terms; afterwards, what breaks it is redone."""
    wanted = _read(work.options["glossary"] or "")
    if work.task.stage == "validate" and work.task.state == "waiting":
        return _approve(work, wanted)
    keys = [key for key, breaks in _broken(work, wanted) if breaks]
    text = write_glossary(wanted)
    if not keys:
        raise ff.Permanent(say_of_proofread("glossary_kept"), code="glossary_kept")
    work.client.retry(work.task.id, keys, stage="process", options={"glossary": text})
    return say_of_proofread("glossary_redone", chunks=len(keys))


def _approve(work: ff.ActionWork, wanted: tuple[Term, ...]) -> str:
    """Decide about every collected term: keep, replace or reject it; new terms belong to the first section."""
    from fanfold.apps.proofread.stages.collecting import term_part

    by_source = {term.source: term for term in wanted}
    decisions: list[ff.NewDecision] = []
    first = None
    for result in work.results("terms"):
        first = first or result.key
        for kept in result.output["terms"]:
            term = by_source.get(kept["source"])
            verdict, value = ("reject", None) if term is None else ("replace", _value(term))
            decisions.append(ff.NewDecision(result.key, kept["part"], verdict, value, "terms"))
    known = {one.part for one in decisions}
    added = [term for term in wanted if term_part(term.source) not in known]
    if first is None:
        raise ff.Permanent(say_of_proofread("no_sections"), code="no_sections")
    decisions += [ff.NewDecision(first, term_part(term.source), "replace", _value(term), "terms") for term in added]
    if decisions:
        work.client.decide_many(work.task.id, decisions, stage="terms")
    return say_of_proofread("glossary_approved", terms=len(wanted), added=len(added))


def _broken(work: ff.ActionWork, wanted: tuple[Term, ...]) -> Iterator[tuple[str, bool]]:
    """The chunks, and whether one of their paragraphs breaks the glossary."""
    from fanfold.apps.proofread.glossary import unkept_terms

    for result in work.results("process"):
        yield (
            result.key,
            any(
                "model" in one and unkept_terms(one["before"], one.get("after", one["before"]), wanted)
                for one in result.output["paragraphs"]
            ),
        )


def _value(term: Term) -> dict[str, Any]:
    found = {"source": term.source, "target": term.target, "kind": term.kind, "note": term.note}
    return {name: value for name, value in found.items() if value}


def _read(text: str) -> tuple[Term, ...]:
    try:
        found = read_glossary(text)
    except ff.BadInput as problem:
        raise ff.Permanent(problem.message, code="bad_glossary") from None
    if not found:
        raise ff.Permanent(say_of_proofread("glossary_empty"), code="bad_glossary")
    return found


def declare(pipeline: ff.Pipeline) -> None:
    """Declare the action about changes."""
    pipeline.action(
        "decide_changes",
        label="Decide about changes",
        help="Accept or reject all changes of a kind. The book is written again; no model is asked.",
        options=[
            ff.Option(
                "verdict", "choice", "What to do with them; `undo` revokes decisions.", "accept", choices=VERDICTS
            ),
            ff.Option("state", "choice", "Only changes in this state.", ANY, choices=(ANY, *STATES)),
            ff.Option("kind", "choice", "Only changes of this kind.", ANY, choices=(ANY, *KINDS)),
            ff.Option("topic", "choice", "Only changes of this topic.", ANY, choices=(ANY, *TOPICS)),
            ff.Option("origin", "text", "Only changes by this rule or model, such as `dashes`.", ""),
            ff.Option("chapter", "text", "Only chapters with this text in their heading.", ""),
            ff.Option("text", "text", "Only changes with this text before or after.", "", label="Search text"),
        ],
        states=PROCESSED,
    )(decide_changes)


def declare_glossary(pipeline: ff.Pipeline) -> None:
    """Declare the action about the glossary."""
    pipeline.action(
        "glossary",
        label="Change the glossary",
        help=(
            "Use these terms instead of the collected ones: download the glossary, correct it and give it here. "
            "After the translation, only chunks that break the new glossary are asked again."
        ),
        options=[ff.Option("glossary", "file", "Terms as CSV with the columns source,target.", "")],
        states=("waiting", "completed", "partial"),
    )(change_glossary)
