"""Builds LaTeX from the signs of a formula and the rules in it: fractions, roots, limits, scripts and accents.

Whatever does not fit raises `Uncertain`: then the formula stays plain text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from fanfold.apps.pdf.formulas.math_signs import FUNCTIONS, Sign

Bar = tuple[float, float, float]
"""Height, left and right of a level rule."""

_WITH_LIMITS = frozenset(
    ("lim", "max", "min", "sup", "inf", "liminf", "limsup", "det", "gcd", "Pr", "argmax", "argmin")
)
_WITHOUT_SCRIPTS = frozenset((
    "+", "-", "=", "<", ">", "(", "[", ",", ";", ":", "/", "*", r"\cdot", r"\times", r"\pm", r"\leq", r"\geq", r"\in", r"\sim",
    r"\to",
))  # fmt: skip
# In multiples of the type size: letters of a word are closer; a wider gap is a space that was meant.
_WORD = 0.14
_QUAD = 0.9
# In multiples of the type size: scripts are smaller, and this far above or below the line.
_SMALLER = 0.86
_ON_LINE = 0.1
_HIGHEST = 4.0
_CLOSE = 0.4
_LONGEST_WORD = 12


class Uncertain(Exception):
    """The formula is not understood."""


@dataclass(slots=True)
class _Term:
    sign: Sign
    above: list[Sign] = field(default_factory=list)
    below: list[Sign] = field(default_factory=list)


def built(signs: Sequence[Sign], bars: Iterable[Bar]) -> str:
    """The LaTeX of signs that form one line, with what stands above and below it."""
    left = list(signs)
    open_bars = sorted(bars, key=lambda bar: bar[1] - bar[2])
    while open_bars:
        bar = open_bars[0]
        inner = [other for other in open_bars[1:] if bar[1] - 1 <= other[1] and other[2] <= bar[2] + 1]
        left, used = _with_bar(left, bar, inner)
        open_bars = [other for other in open_bars[1:] if other not in used]
    if not left:
        raise Uncertain
    return _line(_accented(_words(sorted(left, key=lambda sign: sign.x0))))


def _with_bar(signs: list[Sign], bar: Bar, inner: Sequence[Bar]) -> tuple[list[Sign], list[Bar]]:
    """The signs with those at a rule as one: a root, a fraction or what is below an overline; and the rules used."""
    y, start, end = bar
    over = [sign for sign in signs if start - 1 <= (sign.x0 + sign.x1) / 2 <= end + 1]
    radical = next(
        (s for s in signs if s.kind == "radical" and abs(s.x1 - start) < 2.0 and abs(s.top - y) < 2.0),
        None,
    )
    below = [sign for sign in over if sign is not radical and sign.top > y - 1 and sign.top < y + _HIGHEST * sign.size]
    if radical is not None:
        below = [sign for sign in below if sign.bottom < radical.bottom + 2]
        degree = [sign for sign in signs if _is_degree(sign, radical)]
        made = rf"\sqrt{f'[{built(degree, ())}]' if degree else ''}{{{built(below, [one for one in inner if one[0] > y])}}}"
        return _replaced(signs, [radical, *degree, *below], made, (radical.x0, end), _base(below)), list(inner)
    above = [sign for sign in over if sign.bottom < y + 1 and sign.bottom > y - _HIGHEST * sign.size]
    if below and not above and min(sign.top for sign in below) - y < _CLOSE * below[0].size:
        made = rf"\overline{{{built(below, [one for one in inner if one[0] > y])}}}"
        return _replaced(signs, below, made, (start, end), _base(below)), list(inner)
    if not below or not above or any(sign.kind == "radical" for sign in over if sign not in [*above, *below]):
        raise Uncertain
    upper, lower = [one for one in inner if one[0] < y - 1], [one for one in inner if one[0] > y + 1]
    made = rf"\frac{{{built(above, upper)}}}{{{built(below, lower)}}}"
    size = max(sign.size for sign in [*above, *below])
    return _replaced(signs, [*above, *below], made, (start, end), y + 0.25 * size), list(inner)


def _is_degree(sign: Sign, radical: Sign) -> bool:
    """Whether a small sign stands in the corner of a root."""
    middle = (sign.x0 + sign.x1) / 2
    is_beside = radical.x0 - 0.2 * radical.size < middle < (radical.x0 + radical.x1) / 2
    return is_beside and sign.size < 0.8 * radical.size and sign.bottom < (radical.top + radical.bottom) / 2 + 1


def _base(signs: Sequence[Sign]) -> float:
    size = max(sign.size for sign in signs)
    return next(sign.base for sign in signs if sign.size == size)


def _replaced(
    signs: list[Sign], used: Sequence[Sign], latex: str, edges: tuple[float, float], base: float
) -> list[Sign]:
    known = set(map(id, used))
    top, bottom = min(sign.top for sign in used), max(sign.bottom for sign in used)
    size = max(sign.size for sign in used)
    return [*(s for s in signs if id(s) not in known), Sign(latex, *edges, top, bottom, base, size, "built")]


def _words(signs: list[Sign]) -> list[Sign]:
    """The signs with upright letters joined to names of functions and other words."""
    found: list[Sign] = []
    ends: list[Sign] = []
    for sign in signs:
        if sign.kind != "roman":
            found.append(replace(sign))
            continue
        # What stands below a word is between its letters in this order.
        last = next((end for end in ends if _continues(end, sign)), None)
        if last is None:
            found.append(replace(sign))
            ends.append(found[-1])
            continue
        last.latex, last.x1 = last.latex + sign.latex, sign.x1
        last.top, last.bottom = min(last.top, sign.top), max(last.bottom, sign.bottom)
    for sign in found:
        if sign.kind == "roman":
            if len(sign.latex) > _LONGEST_WORD:
                raise Uncertain
            sign.kind = "operator" if sign.latex in _WITH_LIMITS else "plain"
            sign.latex = f"\\{sign.latex}" if sign.latex in FUNCTIONS else rf"\mathrm{{{sign.latex}}}"
    return found


def _continues(word: Sign, letter: Sign) -> bool:
    return abs(letter.base - word.base) < 0.5 and -0.1 * letter.size < letter.x0 - word.x1 < _WORD * letter.size


def _accented(signs: list[Sign]) -> list[Sign]:
    """The signs with accents around their letters."""
    plain = [sign for sign in signs if sign.kind != "accent"]
    for accent in (sign for sign in signs if sign.kind == "accent"):
        middle = (accent.x0 + accent.x1) / 2
        below = [sign for sign in plain if sign.x0 - 1 < middle < sign.x1 + 1 and abs(sign.size - accent.size) < 1]
        if len(below) != 1 or accent.top > below[0].top + 1:
            raise Uncertain
        below[0].latex = f"{accent.latex}{{{below[0].latex}}}"
    return plain


def _line(signs: list[Sign]) -> str:
    terms = _terms(signs)
    size = max(term.sign.size for term in terms)
    parts: list[str] = []
    edge = None
    for term in terms:
        if edge is not None and term.sign.x0 - edge > _QUAD * size:
            parts.append(r"\quad")
        parts.append(_written(term))
        edge = max(sign.x1 for sign in [term.sign, *term.above, *term.below])
    return " ".join(parts).replace(r"\not{=}", r"\neq")


def _terms(signs: list[Sign]) -> list[_Term]:
    """The signs on the line, each with what is above and below it."""
    size = max(sign.size for sign in signs)
    bases = sorted(
        s.base for s in signs if s.size > _SMALLER * size and s.kind not in ("large", "operator", "integral")
    )
    base = bases[len(bases) // 2] if bases else None
    terms = [_Term(sign) for sign in signs if _is_on_line(sign, base, size)]
    if not terms:
        raise Uncertain
    on_line = {id(term.sign) for term in terms}
    for sign in (sign for sign in signs if id(sign) not in on_line):
        _attach(sign, terms, base if base is not None else (terms[0].sign.top + terms[0].sign.bottom) / 2, size)
    return terms


def _is_on_line(sign: Sign, base: float | None, size: float) -> bool:
    if sign.kind in ("large", "integral") or (sign.kind == "operator" and sign.size > _SMALLER * size):
        return True
    if base is None:
        return sign.size > _SMALLER * size
    is_level = abs(sign.base - base) < _ON_LINE * size
    if sign.size > _SMALLER * size and not is_level and sign.kind != "built":
        raise Uncertain(sign)  # two lines, or a sign out of place
    return is_level or sign.size > _SMALLER * size


def _attach(sign: Sign, terms: list[_Term], base: float, size: float) -> None:
    """Add a small sign to the term above, below or behind which it stands."""
    middle = (sign.x0 + sign.x1) / 2
    for term in terms:
        own = term.sign
        wide = 1.2 * max(own.x1 - own.x0, 0.8 * size)
        if own.kind == "operator" and abs(middle - (own.x0 + own.x1) / 2) < wide:
            if sign.bottom < own.top + 0.25 * size:
                term.above.append(sign)
                return
            if sign.top > own.bottom - 0.25 * size:
                term.below.append(sign)
                return
    before = [term for term in terms if term.sign.x0 < sign.x0]
    if not before:
        raise Uncertain
    term = before[-1]
    centre = (term.sign.top + term.sign.bottom) / 2 if term.sign.kind in ("large", "integral", "operator") else base
    (term.above if sign.base < centre - 0.12 * size * (centre == base) else term.below).append(sign)


def _written(term: _Term) -> str:
    text = term.sign.latex
    if not text or (text in _WITHOUT_SCRIPTS and (term.above or term.below)):
        raise Uncertain  # a root without its rule, or a fraction without it
    if term.sign.kind == "built" and (term.above or term.below):
        text = f"{{{text}}}"
    below = f"_{{{built(term.below, ())}}}" if term.below else ""
    above = f"^{{{built(term.above, ())}}}" if term.above else ""
    return text + below + above
