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

_NUMBER = r"[0-9０-９零〇一二两三四五六七八九十廿卅百千万壹贰叁肆伍陆柒捌玖拾]{1,9}"
_AFTER = r"(?:\s.*|[:：、．.—(（-].*)"
_WORD_GOES_ON = "的合来程节節去头頭想事轴入起里裡中上下就是"
"""Characters after 章, 回 or 卷 with which an ordinary sentence continues, such as 第一回合 and 第五章程."""
_HEAD_CHINESE = re.compile(
    rf"(?:正文\s*)?第\s*{_NUMBER}\s*(?:[章节節回卷集部篇折幕话話]{_AFTER}?"
    rf"|[章回卷](?![{_WORD_GOES_ON}])[^，。；！？,;]{{1,30}}[！？…]*)"
    rf"|卷\s*{_NUMBER}(?:\s.*)?"
    r"|(?:楔\s*子|序\s*章|序言|序|前言|引子|引言|番外(?:篇)?|后记|後記|尾声|尾聲|最?[终終]章|大结局|附录|附錄"
    r"|プロローグ|エピローグ|あとがき|幕間)(?:\s*[0-9一二三四五六七八九十]{0,3})(?:[:：\s(（].*)?"
)
_WORDS = (
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|"
    r"nineteen|twenty|thirty|forty|fifty|the\s+(?:\w+-)?(?:first|second|third|last|\w{2,}th)"
)
_TITLE = r"(?:\s*[.:—–-].*|\s+(?-i:[A-Z“\"‘'])[^.;!?]*|\s*)"
"""What may follow the number of a chapter: nothing, a mark and anything, or a title that begins with a capital."""
_HEAD_ENGLISH = re.compile(
    rf"(?:chapter|part|book|volume|section|act|scene|canto)\s+(?:[0-9]{{1,4}}|[ivxlcdm]{{1,8}}|(?:{_WORDS})(?:-\w+)?){_TITLE}"
    r"|(?:prologue|epilogue|preface|foreword|introduction|interlude|afterword|appendix|contents|acknowledge?ments)"
    r"(?:\s*[.:—–-].*|\s*)",
    re.IGNORECASE,
)
_HEAD_OTHER = re.compile(
    r"(?:kapitel|teil|chapitre|partie|cap[ií]tulo|parte|capitolo|hoofdstuk|rozdział|глава|часть|том)\s+"
    r"(?:[0-9]{1,4}|[ivxlcdm]{1,8}|\w{2,20})(?:\s*[.:—–-].*|\s*)|(?:пролог|эпилог|prolog|epilog|prólogo|epílogo)\s*"
    r"|(?:الفصل|الباب|الجزء)\s+[^.,،؟!]{1,40}|(?:פרק|חלק)\s+[^.,?!]{1,30}|제\s*[0-9]{1,4}\s*[장화부편권](?:[\s.:].*)?",
    re.IGNORECASE,
)
_ORNAMENT = " \t\u3000☆★◎※●○■□◆◇▲△、«»【】〖〗[]"
_NUMERAL_HEAD = re.compile(r"(?:[IVXLC]{1,7}|[0-9]{1,3})\.?")
_SEPARATOR = re.compile(r"(?:[*＊·•~～=＝_#◇◆○●☆★—-]\s*){3,}")


@dataclass(frozen=True)
class Span:
    """A paragraph or a gap of a text, as offsets."""

    start: int
    end: int
    gap: bool


def is_head(line: str) -> bool:
    """Whether a line is a chapter heading, in Chinese, Japanese or English, or a plain one in some other languages."""
    line = STRAY.sub("", line).strip().strip(_ORNAMENT)
    if not line or len(line) > LONGEST_HEAD:
        return False
    if has_cjk(line):
        return _HEAD_CHINESE.fullmatch(line) is not None
    forms = (_HEAD_ENGLISH, _HEAD_OTHER, _NUMERAL_HEAD)
    return any(form.fullmatch(line) for form in forms) or _shouted(line)


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
