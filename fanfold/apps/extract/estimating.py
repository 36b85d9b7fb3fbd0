"""Estimates the calls of an extraction from the size of some of its documents."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.extract.asking import prompt
from fanfold.apps.extract.asking.windows import OVERLAP, SHARE
from fanfold.apps.extract.items import DOCUMENTS
from fanfold.apps.extract.options import Options
from fanfold.apps.extract.template.groups import groups
from fanfold.model.values.token_estimate import guessed_tokens

SAMPLE = 20
"""Most documents that are read for an estimate."""
TOKENS_PER_LEAF = 70
MARKS = 1.15
"""What line numbers add to the text."""


def expected_calls(work: ff.EstimateWork) -> list[ff.ExpectedCall]:
    """The calls for each group of fields: the number per document, with the mean size of a sample."""
    options = Options.of(work.options)
    sizes = [size for size in _sizes(work, options) if size]
    if not sizes:
        return []
    mean, count = sum(sizes) / len(sizes), _count(work)
    return [
        ff.ExpectedCall(input_tokens=asked, output_tokens=answered, count=round(calls * count))
        for asked, answered, calls in _per_document(options, mean)
    ]


def _per_document(options: Options, tokens: float) -> Iterator[tuple[int, int, float]]:
    for group in groups(options.fields.fields):
        beside = guessed_tokens(prompt.SYSTEM, prompt.question(group, "", about=options.fields.about))
        room = max(1.0, options.context * SHARE - beside)
        calls = 1 if tokens <= room else math.ceil((tokens - room) / (room * (1 - OVERLAP))) + 1
        yield round(min(tokens, room)) + beside, TOKENS_PER_LEAF * len(group.fields), calls


def _count(work: ff.EstimateWork) -> int:
    """How many documents there are; identical files count once."""
    if work.items is not None:
        return len(work.items)
    told = next((one[DOCUMENTS] for one in work.inputs if isinstance(one, dict) and DOCUMENTS in one), None)
    return len(work.files) if told is None else sum("file" in one for one in told)


def _sizes(work: ff.EstimateWork, options: Options) -> Iterator[int]:
    """The token counts of a sample of the documents. A document that cannot be read counts as 0."""
    if work.items is not None:
        for item in _some(list(work.items)):
            given: Any = item.input if isinstance(item, ff.NewItem) else item
            text = given.get("text", "") if isinstance(given, dict) else str(given)
            yield round(guessed_tokens(text) * MARKS)
        return
    for path in _some(work.files):
        yield work.in_child(tokens_of, path, ocr=options.ocr)


def _some(values: Sequence[Any]) -> list[Any]:
    """An evenly spread sample of a list."""
    return (
        [values[number * len(values) // SAMPLE] for number in range(SAMPLE)] if len(values) > SAMPLE else list(values)
    )


def tokens_of(path: Path, *, ocr: bool) -> int:
    """The tokens of a document; in a child process."""
    from fanfold.apps.extract.documents.read_document import read_document

    try:
        return round(guessed_tokens(read_document(path, ocr=ocr).text) * MARKS)
    except ff.Permanent:
        return 0
