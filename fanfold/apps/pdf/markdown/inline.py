"""Writes running text with its emphasis, superscripts, code and links as Markdown."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from fanfold.apps.pdf.markdown import cleaning, footnotes
from fanfold.apps.pdf.markdown.layout import Line
from fanfold.apps.pdf.markdown.pieces import BOLD, ITALIC, LINK, MONO, SUB, SUP

# Escape only what Markdown would read as markup: a star or underscore at a word edge, a tag, a link, a backtick.
_INLINE = re.compile(r"([*`]|(?<!\w)_|_(?!\w)|<(?=[A-Za-z/!])|\[(?=[^\]]*\]\())")
_SPECIAL = frozenset("*`_<[\\")
_LEADERS = re.compile(r"\s*(?:\.\s?){4,}\s*|\s*…{2,}\s*|\s*_{4,}\s*")
BREAK = "  \n"
"""A deliberate line break."""
# Shorter words in italics are mostly variables of formulas.
_SHORTEST_ITALIC = 2


@dataclass(slots=True)
class Rich:
    """Running text, and how each character is set; None if nothing is."""

    text: str
    flags: list[int] | None = None

    def cut(self, start: int) -> Rich:
        """The text from here on, without leading spaces."""
        rest = self.text[start:].lstrip()
        return Rich(rest, self.flags[len(self.text) - len(rest) :] if self.flags else None)


def of(line: Line) -> Rich:
    """A line with the settings of its pieces."""
    if not any(piece.flags for piece in line.pieces):
        return Rich(line.text)
    flags = [0] * len(line.text)
    position = 0
    for piece in line.pieces:
        at = line.text.find(piece.text, position)
        if at < 0 or piece.flags is None or len(piece.flags) != len(piece.text):
            continue
        flags[at : at + len(piece.text)] = piece.flags
        position = at + len(piece.text)
    if line.mono:
        flags = [flag & ~MONO for flag in flags]
    return Rich(line.text, flags)


def joined(lines: Sequence[Line], breaks: Iterable[int] = ()) -> Rich:
    """Lines as running text, with a deliberate line break before some of them."""
    kept = set(breaks)
    found = Rich("")
    for index, line in enumerate(lines):
        found = _join(found, of(line), is_break=index in kept)
    return _stripped(found)


def _join(before: Rich, after: Rich, *, is_break: bool) -> Rich:
    text = before.text + BREAK + after.text if is_break else cleaning.join(before.text, after.text)
    if before.flags is None and after.flags is None:
        return Rich(text)
    head = before.flags if before.flags is not None else [0] * len(before.text)
    tail = after.flags if after.flags is not None else [0] * len(after.text)
    # A hyphen that the line break had added is gone.
    kept = min(len(before.text), len(text) - len(after.text))
    glue = len(text) - kept - len(after.text)
    shared = head[kept - 1] & tail[0] if kept and tail else 0
    return Rich(text, [*head[:kept], *([shared] * glue), *tail])


def _stripped(rich: Rich) -> Rich:
    """The text without white space around it, and with leader dots shortened."""
    if rich.flags is None:
        return Rich(_LEADERS.sub(" … ", rich.text).strip())
    text, flags, position = "", [], 0
    for match in _LEADERS.finditer(rich.text):
        text += rich.text[position : match.start()] + " … "
        flags += [*rich.flags[position : match.start()], 0, 0, 0]
        position = match.end()
    text, flags = text + rich.text[position:], [*flags, *rich.flags[position:]]
    lead = len(text) - len(text.lstrip())
    stripped = text.strip()
    return Rich(stripped, flags[lead : lead + len(stripped)])


def written(
    rich: Rich, links: Sequence[str] = (), *, emphasis: bool = True, notes: Collection[str] = frozenset()
) -> str:
    """Markdown for running text; ``notes`` are the marks of the page's footnotes."""
    if rich.flags is None or not any(rich.flags):
        return escaped(rich.text)
    flags = _evened(rich.text, rich.flags)
    if not emphasis:
        flags = [flag & (SUP | SUB) for flag in flags]
    parts = []
    start = 0
    for number, group in itertools.groupby(flags, key=lambda flag: flag // LINK):
        size = len(list(group))
        own = [flag % LINK for flag in flags[start : start + size]]
        inner = _emphasised(rich.text[start : start + size], own, notes)
        address = links[number - 1] if 0 < number <= len(links) else ""
        parts.append(_linked(inner, rich.text[start : start + size], address) if address else inner)
        start += size
    return "".join(parts)


def _evened(text: str, flags: list[int]) -> list[int]:
    """Settings without changes inside words: characters without letters go with the word before them."""
    found = list(flags)
    emphasis = BOLD | ITALIC | MONO
    for match in re.finditer(r"\S+", text):
        span = range(match.start(), match.end())
        told = [found[at] & emphasis for at in span if text[at].isalnum() and not found[at] & (SUP | SUB)]
        if not told:
            told = [found[at] & emphasis & ~ITALIC for at in span]
        shared = told[0] if all(one == told[0] for one in told) else 0
        for at in span:
            found[at] = (found[at] & ~emphasis) | shared
    for at in range(1, len(text) - 1):
        if text[at].isspace():
            found[at] = found[at - 1] & found[at + 1] if found[at - 1] == found[at + 1] else 0
    return found


def _emphasised(text: str, flags: list[int], notes: Collection[str]) -> str:
    parts: list[str] = []
    start = 0
    for flag, group in itertools.groupby(flags):
        size = len(list(group))
        part = _marked(text[start : start + size], flag, notes)
        if part.startswith("[^") and parts:
            parts[-1] = parts[-1].rstrip(" ")  # a mark stands at its word, whatever gap is before it
        parts.append(part)
        start += size
    return "".join(parts)


def _marked(text: str, flag: int, notes: Collection[str]) -> str:
    """One stretch of text in its marks, with the spaces around it outside."""
    core = text.strip()
    if not core or not flag:
        return escaped(text)
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    if flag & MONO and "`" not in core and BREAK not in core:
        return f"{before}`{core}`{after}"
    inner = escaped(core)
    if flag & SUP and notes and (found := footnotes.labels(core)) and all(label in notes for label in found):
        return before + "".join(f"[^{label}]" for label in found) + after
    if flag & (SUP | SUB):
        tag = "sup" if flag & SUP else "sub"
        return f"{before}<{tag}>{inner}</{tag}>{after}"
    letters = sum(map(str.isalpha, core))
    mark = ("**" if flag & BOLD and any(map(str.isalnum, core)) else "") + (
        "*" if flag & ITALIC and letters >= _SHORTEST_ITALIC else ""
    )
    inner = f"{mark}  \n{mark}".join(inner.split(BREAK)) if mark else inner
    return f"{before}{mark}{inner}{mark}{after}"


def _linked(inner: str, text: str, address: str) -> str:
    """A link; an address that is its own text stays plain, so that it is not written twice."""
    core = inner.strip()
    plain = text.strip().rstrip("/.,")
    if not core or plain in address or "](" in core:
        return inner
    before, after = inner[: len(inner) - len(inner.lstrip())], inner[len(inner.rstrip()) :]
    target = address.replace("(", "%28").replace(")", "%29").replace("<", "%3C").replace(">", "%3E")
    return f"{before}[{core}]({target}){after}"


def escaped(text: str) -> str:
    """Text without anything that Markdown would read as markup."""
    if _SPECIAL.isdisjoint(text):
        return text
    return _INLINE.sub(r"\\\1", text.replace("\\", "\\\\"))
