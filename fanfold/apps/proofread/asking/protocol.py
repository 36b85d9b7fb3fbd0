"""Sends paragraphs to a model with numbers, and matches the answer to them only by these numbers.

Answers are never aligned by count. If a number is missing, unknown or repeated, that paragraph is asked again, together
with the neighbours that may contain its text; the others are kept.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fanfold.apps.proofread.checks.defect import Defect
from fanfold.apps.proofread.chunks import Part
from fanfold.apps.proofread.formats.text import edges
from fanfold.apps.proofread.sentences import say_of_proofread

DELIMITERS = ("@@{}@@", "%%{}%%", "##={}=##", "<<:{}:>>")
"""Candidates for the line before each paragraph in the delimiter format."""
MOST_STARTS = 5
"""Number of brackets tried as the start of an answer's JSON."""
ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "paragraphs": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"id": {"type": "integer"}, "text": {"type": "string"}},
                "required": ["id", "text"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["paragraphs"],
    "additionalProperties": False,
}
"""JSON Schema of an answer, in the dialect that strict modes accept."""


@dataclass(frozen=True)
class Outgoing:
    """Numbered paragraphs without surrounding white space, which is restored afterwards."""

    parts: tuple[Part, ...]
    delimiter: str = DELIMITERS[0]

    @property
    def texts(self) -> dict[int, str]:
        """The text of each number."""
        return {number: edges(part.text)[1] for number, part in enumerate(self.parts, start=1)}

    def as_json(self) -> str:
        """The paragraphs as a JSON array of ``id`` and ``text``."""
        return json.dumps([{"id": number, "text": text} for number, text in self.texts.items()], ensure_ascii=False)

    def as_delimited(self) -> str:
        """The paragraphs as text, each after a line with its number."""
        return "\n".join(f"{self.delimiter.format(number)}\n{text}" for number, text in self.texts.items())


@dataclass(frozen=True)
class Received:
    """The parsed answer: texts by part id, and the ids to ask again."""

    texts: Mapping[str, str] = field(default_factory=dict)
    again: tuple[str, ...] = ()
    defects: tuple[Defect, ...] = ()


def number_parts(parts: Iterable[Part]) -> Outgoing:
    """Give parts their numbers, and choose a delimiter that does not occur in them."""
    parts = tuple(parts)
    text = "\n".join(part.text for part in parts)
    free = (one for one in DELIMITERS if one.partition("{}")[0] not in text)
    return Outgoing(parts, next(free, "@@@@={}=@@@@"))


def read_answer(answer: str, sent: Outgoing, *, cut_off: bool = False) -> Received:
    """Read the paragraphs of an answer in either format. If the answer was cut off, its last paragraph is dropped."""
    pairs = _from_json(answer) or _from_delimited(answer, sent)
    if not pairs:
        ids = tuple(part.id for part in sent.parts)
        return Received({}, ids, (Defect("no_structure", say_of_proofread("no_structure")),))
    return _matched(pairs, sent, cut_off)


def read_texts(answer: str, sent: Outgoing) -> str:
    """All text of an answer, in its order and without the numbers; the answer itself if it has no structure."""
    pairs = _from_json(answer) or _from_delimited(answer, sent)
    return "\n".join(text for _, text in pairs) if pairs else answer


def with_edges(source: str, answer: str) -> str:
    """An answer with the white space that the source has around it."""
    before, _, after = edges(source)
    return before + answer.strip() + after


def _matched(pairs: Sequence[tuple[int, str]], sent: Outgoing, cut_off: bool) -> Received:
    known = range(1, len(sent.parts) + 1)
    counts = Counter(number for number, _ in pairs)
    missing = [number for number in known if number not in counts]
    unknown = sorted(set(counts) - set(known))
    # The same text twice counts once; two different texts for one number are both dropped.
    twice = [n for n in known if counts[n] > 1 and len({text.strip() for number, text in pairs if number == n}) > 1]
    doubtful = _doubtful(pairs, missing, unknown, known, cut_off) | set(twice)
    texts = dict(pairs)
    part = {number: sent.parts[number - 1] for number in known}
    good = [number for number in known if number in counts and number not in doubtful]
    return Received(
        {part[number].id: with_edges(part[number].text, texts[number]) for number in good},
        tuple(part[number].id for number in known if number not in good),
        tuple(_defects(missing, unknown, twice)),
    )


def _doubtful(
    pairs: Sequence[tuple[int, str]], missing: Sequence[int], unknown: Sequence[int], known: range, cut_off: bool
) -> set[int]:
    """The numbers whose text may belong to another paragraph.

    An extra number, or a missing one at the end, may mean that the model joined or divided paragraphs and renumbered
    them, so every text may be in the wrong place. A gap in the middle shows that the numbers were kept.
    """
    if cut_off:
        return {pairs[-1][0], *missing}
    if unknown or known[-1] in missing:
        return set(known)
    return {near for number in missing for near in (number - 1, number, number + 1)}


def _defects(missing: Sequence[int], unknown: Sequence[int], twice: Sequence[int]) -> Iterable[Defect]:
    for name, ids in (("ids_missing", missing), ("ids_unknown", unknown), ("ids_twice", twice)):
        if ids:
            yield Defect(name, say_of_proofread(name, ids=list(ids)))


def _from_json(answer: str) -> list[tuple[int, str]] | None:
    """Numbers and texts of a JSON answer; text around it is ignored, but JSON that is cut off or broken is not repaired."""
    decoder = json.JSONDecoder(strict=False)
    for start in itertools.islice(re.finditer(r"[\[{]", answer), MOST_STARTS):
        try:
            found, _ = decoder.raw_decode(answer, start.start())
        except (ValueError, RecursionError):
            continue
        pairs = _pairs(found)
        if pairs:
            return pairs
    return None


def _pairs(found: Any) -> list[tuple[int, str]] | None:
    """The paragraphs of a list, of an object with one list, or of an object from numbers to texts."""
    if isinstance(found, dict) and len(found) == 1 and isinstance(next(iter(found.values())), list):
        found = next(iter(found.values()))
    if isinstance(found, dict):
        found = (
            [found] if found.keys() == {"id", "text"} else [{"id": key, "text": text} for key, text in found.items()]
        )
    if not isinstance(found, list):
        return None
    pairs = [_pair(one) for one in found]
    return None if any(pair is None for pair in pairs) else [pair for pair in pairs if pair is not None]


def _pair(one: Any) -> tuple[int, str] | None:
    if not isinstance(one, dict) or not isinstance(one.get("text"), str):
        return None
    number = one.get("id")
    if isinstance(number, str) and re.fullmatch(r"[0-9]{1,6}", number.strip()):
        number = int(number)
    return (number, one["text"]) if isinstance(number, int) and not isinstance(number, bool) else None


def _from_delimited(answer: str, sent: Outgoing) -> list[tuple[int, str]]:
    left, right = map(re.escape, sent.delimiter.split("{}"))
    pieces = re.split(rf"^[ \t]*{left}\s*([0-9]{{1,6}})\s*{right}[ \t]*\n?", answer, flags=re.MULTILINE)
    return [(int(number), text.strip("\n")) for number, text in zip(pieces[1::2], pieces[2::2], strict=True)]
