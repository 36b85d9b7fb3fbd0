"""Text of XHTML as a reader sees it: entities resolved, comments left out, and no readings of ruby."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fanfold.apps.proofread.formats.markup import ENTITY, Token, TokenKind, escape_text, unescape_one
from fanfold.apps.proofread.formats.segments import Unit

_SPACE = r"[ \t]*[\r\n][ \t\r\n]*"
_SPECIAL = re.compile(
    rf"<!--.*?-->|<!\[CDATA\[.*?\]\]>|(?i:<ruby\b.*?</ruby\s*>)|<\?.*?\?>|{ENTITY.pattern}|{_SPACE}|[\0\ud800-\udfff]",
    re.DOTALL,
)
_READING = re.compile(r"<(rt|rp|rtc)\b.*?(?:</\1\s*>|(?=<(?:rb|rt|rp|rtc|/ruby)\b))", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
CDATA = "<![CDATA["


def units(raw: str) -> list[Unit]:
    """The characters of a piece of source with their spelling."""
    made: list[Unit] = []
    at = 0
    for found in _SPECIAL.finditer(raw):
        made += [Unit(one, one) for one in raw[at : found.start()]]
        shown = _shown_special(found)
        if _is_rewritten(found[0]):
            made += [Unit(one, escape_text(one)) for one in shown]
        else:
            made += [Unit(one, one) for one in shown] if len(shown) > 1 else [Unit(shown, found[0])]
        at = found.end()
    return made + [Unit(one, one) for one in raw[at:]]


def shown_text(raw: str) -> str:
    """A piece of source as text: entities resolved, line breaks as blanks."""
    return _SPECIAL.sub(_shown_special, raw)


def shown_in(source: str, tokens: Iterable[Token]) -> str:
    """The visible text of an element; the reading of a ruby is left out."""
    depth, pieces = 0, []
    for token in tokens:
        if local_name(token) in ("rt", "rp", "annotation", "script", "style"):
            depth += {TokenKind.START: 1, TokenKind.END: -1}.get(token.kind, 0)
        elif token.kind is TokenKind.TEXT and depth == 0:
            pieces.append(shown_text(source[token.start : token.end]))
    return "".join(pieces).strip()


def _is_rewritten(raw: str) -> bool:
    """Whether a changed paragraph is written without this markup: a section of raw text, or a ruby in a translation."""
    return raw.startswith(CDATA) or raw[:5].casefold() == "<ruby"


def _shown_special(found: re.Match[str]) -> str:
    text = found[0]
    if text[:5].casefold() == "<ruby":
        return shown_text(_TAG.sub("", _READING.sub("", text)))
    if text.startswith(CDATA):
        return text[len(CDATA) : -3]
    if text[0] == "<":
        return ""
    if text[0] == "&":
        return unescape_one(text) or text
    return "\ufffd" if text[0] == "\0" or "\ud800" <= text[0] <= "\udfff" else " "


def local_name(token: Token) -> str:
    """The name of a tag without its namespace prefix, in lower case."""
    return token.name.rpartition(":")[2].casefold()
