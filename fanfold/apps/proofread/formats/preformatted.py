"""Tells preformatted code from preformatted text, such as verses and letters."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fanfold.apps.proofread.formats.markup import Token, TokenKind, attributes
from fanfold.apps.proofread.formats.xhtml_text import local_name, shown_in

_CODE_ELEMENTS = frozenset({"code", "kbd", "samp", "var", "tt"})
_CODE_CLASS = re.compile(
    r"code|program|listing|source|screen|console|terminal|highlight|prettyprint|syntax|shell", re.I
)
_CODE_SYMBOLS = re.compile(r"[{}\[\]();=<>/\\_#$&|*+@]")
CODE_SHARE = 0.08
"""Share of such symbols from which a preformatted text without any other sign is code."""


def preformatted(source: str, tokens: Sequence[Token], closing: Mapping[int, int]) -> tuple[set[int], set[int]]:
    """The start tags of preformatted code, and all tokens of other preformatted text, by index."""
    code: set[int] = set()
    verse: set[int] = set()
    for at, end in closing.items():
        if local_name(tokens[at]) == "pre":
            if _is_code(source, tokens[at : end + 1]):
                code.add(at)
            else:
                verse.update(range(at + 1, end))
    return code, verse


def _is_code(source: str, tokens: Sequence[Token]) -> bool:
    if any(token.kind is TokenKind.START and local_name(token) in _CODE_ELEMENTS for token in tokens):
        return True
    if _CODE_CLASS.search(attributes(source[tokens[0].start : tokens[0].end]).get("class", "")):
        return True
    shown = "".join(shown_in(source, tokens).split())
    return len(_CODE_SYMBOLS.findall(shown)) > CODE_SHARE * len(shown)
