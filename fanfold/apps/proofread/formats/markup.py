"""Splits XML and XHTML into tokens without losing a character: joined, they are the source again.

A parser that builds a tree loses quotes, entities and the order of attributes. Here a changed paragraph replaces a
piece of the source, so everything else stays byte-identical, and malformed markup is accepted.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import dataclass
from enum import Enum

_TOKEN = re.compile(
    r"(?P<other><!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<![A-Za-z][^>\[]*(?:\[[^\]]*\]\s*)?>)"
    r"|</\s*(?P<end>[^\s>/]+)[^>]*>"
    r"|<(?P<start>[A-Za-z_][^\s>/]*)(?:[^>\"'/]|/(?!>)|\"[^\"]*\"|'[^']*')*(?P<empty>/?)>"
    r"|(?P<text>[^<]+|<)",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"([^\s=/<>\"']+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_DECLARED = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


class TokenKind(Enum):
    """What a token is. ``OTHER`` are comments, declarations and CDATA."""

    TEXT = "text"
    START = "start"
    END = "end"
    EMPTY = "empty"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the source. ``name`` is the name of a tag, as it is written."""

    kind: TokenKind
    start: int
    end: int
    name: str = ""


def tokens_of(source: str, start: int = 0, end: int | None = None) -> list[Token]:
    """The tokens of a source, or of a part of it; together they cover it."""
    found = []
    for match in _TOKEN.finditer(source, start, len(source) if end is None else end):
        group = match.lastgroup
        first, last = match.span()
        if group == "text":
            found.append(Token(TokenKind.TEXT, first, last))
        elif group == "end":
            found.append(Token(TokenKind.END, first, last, match["end"]))
        elif group == "other":
            found.append(Token(TokenKind.OTHER, first, last))
        else:
            found.append(Token(TokenKind.EMPTY if match["empty"] else TokenKind.START, first, last, match["start"]))
    return found


def partners(tokens: list[Token], void: frozenset[str] = frozenset()) -> dict[int, int]:
    """For each start tag, by index, the index of its end tag. A start tag that is never closed has none.

    Tags in ``void`` have no end tag in HTML.
    """
    found: dict[int, int] = {}
    stack: list[int] = []
    waiting: Counter[str] = Counter()
    for at, token in enumerate(tokens):
        if token.kind is TokenKind.START and token.name.casefold() not in void:
            stack.append(at)
            waiting[token.name] += 1
        elif token.kind is TokenKind.END and waiting[token.name]:
            while True:
                opened = stack.pop()
                waiting[tokens[opened].name] -= 1
                if tokens[opened].name == token.name:
                    break
            found[opened] = at
    return found


def attributes(tag: str) -> dict[str, str]:
    """The attributes of a tag, with entities resolved."""
    return {name: html.unescape(double or single) for name, double, single in _ATTRIBUTE.findall(tag)}


def attribute_span(tag: str, name: str) -> tuple[int, int] | None:
    """The position of an attribute's value in a tag, without its quotes."""
    for found in _ATTRIBUTE.finditer(tag):
        if found[1].casefold() == name:
            return found.span(2) if found[2] is not None else found.span(3)
    return None


def decode_markup(data: bytes) -> tuple[str, str, str]:
    """The text of an XML file, its encoding, and how errors are handled, so that encoding it again gives the same bytes."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16-le" if data.startswith(b"\xff\xfe") else "utf-16-be"
    else:
        declared = _DECLARED.match(data)
        encoding = declared[1].decode("ascii").casefold() if declared else "utf-8"
    for name, errors in ((encoding, "strict"), ("utf-8", "surrogateescape")):
        try:
            text = data.decode(name, errors)
            if text.encode(name, errors) == data:
                return text, name, errors
        except (LookupError, UnicodeError):
            continue
    return data.decode("latin-1"), "latin-1", "xmlcharrefreplace"


def unescape_one(entity: str) -> str | None:
    """The character of an entity; None if it does not stand for a single character."""
    found = html.unescape(entity)
    return found if len(found) == 1 else None


def escape_text(text: str) -> str:
    """Text as it is written between tags, without characters that XML forbids."""
    return _FORBIDDEN.sub("", text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape_value(text: str) -> str:
    """Text as it is written in an attribute with quotes of either kind."""
    return escape_text(text).replace('"', "&quot;").replace("'", "&#39;")


ENTITY = _ENTITY
