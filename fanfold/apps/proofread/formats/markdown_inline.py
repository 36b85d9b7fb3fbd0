"""Finds what must not change inside a Markdown paragraph: code, link targets, addresses, HTML, math and references."""

from __future__ import annotations

import re

from fanfold.apps.proofread.formats.segments import Piece, PieceKind, Unit, Writer
from fanfold.apps.proofread.formats.xhtml import trimmed

_ATOM = re.compile(
    r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"
    r"|\\begin\{(?P<environment>\w+\*?)\}.+?\\end\{(?P=environment)\}"
    r"|\{\{.+?\}\}|\{%.+?%\}|(?m:^[ \t]*:::[^\n]*$|^(?:!!!|\?\?\?\+?) +[\w-]+|^\[[ xX]\](?=\s))"
    r"|\[\[[^\[\]|\n]+(?:\||\]\])|\]\](?![(\[])|\$\$.+?\$\$|\$(?![\s$])[^$\n]+?(?<![\s\\])\$(?!\d)|\\\(.+?\\\)|\\\[.+?\\\]"
    r"|<(?:[a-z][a-z0-9+.-]*:[^<>\s]*|[\w.+-]+@[\w.-]+)>|<!--.*?-->|</?[A-Za-z][^<>]*>"
    r"|https?://[^\s<>)\]，。；、）】”’]+|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\{[#.:][^{}\n]*\}"
    r"|(?<![\w:]):[a-z][a-z0-9_+-]*:(?![\w:])|\[\^[^\]\s]+\]:?|\\[\\`*_{}\[\]()#+.!|~<>-]|&(?:#\w{1,8}|[A-Za-z]\w{1,31});",
    re.DOTALL,
)
_LABEL = re.compile(r"(?<!\])!?\[([^\[\]]+)\](?:\[\]|(?![(\[:]))")
_TARGET = re.compile(
    r"\]\(\s*(?:<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^)]*\)))?\s*\)|\]\[[^\[\]\n]*\]"
)


def inline_pieces(text: str, labels: frozenset[str] = frozenset()) -> tuple[Piece, ...]:
    """The pieces of a paragraph: text, atoms, and the brackets and targets of links as pairs around their text.

    ``labels`` are the labels of link definitions. A link that is only a label is an atom: with another text it leads nowhere.
    """
    atoms = [found.span() for found in _ATOM.finditer(text)]
    atoms += [found.span() for found in _LABEL.finditer(text) if label(found[1]) in labels and _is_free(found, atoms)]
    atoms.sort()
    marks = [Piece(PieceKind.ATOM, start, end, -start - 1, text[start:end]) for start, end in atoms]
    for start, begin, target, end in _links(text, atoms):
        marks.append(Piece(PieceKind.OPEN, start, begin, start + 1))
        marks.append(Piece(PieceKind.CLOSE, target, end, start + 1))
    pieces, at = [], 0
    for mark in sorted(marks, key=lambda one: one.start):
        if mark.start < at:
            continue
        pieces += [Piece(PieceKind.TEXT, at, mark.start), mark]
        at = mark.end
    return trimmed(text, [*pieces, Piece(PieceKind.TEXT, at, len(text))])


def label(text: str) -> str:
    """A label of a link definition as it is compared."""
    return " ".join(text.split()).casefold()


def _is_free(found: re.Match[str], atoms: list[tuple[int, int]]) -> bool:
    return not any(start < found.end() and found.start() < end for start, end in atoms)


def _links(text: str, atoms: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """Links and pictures: where each begins, where its text begins, where its target begins, and where it ends."""
    taken = [False] * (len(text) + 1)
    for start, end in atoms:
        taken[start:end] = [True] * (end - start)
    found, stack, at = [], [], 0
    while at < len(text):
        target = _TARGET.match(text, at) if text[at] == "]" and not taken[at] else None
        if taken[at]:
            pass
        elif text[at] == "[":
            stack.append(at)
        elif text[at] == "]" and stack:
            begin = stack.pop()
            if target is not None:
                start = begin - 1 if begin and text[begin - 1] == "!" and not taken[begin - 1] else begin
                found.append((start, begin + 1, at, target.end()))
                at = target.end() - 1
        at += 1
    return [one for one in found if not any(_crosses(one, span) for span in atoms)]


def _crosses(link: tuple[int, int, int, int], span: tuple[int, int]) -> bool:
    """Whether an atom crosses the edge of a link's text; an address inside the target is part of the target."""
    _, begin, target, _ = link
    return span[0] < begin < span[1] or span[0] < target < span[1]


WRITER = Writer(lambda raw: [Unit(one, one) for one in raw], str, str, lambda text, style: text)
