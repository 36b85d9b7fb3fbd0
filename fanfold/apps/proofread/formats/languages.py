"""States the language of a translated EPUB, and the direction of its script, where the source states its own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from fanfold.apps.proofread.formats.markup import TokenKind, attribute_span, attributes, escape_value, tokens_of

RIGHT_TO_LEFT = frozenset({"ar", "arc", "ckb", "dv", "fa", "he", "iw", "ps", "sd", "ug", "ur", "yi"})
_METADATA = re.compile(r"(<dc:language[^>]*>)([^<]*)(</dc:language>)")
_NAMES = ("lang", "xml:lang")
_DIRECTION = {"html": "dir", "body": "dir", "spine": "page-progression-direction"}


def language_told(sources: Iterable[str]) -> str:
    """The language that the book states for itself: in its metadata, else in most of its pages; empty if it states none."""
    told: Counter[str] = Counter()
    for source in sources:
        if (found := _METADATA.search(source)) is not None and found[2].strip():
            return _primary(found[2])
        for token in tokens_of(source):
            if token.kind is TokenKind.START and token.name.casefold() == "html":
                stated = attributes(source[token.start : token.end])
                told.update(_primary(stated[name]) for name in _NAMES if stated.get(name))
    return told.most_common(1)[0][0] if told else ""


def with_language(source: str, old: str, new: str, *, is_package: bool) -> str:
    """A member in which statements of the book's own language name the new one. Passages in other languages keep theirs."""
    if is_package:
        source = _METADATA.sub(lambda found: found[1] + escape_value(new) + found[3], source, count=1)
    is_turned = (_primary(old) in RIGHT_TO_LEFT) != (_primary(new) in RIGHT_TO_LEFT)
    pieces, at = [], 0
    for token in tokens_of(source):
        if token.kind in (TokenKind.START, TokenKind.EMPTY):
            tag = source[token.start : token.end]
            if (made := _tag(tag, token.name, old, new, is_turned)) != tag:
                pieces += [source[at : token.start], made]
                at = token.end
    return "".join([*pieces, source[at:]])


def _tag(tag: str, name: str, old: str, new: str, is_turned: bool) -> str:
    for attribute in _NAMES:
        span = attribute_span(tag, attribute)
        if span is not None and old and _primary(tag[slice(*span)]) == old:
            tag = tag[: span[0]] + escape_value(new) + tag[span[1] :]
    local = name.rpartition(":")[2].casefold()
    if not is_turned or local not in _DIRECTION:
        return tag
    attribute, direction = _DIRECTION[local], "rtl" if _primary(new) in RIGHT_TO_LEFT else "ltr"
    span = attribute_span(tag, attribute)
    if span is not None:
        return tag[: span[0]] + direction + tag[span[1] :]
    if direction == "rtl" and local != "body":
        return f'{tag[: 1 + len(name)]} {attribute}="rtl"{tag[1 + len(name) :]}'
    return tag


def _primary(language: str) -> str:
    """The first part of a language tag: `en` of `en-GB`."""
    return language.strip().replace("_", "-").partition("-")[0].casefold()
