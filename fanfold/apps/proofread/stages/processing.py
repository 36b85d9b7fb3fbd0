"""The stage `process`: asks about one chunk, applies the rules again, and lists the changes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import fanfold as ff
from fanfold.apps.proofread.asking.inquiry import Inquiry, Outcome
from fanfold.apps.proofread.asking.prompt import Brief, Context
from fanfold.apps.proofread.checks.letters import letters
from fanfold.apps.proofread.checks.modes import Contract, check_part
from fanfold.apps.proofread.chunks import Part
from fanfold.apps.proofread.formats.book import BlockKind, Brackets
from fanfold.apps.proofread.glossary import Term, terms_in
from fanfold.apps.proofread.options import Options
from fanfold.apps.proofread.rules import LAYOUT, AnyRule, Setting, correct_line
from fanfold.apps.proofread.scripts import LANGUAGES
from fanfold.apps.proofread.sentences import say_of_proofread
from fanfold.apps.proofread.stages.entries import Entry
from fanfold.apps.proofread.stages.known_lengths import band_of, learn
from fanfold.apps.proofread.stages.validating import Ruling

Output = dict[str, Any]


@dataclass(frozen=True)
class Finished:
    """An entry with its final text, and how that came about."""

    entry: Entry
    after: str
    model: str = ""
    gap: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def lengths(self) -> tuple[str, str]:
        """Source and answer, whose lengths are compared."""
        return self.entry.source, self.after

    @property
    def is_unchanged(self) -> bool:
        """Whether the answer of a model has the letters and digits of the source."""
        return bool(self.model) and letters(self.entry.source) == letters(self.after)


async def processed(item: ff.ItemWork, options: Options) -> Output:
    """The output of a chunk: its paragraphs before and after, with their changes."""
    given: Any = item.input
    ruling = Ruling(options.chosen_rules, given["chinese"], given["layout"])
    entries = [ruling.with_steps(Entry.of(kept)) for kept in given["entries"]]
    kept = _kept(await asyncio.to_thread(lambda: item.earlier), entries, options, _terms(given, options))
    outcome = Outcome()
    if not options.rules_only:
        inquiry = _inquiry(item, options, given)
        outcome = await inquiry.asked(_groups([entry for entry in entries if entry.asked and entry.id not in kept]))
    for report in given.get("reports", ()):
        item.degraded(report)
    return await asyncio.to_thread(_output, item, options, entries, kept, outcome)


def _inquiry(item: ff.ItemWork, options: Options, given: Mapping[str, Any]) -> Inquiry:
    brackets = Brackets(*given["brackets"])
    terms = _terms(given, options)
    brief = Brief(options.contract, brackets, options.to, options.source_language, options.style)
    band = band_of(item.task_id)
    contract = Contract(
        options.contract,
        brackets,
        terms,
        options.to,
        budget=options.budget_percent / 100,
        band=band,
        book=given.get("script", ""),
        has_emphasis=bool(given.get("emphasis")),
    )
    before, after = given["context"]
    context = Context(before, after, given.get("synopsis", ""), terms)
    return Inquiry(item.ask, brief, contract, context, [None, *options.fallback])


def _terms(given: Mapping[str, Any], options: Options) -> tuple[Term, ...]:
    """The terms that occur in the chunk: of the glossary that a person gave, or of the one that the task made."""
    if not options.glossary.strip():
        return tuple(Term(*term) for term in given.get("terms", ()))
    text = "\n".join(kept.get("ruled", kept["before"]) for kept in given["entries"])
    return terms_in(text, options.given_terms)


def _groups(entries: Sequence[Entry]) -> list[list[Part]]:
    """The first group has the paragraphs that occur once; each repeated one is a group of its own."""
    once = [entry.part for entry in entries if not entry.repeated]
    return [once, *([entry.part] for entry in entries if entry.repeated)]


def _kept(
    earlier: Output | None, entries: Sequence[Entry], options: Options, terms: tuple[Term, ...]
) -> dict[str, Mapping[str, Any]]:
    """The paragraphs of an earlier result that are still good, if some of them were gaps or break the glossary.

    A redo of a result without such a paragraph asks about all of them again.
    """
    if earlier is None:
        return {}
    found = {one["id"]: one for one in earlier["paragraphs"] if "model" in one or "gap" in one}
    good = {name: one for name, one in found.items() if "gap" not in one and not _breaks(one, options, terms)}
    asked = [entry.id for entry in entries if entry.asked]
    return good if any(name not in good for name in asked) and good else {}


def _breaks(paragraph: Mapping[str, Any], options: Options, terms: tuple[Term, ...]) -> bool:
    """Whether a kept paragraph breaks the glossary."""
    if not options.is_translation:
        return False
    contract = Contract(options.contract, terms=terms, language=options.to)
    after = paragraph.get("after", paragraph["before"])
    return any(one.name == "glossary_ignored" for one in check_part(contract, paragraph["before"], after))


def _output(
    item: ff.ItemWork,
    options: Options,
    entries: Sequence[Entry],
    kept: Mapping[str, Mapping[str, Any]],
    outcome: Outcome,
) -> Output:
    """What the item returns; marks it if the result is not what was asked for. In a thread, because it compares texts."""
    from fanfold.apps.proofread.stages.paragraphs import paragraphs

    given: Any = item.input
    rules: Counter[str] = Counter(step.rule for entry in entries for step in entry.steps)
    finished = [_finished(entry, kept.get(entry.id), outcome, options, given, rules) for entry in entries]
    if options.is_translation:
        learn(item.task_id, (one.lengths for one in finished if one.model and not one.is_unchanged))
    _mark(item, finished, outcome)
    models = Counter(one.model for one in finished if one.model)
    if models:
        item.used(model=models.most_common(1)[0][0])
    return {
        "chunk": given["number"],
        "chapter": given["chapter"],
        "paragraphs": paragraphs(finished, Brackets(*given["brackets"]), whole=options.is_translation),
        "models": dict(models),
        "rules": dict(rules),
        "steps": dict(outcome.rungs),
        "cleanings": dict(outcome.cleanings),
        "defects": dict(outcome.defects),
        **_left(finished, options, given),
    } | ({"rejected": outcome.rejected} if outcome.rejected else {})


def _left(finished: Sequence[Finished], options: Options, given: Mapping[str, Any]) -> dict[str, int]:
    """How many paragraphs of a translation were left as they are, because they were in the target language already."""
    if not options.is_translation:
        return {}
    contract = Contract(
        options.contract, Brackets(*given["brackets"]), language=options.to, book=given.get("script", "")
    )
    count = sum(one.is_unchanged and contract.leaves(one.entry.source) for one in finished)
    return {"already_translated": count} if count else {}


def _finished(
    entry: Entry,
    kept: Mapping[str, Any] | None,
    outcome: Outcome,
    options: Options,
    given: Mapping[str, Any],
    rules: Counter[str],
) -> Finished:
    """The final text of an entry: a kept one, a new answer after the rules, or the source after the rules."""
    if kept is not None:
        return Finished(entry, kept.get("after", kept["before"]), kept["model"], "", tuple(kept.get("warnings", ())))
    warnings = tuple(outcome.warnings.get(entry.id, ()))
    if entry.id not in outcome.texts:
        return Finished(entry, entry.ruled, "", outcome.gaps.get(entry.id, ""), warnings)
    text, names = ruled_again(entry, outcome.texts[entry.id], options, given)
    rules.update(names)
    return Finished(entry, text, outcome.models[entry.id], "", warnings)


def ruled_again(entry: Entry, text: str, options: Options, given: Mapping[str, Any]) -> tuple[str, list[str]]:
    """An answer after the rules, and the names of those that changed it. White space where a paragraph was divided stays."""
    rules: list[AnyRule] = [
        rule for rule in options.chosen_rules if rule.name not in LAYOUT or (given["layout"] and not entry.inner)
    ]
    if options.is_translation:
        rules = [rule for rule in rules if rule.name not in LAYOUT]
    chinese = _writes_chinese(options.to) if options.is_translation else bool(given["chinese"])
    before, inside, after = entry.without_cuts(text)
    made, steps = correct_line(inside, rules, Setting(entry.kind is BlockKind.HEAD, chinese), entry.id)
    return before + made + after, [step.rule for step in steps]


def _writes_chinese(language: str) -> bool:
    scripts = LANGUAGES.get(language.casefold().replace("_", "-").partition("-")[0], frozenset())
    return "han" in scripts


def _mark(item: ff.ItemWork, finished: Sequence[Finished], outcome: Outcome) -> None:
    """Mark a result with gaps, or with answers of another model than the first."""
    gaps = [one for one in finished if one.gap]
    if gaps:
        why = Counter(one.gap for one in gaps).most_common(1)[0][0]
        item.degraded(say_of_proofread("gaps", count=len(gaps), paragraphs=[one.entry.id for one in gaps[:5]], why=why))
    if outcome.rungs["next_model"]:
        others = sorted({one.model for one in finished if one.model})
        item.degraded(say_of_proofread("other_model", models=others))
