"""The modes: what an answer may change in each, and the named checks that enforce it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import fanfold as ff
from fanfold.apps.proofread.checks.already import is_already_in
from fanfold.apps.proofread.checks.cleaning import is_chatter
from fanfold.apps.proofread.checks.defect import Defect, Severity
from fanfold.apps.proofread.checks.layout import emphasis, grows, joins_words, loses_punctuation
from fanfold.apps.proofread.checks.lengths import LengthBand
from fanfold.apps.proofread.checks.letters import first_difference, letters, symbols
from fanfold.apps.proofread.checks.numbers import long_numbers_of, numbers_of
from fanfold.apps.proofread.checks.repetition import new_loop
from fanfold.apps.proofread.checks.residue import copied, other_characters
from fanfold.apps.proofread.formats.book import USUAL_BRACKETS, Brackets
from fanfold.apps.proofread.glossary import Term, terms_in, unkept_terms
from fanfold.apps.proofread.markers import lost_and_added, stray_brackets, well_nested, without_marks
from fanfold.apps.proofread.scripts import share_in_language
from fanfold.apps.proofread.sentences import say_of_proofread

LEAST_SHARE = 0.5
"""Smallest share of letters in the script of the target language."""
FEW_LETTERS = 6
"""Shorter paragraphs, such as names or exclamations, may be the same in both languages."""

MOST_COPIED = 0.2
"""Largest share of a translation that may be copied from the source in its script; less is a warning."""

NOTHING_SEEN = LengthBand()


class Mode(StrEnum):
    """What an answer may change."""

    FORMAT = "format"
    PROOFREAD = "proofread"
    EDIT = "edit"
    TRANSLATE = "translate"


@dataclass(frozen=True)
class Contract:
    """A mode with the numbers that its checks use."""

    mode: Mode
    brackets: Brackets = USUAL_BRACKETS
    terms: tuple[Term, ...] = ()
    language: str = ""
    """Target language of a translation."""
    budget: float = 0.15
    """Largest share of a paragraph's characters that proofreading may change."""
    free: int = 4
    """Number of characters that may change in any paragraph, so that a short one can be corrected; none if the budget is 0."""
    band: LengthBand = NOTHING_SEEN
    edit_band: tuple[float, float] = (0.6, 1.6)
    book: str = ""
    """Script of the book that is translated; empty if it is not known."""
    has_emphasis: bool = False
    """Whether the text is Markdown, in which asterisks and underscores are formatting."""

    def leaves(self, source: str) -> bool:
        """Whether a translation may leave a paragraph as it is, because it is in the target language already."""
        return is_already_in(without_marks(source, self.brackets), self.language, self.book)


Check = Callable[[Contract, str, str], "Defect | None"]


def check_part(contract: Contract, source: str, answer: str, part: str = "") -> list[Defect]:
    """The defects of one paragraph's answer, the most specific first."""
    found = (check(contract, source, answer) for check in CHECKS[contract.mode])
    return [Defect(one.name, one.sentence, part, one.severity) for one in found if one is not None]


def check_parts(contract: Contract, sources: Mapping[str, str], answers: Mapping[str, str]) -> list[Defect]:
    """The defects of all answered paragraphs, in the order of the source."""
    return [
        defect
        for part, source in sources.items()
        if part in answers
        for defect in check_part(contract, source, answers[part], part)
    ]


def _identity(contract: Contract, source: str, answer: str) -> Defect | None:
    found = first_difference(without_marks(source, contract.brackets), without_marks(answer, contract.brackets))
    if found is None:
        return None
    return _defect(
        "letters_changed", at=found.at + 1, before=found.before, source=found.source or "∅", answer=found.answer or "∅"
    )


def _layout(contract: Contract, source: str, answer: str) -> Defect | None:
    """Letters stay, so what else a model can do wrong is to join words and to remove or add punctuation."""
    source, answer = without_marks(source, contract.brackets), without_marks(answer, contract.brackets)
    if word := joins_words(source, answer):
        return _defect("words_joined", word=word[:40])
    if loses_punctuation(source, answer):
        return _defect("punctuation_lost")
    if grows(source, answer):
        return _defect("length_unusual", size=len(answer.strip()), source=len(source.strip()))
    return None


def _symbols(contract: Contract, source: str, answer: str) -> Defect | None:
    lost = symbols(source) - symbols(answer)
    return _defect("symbols_lost", Severity.SOFT, symbols=sorted(lost)) if lost else None


def _empty(contract: Contract, source: str, answer: str) -> Defect | None:
    return _defect("empty_answer") if source.strip() and not answer.strip() else None


def _markers(contract: Contract, source: str, answer: str) -> Defect | None:
    lost, added = lost_and_added(source, answer, contract.brackets)
    if lost or added:
        show = [contract.brackets.left + mark + contract.brackets.right for mark in (lost or added)]
        return _defect("markers_lost" if lost else "markers_added", markers=show)
    if stray_brackets(answer, contract.brackets) or (
        well_nested(source, contract.brackets) and not well_nested(answer, contract.brackets)
    ):
        return _defect("markers_garbled")
    return None


def _emphasis(contract: Contract, source: str, answer: str) -> Defect | None:
    """Marks of emphasis that come in pairs must be in the answer too."""
    before, after = emphasis(source), emphasis(answer)
    if not contract.has_emphasis or before == after or any(count % 2 for count in before.values()):
        return None
    return _defect("emphasis_changed", before=before.total(), after=after.total())


def _budget(contract: Contract, source: str, answer: str) -> Defect | None:
    from rapidfuzz.distance import Levenshtein

    allowed = max(contract.free if contract.budget else 0, int(contract.budget * len(source)))
    distance = Levenshtein.distance(source, answer, score_cutoff=allowed)
    if distance <= allowed:
        return None
    return _defect("too_many_changes", allowed=allowed, size=len(source))


def _numbers(contract: Contract, source: str, answer: str) -> Defect | None:
    before, after = (numbers_of(without_marks(text, contract.brackets)) for text in (source, answer))
    wanted, found = Counter(before), Counter(after)
    if before == after or (contract.mode is Mode.EDIT and wanted == found):
        return None
    severity = Severity.HARD if contract.mode is Mode.PROOFREAD else Severity.SOFT
    if wanted == found:
        return _defect("numbers_moved", severity, before=before, after=after)
    return _defect(
        "numbers_changed", severity, lost=sorted(wanted - found) or ["∅"], added=sorted(found - wanted) or ["∅"]
    )


def _translated_numbers(contract: Contract, source: str, answer: str) -> Defect | None:
    """Numbers may be written in words, but a number that is replaced by another one is suspicious."""
    wanted, found = (long_numbers_of(without_marks(text, contract.brackets)) for text in (source, answer))
    if not wanted - found or not found - wanted:
        return None
    return _defect("numbers_changed", Severity.SOFT, lost=sorted(wanted - found), added=sorted(found - wanted))


def _names(contract: Contract, source: str, answer: str) -> Defect | None:
    """Names from the glossary must occur in the answer as often as in the source."""
    before, after = source.casefold(), answer.casefold()
    names = [term.source for term in terms_in(source, contract.terms)]
    changed = [name for name in names if before.count(name.casefold()) > after.count(name.casefold())]
    severity = Severity.HARD if contract.mode is Mode.PROOFREAD else Severity.SOFT
    return _defect("names_changed", severity, names=changed) if changed else None


def _edit_length(contract: Contract, source: str, answer: str) -> Defect | None:
    low, high = contract.edit_band
    if len(source.strip()) < 12 or low <= len(answer.strip()) / len(source.strip()) <= high:
        return None
    return _defect("length_unusual", size=len(answer.strip()), source=len(source.strip()))


def _same_language(contract: Contract, source: str, answer: str) -> Defect | None:
    """An edited text must stay in the script of its source."""
    from fanfold.apps.proofread.scripts import script_counts

    before, after = script_counts(source), script_counts(answer)
    if sum(before.values()) < FEW_LETTERS or not after:
        return None
    usual, now = max(before, key=lambda one: before[one]), max(after, key=lambda one: after[one])
    return None if after.get(usual) or usual == now else _defect("wrong_script", language=usual, percent=0)


def _script(contract: Contract, source: str, answer: str) -> Defect | None:
    bare = without_marks(answer, contract.brackets)
    if other_characters(bare, contract.language):
        return _defect("other_characters", language=contract.language)
    share = share_in_language(bare, contract.language)
    if share is None or share >= LEAST_SHARE or len(letters(source)) < FEW_LETTERS:
        return None
    return _defect("wrong_script", language=contract.language, percent=round(share * 100))


def _copied(contract: Contract, source: str, answer: str) -> Defect | None:
    """Passages of the source that were left as they are."""
    if _translated(contract, source, answer) or _script(contract, source, answer):
        return None
    if any(not term.target or term.target == term.source for term in terms_in(source, contract.terms)):
        return None
    source, answer = without_marks(source, contract.brackets), without_marks(answer, contract.brackets)
    passage, share = copied(source, answer, contract.language)
    if not passage:
        return None
    return _defect("left_over", Severity.HARD if share > MOST_COPIED else Severity.SOFT, passage=passage[:40])


def _translated(contract: Contract, source: str, answer: str) -> Defect | None:
    is_same = letters(source).casefold() == letters(answer).casefold()
    if len(letters(source)) < FEW_LETTERS or not is_same or contract.leaves(source):
        return None
    only_terms = all(
        term.target in ("", term.source) for term in terms_in(source, contract.terms)
    ) and source.strip() in {term.source for term in contract.terms}
    return None if only_terms else _defect("not_translated")


def _glossary(contract: Contract, source: str, answer: str) -> Defect | None:
    missing = unkept_terms(source, answer, contract.terms)
    wanted = [f"{term.source} → {' | '.join(term.targets)}" for term in missing]
    return _defect("glossary_ignored", terms=wanted) if missing else None


def _repetition(contract: Contract, source: str, answer: str) -> Defect | None:
    loop = new_loop(source, answer)
    return _defect("repetition", phrase=loop[0][:40], count=loop[1]) if loop else None


def _chatter(contract: Contract, source: str, answer: str) -> Defect | None:
    first = answer.strip().partition("\n")[0]
    return (
        _defect("chatter", line=first[:80])
        if is_chatter(first) and not is_chatter(source.strip().partition("\n")[0])
        else None
    )


def _length(contract: Contract, source: str, answer: str) -> Defect | None:
    if contract.band.fits(source, answer):
        return None
    if contract.leaves(source):
        return _edit_length(contract, source, answer)
    severity = Severity.SOFT if contract.band.median is None else Severity.HARD
    return _defect("length_unusual", severity, size=len(answer.strip()), source=len(source.strip()))


def _quotes(contract: Contract, source: str, answer: str) -> Defect | None:
    """Direct speech in the source must be direct speech in the answer."""
    marks = Counter("".join(re.findall('[“”„«»「」『』"]', source)))
    if marks.total() < 2 or re.search('[“”„«»「」『』"‘’]', answer):
        return None
    return _defect("quotes_lost", Severity.SOFT)


CHECKS: Mapping[Mode, Sequence[Check]] = {
    Mode.FORMAT: (_identity, _markers, _emphasis, _layout, _symbols),
    Mode.PROOFREAD: (_empty, _markers, _emphasis, _chatter, _repetition, _budget, _numbers, _names),
    Mode.EDIT: (
        _empty,
        _markers,
        _emphasis,
        _chatter,
        _repetition,
        _same_language,
        _edit_length,
        _numbers,
        _names,
        _quotes,
    ),
    Mode.TRANSLATE: (
        _empty,
        _markers,
        _emphasis,
        _chatter,
        _repetition,
        _translated,
        _script,
        _copied,
        _length,
        _glossary,
        _quotes,
        _translated_numbers,
    ),
}
"""The checks of each mode, the most specific first."""


def _defect(name: str, severity: Severity = Severity.HARD, **parameters: object) -> Defect:
    return Defect(name, say_of_proofread(name, **parameters), severity=severity)


def check_finish(reason: str | None) -> Defect | None:
    """The defect of an answer that was cut off or refused, regardless of its text."""
    if reason in ("length", "max_tokens"):
        return _defect("cut_off")
    if reason in ("content_filter", "refusal", "safety"):
        return _defect("refused")
    return None


def mode_named(name: str) -> Mode:
    """The mode with this name; BadOption lists them."""
    try:
        return Mode(name)
    except ValueError:
        raise ff.BadOption(
            say_of_proofread("unknown_mode", mode=name, modes=[one.value for one in Mode]), field="mode"
        ) from None
