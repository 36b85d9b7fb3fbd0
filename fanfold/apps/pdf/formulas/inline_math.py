"""Writes formulas within lines of text as LaTeX, if their fonts and places leave no doubt; others stay as they are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fanfold.apps.pdf.formulas.building import Uncertain, built
from fanfold.apps.pdf.formulas.glyph_signs import Drawn, Glyphs
from fanfold.apps.pdf.formulas.math_signs import FUNCTIONS, MATH_FONT
from fanfold.apps.pdf.markdown import cleaning
from fanfold.apps.pdf.markdown.blocks import Block
from fanfold.apps.pdf.markdown.lines import Line
from fanfold.apps.pdf.markdown.pieces import RawPage

_KINDS = ("paragraph", "item", "note")
_FIRST_MARK = 0xF0000
"""Each formula is one character of a private area until the page is written: no rule takes it for a letter or markup."""
_MOST = 0xFFFF
_JOINING = frozenset("+-=<>/*|") | frozenset((
    r"\cdot", r"\times", r"\pm", r"\leq", r"\geq", r"\in", r"\sim", r"\to", r"\approx", r"\equiv", r"\neq", r"\subset",
    r"\subseteq", r"\cup", r"\cap", r"\mapsto", r"\Rightarrow", r"\ll", r"\gg", r"\propto", r"\mid", r"\leftarrow", r"\div",
    r"\oplus", r"\otimes", r"\circ", r"\simeq", r"\cong", r"\wedge", r"\vee", r"\setminus", r"\notin", r"\forall", r"\exists",
))  # fmt: skip
_OPEN = _JOINING - {"|", "*", "-", r"\pm", r"\forall", r"\exists", r"\sim"}
_NEUTRAL = frozenset("0123456789()[]+=/<>|!.,;:*′'{}")
_PUNCTUATION = frozenset(".,;:!'")
# In multiples of the type size: scripts are smaller.
_SMALLER = 0.86
_LONGEST = 80


@dataclass(slots=True)
class Inline:
    """The formulas of a page: their LaTeX by their marks, and the texts that they replaced."""

    latex: dict[str, str] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def put_into(self, markdown: str) -> str:
        """The Markdown with the formulas in place of their marks."""
        for mark, latex in self.latex.items():
            markdown = markdown.replace(mark, f"${latex}$")
        return markdown


def take(blocks: Sequence[Block], glyphs: Glyphs | None, raw: RawPage) -> Inline:
    """Replace the formulas within the lines of these blocks by marks."""
    found = Inline()
    if glyphs is None or any(chr(_FIRST_MARK) <= letter for letter in raw.text):
        return found
    for line in (line for block in blocks if block.kind in _KINDS for line in block.lines):
        is_text = line.table is None and not line.formula and not line.is_unread and not line.mono
        if is_text and "$" not in line.text:
            _mark(line, glyphs, raw, found)
    return found


def _mark(line: Line, glyphs: Glyphs, raw: RawPage, found: Inline) -> None:
    drawn = _drawn(line, glyphs)
    if drawn is None or not any(MATH_FONT.match(one.font) for one in drawn if one is not None):
        return
    # From the end, so that the places of the others stay.
    for start, end in reversed(list(_runs(line.text, drawn, line))):
        latex = _latex([one for one in drawn[start:end] if one is not None], raw)
        if latex is not None and len(found.latex) < _MOST:
            mark = chr(_FIRST_MARK + len(found.latex))
            found.latex[mark] = latex
            found.texts.append(line.text[start:end])
            _replace(line, start, end, mark)


def _drawn(line: Line, glyphs: Glyphs) -> list[Drawn | None] | None:
    """The glyph of each character of a line, None for its spaces; None if they are not certain."""
    inside = [
        one
        for one in glyphs.all
        if any(piece.x0 - 1 <= one.x <= piece.x1 + 1 and piece.y0 - 1 <= one.y <= piece.y1 + 1 for piece in line.pieces)
    ]
    wanted = "".join(line.text.split())
    for ordered in (inside, sorted(inside, key=lambda one: one.x)):
        letters = [(letter, one) for one in ordered for letter in "".join(cleaning.characters(one.text).split())]
        if "".join(letter for letter, _ in letters) == wanted:
            found = iter(one for _, one in letters)
            return [None if letter.isspace() else next(found) for letter in line.text]
    return None


def _runs(text: str, drawn: Sequence[Drawn | None], line: Line) -> Iterator[tuple[int, int]]:
    """Start and end of each formula."""
    start = 0
    while start < len(text):
        if not _is_part(text, drawn, start, line):
            start += 1
            continue
        end = start + 1
        while end < len(text) and _continues(text, drawn, start, end, line):
            end += 1
        first, last = _trimmed(text, drawn, start, end)
        beside = [drawn[at] for at in (first - 1, last) if 0 <= at < len(text)]
        is_free = (not first or not text[first - 1].isalnum()) and not any(map(_is_unknown, beside))
        if first < last and last - first <= _LONGEST and is_free and any(map(_is_letter, drawn[first:last])):
            yield first, last
        start = end


def _is_part(text: str, drawn: Sequence[Drawn | None], at: int, line: Line) -> bool:
    one = drawn[at]
    if one is None or one.sign is None:
        return False
    if MATH_FONT.match(one.font) or one.text in _NEUTRAL:
        return True
    if one.sign.size < _SMALLER * line.size and at and not text[at - 1].isspace():
        return True
    word = _word(text, at)
    return word in FUNCTIONS


def _word(text: str, at: int) -> str:
    start, end = at, at
    while start and text[start - 1].isalpha():
        start -= 1
    while end < len(text) and text[end].isalpha():
        end += 1
    return text[start:end]


def _continues(text: str, drawn: Sequence[Drawn | None], start: int, at: int, line: Line) -> bool:
    """Whether a character belongs to the formula before it; a space does beside a relation, an operator or a function."""
    if not text[at].isspace():
        return _is_part(text, drawn, at, line)
    if at + 1 >= len(text) or not _is_part(text, drawn, at + 1, line):
        return False
    before, after = drawn[at - 1], drawn[at + 1]
    if any(one is not None and one.sign is not None and one.sign.latex in _JOINING for one in (before, after)):
        return True
    inside = text[start:at].count("(") > text[start:at].count(")")
    return (inside and text[at - 1] == ",") or _word(text, at - 1) in FUNCTIONS


def _trimmed(text: str, drawn: Sequence[Drawn | None], start: int, end: int) -> tuple[int, int]:
    """A formula without the punctuation and brackets of its sentence."""
    while start < end:
        inner = text[start:end]
        if inner[-1] in _PUNCTUATION or inner[-1].isspace():
            end -= 1
        elif (
            inner[0] in _PUNCTUATION
            or inner[0].isspace()
            or inner[0] in ")]"
            or (_open(inner) > 0 and inner[0] in "([")
        ):
            start += 1
        elif _open(inner) < 0 and inner[-1] in ")]":
            end -= 1
        elif inner[0] in "([" and inner[-1] in ")]" and _open(inner[1:-1]) == 0 and _is_enclosed(inner):
            start, end = start + 1, end - 1
        else:
            break
    return start, end


def _open(text: str) -> int:
    return sum(map(text.count, "([")) - sum(map(text.count, ")]"))


def _is_enclosed(text: str) -> bool:
    """Whether the first bracket closes at the end alone."""
    depths = itertools.accumulate((letter in "([") - (letter in ")]") for letter in text)
    return all(depth > 0 for depth in list(depths)[:-1])


def _is_letter(one: Drawn | None) -> bool:
    """Whether a glyph is a letter of a mathematical font."""
    return one is not None and MATH_FONT.match(one.font) is not None and one.text.isalpha()


def _is_unknown(one: Drawn | None) -> bool:
    return one is not None and one.sign is None and MATH_FONT.match(one.font) is not None


def _latex(drawn: list[Drawn], raw: RawPage) -> str | None:
    """The LaTeX of a formula; None if it is not certain."""
    # A ligature is several letters of the line and one glyph.
    signs = [one.sign for one in {id(one): one for one in drawn}.values() if one.sign is not None]
    top, bottom = min(sign.top for sign in signs), max(sign.bottom for sign in signs)
    left, right = min(sign.x0 for sign in signs), max(sign.x1 for sign in signs)
    if any(top - 2 <= y <= bottom + 2 and x0 < right and left < x1 for y, x0, x1 in raw.rules.level):
        return None
    if any(
        sign.latex in _OPEN and sign.size > _SMALLER * max(one.size for one in signs) for sign in (signs[0], signs[-1])
    ):
        return None  # it continues on the line before or after
    try:
        latex = built(signs, ())
    except (Uncertain, RecursionError):
        return None
    if any(latex.count(one) != latex.count(other) for one, other in ("()", "[]", "{}")) or "$" in latex:
        return None
    return latex


def _replace(line: Line, start: int, end: int, mark: str) -> None:
    """Put a mark in place of a part of a line and of its pieces."""
    position = 0
    is_put = False
    for piece in line.pieces:
        at = line.text.find(piece.text, position)
        if at < 0:
            continue
        position = at + len(piece.text)
        first, last = max(start - at, 0), min(end - at, len(piece.text))
        if first >= last:
            continue
        put = "" if is_put else mark
        if piece.flags is not None and len(piece.flags) == len(piece.text):
            piece.flags = [*piece.flags[:first], *([0] * len(put)), *piece.flags[last:]]
        piece.text = piece.text[:first] + put + piece.text[last:]
        is_put = True
    line.text = line.text[:start] + mark + line.text[end:]
