"""Divides plain text into paragraphs and the gaps between them, and recognises chapter headings."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fanfold.apps.proofread.scripts import has_cjk

STRAY = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff]")
"""Characters that have no place in a text."""
NEWLINE = re.compile(r"\r\n|\r|\n")
WRAP_LEAST, WRAP_MOST = 45, 90
"""Line length of hard-wrapped text."""
LONGEST_HEAD = 60

_NUMBER = r"[0-9０-９零〇一二两三四五六七八九十百千万壹贰叁肆伍陆柒捌玖拾]{1,9}"
_HEAD_CHINESE = re.compile(
    rf"(?:正文\s*)?第\s*{_NUMBER}\s*[章节節回卷集部篇折幕话話](?:\s.*|[:：、．.—-].*|[^，。；！？,;]{{0,30}}[！？。…]*)?"
    r"|卷\s*" + _NUMBER + r"(?:\s.*)?"
    r"|(?:楔子|序章|序言|序|前言|引子|引言|番外(?:篇)?|后记|後記|尾声|尾聲|终章|終章|大结局|附录|附錄)"
    r"(?:\s*[0-9一二三四五六七八九十]{0,3})(?:[:：\s].*)?"
)
_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|"
    "nineteen|twenty|thirty|forty|fifty|the first|the last"
)
_HEAD_ENGLISH = re.compile(
    rf"(?:chapter|part|book|volume|section|act|scene|canto)\s+(?:[0-9]{{1,4}}|[ivxlcdm]{{1,8}}|(?:{_WORDS})(?:[- ]\w+)?)"
    r"(?:\s*[.:—–-].*|\s*)"
    r"|(?:prologue|epilogue|preface|foreword|introduction|interlude|afterword|appendix|contents|acknowledge?ments)"
    r"(?:\s*[.:—–-].*|\s*)",
    re.IGNORECASE,
)
_NUMERAL_HEAD = re.compile(r"(?:[IVXLC]{1,7}|[0-9]{1,3})\.?")
_SEPARATOR = re.compile(r"(?:[*＊·•~～=＝_#◇◆○●☆★—-]\s*){3,}")


@dataclass(frozen=True)
class Span:
    """A paragraph or a gap of a text, as offsets."""

    start: int
    end: int
    gap: bool


def is_head(line: str) -> bool:
    """Whether a line is a chapter heading, in Chinese or English."""
    line = STRAY.sub("", line).strip().strip("\u3000")
    if line[:1] in "【〖[" and line[-1:] in "】〗]":
        line = line[1:-1].strip()
    if not line or len(line) > LONGEST_HEAD:
        return False
    if has_cjk(line):
        return _HEAD_CHINESE.fullmatch(line) is not None
    return (_HEAD_ENGLISH.fullmatch(line) or _NUMERAL_HEAD.fullmatch(line)) is not None or _shouted(line)


def is_separator(line: str) -> bool:
    """Whether a line only separates scenes, such as ``* * *``."""
    return _SEPARATOR.fullmatch(line.strip()) is not None


def spans_of_lines(ends: Sequence[tuple[int, int]], size: int, blank: Iterable[bool], wrapped: bool) -> Iterator[Span]:
    """Paragraphs and gaps that together cover the whole text, from the offsets of its line ends.

    ``blank`` says for each line whether it is only white space. In hard-wrapped text a paragraph ends at a blank line;
    otherwise every line is a paragraph.
    """
    begin = paragraph_end = 0
    inside = False
    starts = [0, *(following for _, following in ends)]
    stops = [*(end for end, _ in ends), size]
    for start, stop, empty in zip(starts, stops, blank, strict=True):
        if empty:
            if inside:
                yield Span(begin, paragraph_end, gap=False)
                begin, inside = paragraph_end, False
            continue
        if inside and wrapped:
            paragraph_end = stop
            continue
        if inside:
            yield Span(begin, paragraph_end, gap=False)
            begin = paragraph_end
        if start > begin:
            yield Span(begin, start, gap=True)
        begin, paragraph_end, inside = start, stop, True
    if inside:
        yield Span(begin, paragraph_end, gap=False)
        begin = paragraph_end
    if size > begin:
        yield Span(begin, size, gap=True)


def is_wrapped(lines: Sequence[str]) -> bool:
    """Whether the text is hard-wrapped, so that a paragraph ends at a blank line and not at a line end."""
    followed = [len(line.rstrip()) for line, after in itertools.pairwise(lines) if line.strip() and after.strip()]
    if len(followed) < 3 or not any(not line.strip() for line in lines):
        return False
    if sum(map(has_cjk, lines[:2_000])) > len(lines[:2_000]) / 10:
        return False
    usual = sum(WRAP_LEAST <= length <= WRAP_MOST for length in followed)
    return usual >= 0.6 * len(followed) and max(followed) <= 2 * WRAP_MOST


def _shouted(line: str) -> bool:
    """Whether this is a short line in capitals with a word of at least three letters."""
    return (
        line.isupper() and len(line) <= 40 and re.search(r"[^\W\d_]{3}", line) is not None and line[-1] not in ',;!?."”'
    )
