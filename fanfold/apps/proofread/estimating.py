"""Estimates the calls of a proofreading or translation: reads the books, and counts their chunks and tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import fanfold as ff
from fanfold.apps.proofread.options import Options
from fanfold.model.values.token_estimate import guessed_tokens

ANSWERED = 1.05
"""Tokens of an answer for each token of its paragraphs, when the language stays the same."""
TRANSLATED = 1.3
"""The same for a translation, which is longer in most pairs of languages."""
TERMS_TOKENS = 800
"""Tokens of an answer with terms."""


class Size(NamedTuple):
    """What a book costs to ask about: its chunks, their tokens, and the tokens of questions about terms."""

    chunks: int
    asked: int
    paragraphs: int
    sections: int = 0
    section_tokens: int = 0


def expected_calls(work: ff.EstimateWork) -> list[ff.ExpectedCall]:
    """The calls of a proofreading: one for each chunk."""
    options = Options.of_proofread(work.options)
    return [] if options.rules_only else list(_calls(work, options, ANSWERED))


def expected_translation_calls(work: ff.EstimateWork) -> list[ff.ExpectedCall]:
    """The calls of a translation: one for each chunk, and before that one for each section from which terms are collected."""
    return list(_calls(work, Options.of_translate(work.options), TRANSLATED))


def _calls(work: ff.EstimateWork, options: Options, answered: float) -> Iterator[ff.ExpectedCall]:
    for path in work.files:
        size: Size = work.in_child(size_of, path, options)
        if size.sections:
            mean = size.section_tokens // size.sections
            yield ff.ExpectedCall(input_tokens=mean, output_tokens=TERMS_TOKENS, count=size.sections)
        if size.chunks:
            asked, made = size.asked // size.chunks, round(size.paragraphs * answered) // size.chunks
            yield ff.ExpectedCall(input_tokens=asked, output_tokens=made, count=size.chunks)


def size_of(path: Path, options: Options) -> Size:
    """The size of a book; in a child process. A book that cannot be read has none: submitting it says why."""
    from fanfold.apps.proofread.asking.ladder import first_step
    from fanfold.apps.proofread.asking.prompt import Brief, Context, question
    from fanfold.apps.proofread.asking.protocol import number_parts
    from fanfold.apps.proofread.formats.book import Brackets
    from fanfold.apps.proofread.stages.collecting import SYSTEM, sections
    from fanfold.apps.proofread.stages.entries import Entry
    from fanfold.apps.proofread.stages.validating import validated

    try:
        chunks = validated(path, options)
        parts = sections(path, options) if options.is_translation and options.collects_terms else []
    except ff.Permanent:
        return Size(0, 0, 0)
    asked = paragraphs = 0
    system = guessed_tokens(Brief(options.contract, Brackets(), options.to, "", options.style).system)
    for given in chunks:
        sent = number_parts(entry.part for entry in map(Entry.of, given["entries"]) if entry.asked)
        step = first_step(part.id for part in sent.parts)
        asked += system + guessed_tokens(question(sent, Context(*given["context"]), step))
        paragraphs += guessed_tokens(sent.as_json())
    told = sum(guessed_tokens(SYSTEM, part["text"]) for part in parts)
    return Size(len(chunks), asked, paragraphs, len(parts), told)
