"""Finds the runs of a Word paragraph: text with its format, links around text, and things that have no editable text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from fanfold.apps.proofread.formats.markup import ENTITY, Token, TokenKind, escape_text, partners, unescape_one
from fanfold.apps.proofread.formats.segments import PieceKind, Unit

CONTAINERS = frozenset(
    ["w:hyperlink", "w:ins", "w:smartTag", "w:sdt", "w:fldSimple", "w:moveTo", "w:customXml", "w:dir", "w:bdo"]
)
ATOMS = frozenset(["w:del", "w:moveFrom", "m:oMath", "m:oMathPara", "w:ruby", "mc:AlternateContent"])
PROPERTIES = frozenset(["w:pPr", "w:sdtPr", "w:sdtEndPr", "w:smartTagPr", "w:customXmlPr"])
IN_TEXT = frozenset(
    ["w:r", "w:rPr", "w:t", "w:tab", "w:br", "w:cr", "w:noBreakHyphen", "w:softHyphen", "w:lastRenderedPageBreak"]
)
"""Elements of a run of text. A run with another, such as a picture, is an atom, unless it also has letters of its own."""

_TEXT = re.compile(
    r"(?P<ruby><w:ruby>.*?</w:ruby>)|(?P<open><w:t(?:\s[^>]*)?>)(?P<text>[^<]*)(?P<close></w:t>)"
    r"|(?P<tab><w:tab\s*/>)|(?P<break><w:(?:br|cr)(?:\s+w:(?:type=\"textWrapping\"|clear=\"[a-z]*\"))*\s*/>)"
    r"|(?P<hyphen><w:noBreakHyphen\s*/>)",
    re.DOTALL,
)
"""Text. Other breaks, such as that of a page, are markup that stays in place."""
_CHANGED_STYLE = r"<w:rPrChange\b.*?</w:rPrChange>"
_STYLE = re.compile(rf"<w:rPr>(?:(?!</w:rPr>|<w:rPrChange\b).)*(?:{_CHANGED_STYLE})?\s*</w:rPr>|<w:rPr\s*/>", re.DOTALL)
"""The properties of a run. A tracked change of them has the old properties inside."""
_RUBY = re.compile(r"<w:ruby>.*?</w:ruby>", re.DOTALL)
_READING = re.compile(r"<w:rt>.*?</w:rt>", re.DOTALL)
_FRAME = re.compile(r"</?w:[rt](?:\s[^>]*)?>")
_FIELD = re.compile(r"<w:fldChar\s[^>]*w:fldCharType=[\"'](begin|separate|end)[\"']")
_UNSEEN = re.compile(r"<w:(?:lang|noProof|webHidden)(?:\s[^>]*)?/>|\sw:hint=\"\w+\"")
_NOTHING = re.compile(r"<w:rFonts\s*/>|<w:rPr>\s*</w:rPr>|<w:rPr/>")


@dataclass(frozen=True, slots=True)
class Run:
    """Text in one format, the tag of a container, or an atom. ``container`` is the number of the container it is in."""

    kind: PieceKind
    start: int
    end: int
    number: int = 0
    container: int = 0
    style: str = ""
    shown: str = ""


def find_runs(source: str, tokens: Sequence[Token], *, ruby_is_text: bool = False) -> list[Run]:
    """The runs of a paragraph, from the tokens inside it, in order."""
    tokens = list(tokens)
    closing = partners(tokens)
    ends = {end: start for start, end in closing.items()}
    runs: list[Run] = []
    stack = [0]
    at = 0
    while at < len(tokens):
        token, end = tokens[at], closing.get(at, at)
        if token.name in PROPERTIES:
            at = end
        elif token.name in ATOMS and token.kind is TokenKind.START:
            runs.append(Run(PieceKind.ATOM, token.start, tokens[end].end, token.start + 1))
            at = end
        elif token.name == "w:r" and at in closing:
            runs += _run(source, tokens[at : end + 1], stack[-1], ruby_is_text)
            at = end
        elif token.name in CONTAINERS and at in closing:
            stack.append(token.start + 1)
            runs.append(Run(PieceKind.OPEN, token.start, token.end, stack[-1]))
        elif token.name in CONTAINERS and at in ends:
            runs.append(Run(PieceKind.CLOSE, token.start, token.end, stack.pop()))
        at += 1
    return _fields(source, runs)


def _fields(source: str, runs: list[Run]) -> list[Run]:
    """The runs with each field that begins and ends here as one container around what it shows; its code is markup.

    Separate markers could be swapped, and Word cannot open a field that ends before it begins.
    """
    out: list[Run] = []
    open_fields: list[tuple[int, int | None]] = []
    for run in runs:
        kinds = _FIELD.findall(source, run.start, run.end) if run.kind is PieceKind.ATOM else []
        kind = kinds[0] if len(kinds) == 1 else ""
        if kind == "begin":
            open_fields.append((len(out), None))
        elif kind == "separate" and open_fields and open_fields[-1][1] is None:
            begin = open_fields.pop()[0]
            if _are_level(out[begin:], run):
                out[begin:] = [replace(out[begin], kind=PieceKind.OPEN, end=run.end, shown="")]
                open_fields.append((begin, out[begin].number))
                continue
        elif kind == "end" and open_fields:
            begin, number = open_fields.pop()
            inside = out[begin + 1 :] if number is not None else out[begin:]
            if number is not None and not _are_level(inside, run):
                out[begin] = replace(out[begin], kind=PieceKind.ATOM)
            elif number is not None:
                out.append(replace(run, kind=PieceKind.CLOSE, number=number, shown=""))
                continue
            elif _are_level(inside, run):
                out[begin:] = [replace(out[begin], end=run.end)]
                continue
        out.append(run)
    for begin, number in open_fields:
        if number is not None:
            out[begin] = replace(out[begin], kind=PieceKind.ATOM)
    return out


def _are_level(runs: Sequence[Run], last: Run) -> bool:
    """Whether every container among the runs is opened and closed, up to the last run, which is in the same container."""
    depth = 0
    for run in runs:
        depth += {PieceKind.OPEN: 1, PieceKind.CLOSE: -1}.get(run.kind, 0)
        if depth < 0:
            return False
    return depth == 0 and (not runs or runs[0].container == last.container)


def joined_runs(source: str, runs: Iterable[Run]) -> list[Run]:
    """Merge neighbouring runs in the same format and neighbouring atoms, and make empty containers atoms."""
    out: list[Run] = []
    for run in runs:
        last = out[-1] if out else None
        if last is None:
            out.append(run)
        elif run.kind is PieceKind.CLOSE and last.kind is PieceKind.OPEN and last.number == run.number:
            out[-1] = replace(last, kind=PieceKind.ATOM, end=run.end)
        elif run.kind is PieceKind.ATOM and last.kind is PieceKind.ATOM:
            out[-1] = replace(last, end=run.end, shown=last.shown + run.shown)
        elif run.kind is PieceKind.TEXT and last.kind is PieceKind.TEXT and _alike(source, last, run):
            out[-1] = replace(last, end=run.end)
        else:
            out.append(run)
    return out


def units(raw: str) -> list[Unit]:
    """The characters of runs with their spelling; tags stay in place."""
    made: list[Unit] = []
    at = 0
    for found in _TEXT.finditer(raw):
        made.append(Unit("", raw[at : found.start()]))
        if found["open"]:
            made += [Unit("", found["open"]), *_characters(found["text"]), Unit("", found["close"])]
        elif found["ruby"]:  # A changed paragraph is written without the reading.
            made += [Unit(one, f"<w:t>{escape_text(one)}</w:t>", inside=False) for one in _special(found)]
        else:
            made.append(Unit(_special(found), found[0], inside=False))
        at = found.end()
    return [unit for unit in [*made, Unit("", raw[at:])] if unit.raw]


def staying(raw: str) -> str:
    """What a run has beside its text and its properties, such as breaks and notes: it stays in place."""
    return _FRAME.sub("", _STYLE.sub("", raw))


def runs_text(raw: str) -> str:
    """The text of runs. A tab and a line break are characters too."""
    return "".join(
        ENTITY.sub(lambda one: unescape_one(one[0]) or one[0], found["text"]) if found["open"] else _special(found)
        for found in _TEXT.finditer(raw)
    )


def whole_style(raw: str) -> str:
    """The properties of the first run."""
    found = _STYLE.search(raw)
    return found[0] if found else ""


def style_of(raw: str) -> str:
    """The properties of the first run for new text, which has no history of its format."""
    return re.sub(_CHANGED_STYLE, "", whole_style(raw), flags=re.DOTALL)


def look_of(style: str) -> str:
    """The properties of a run that can be seen. Word also divides runs by language and by which font a character may have."""
    return _NOTHING.sub("", _NOTHING.sub("", _UNSEEN.sub("", style)))


def _run(source: str, tokens: Sequence[Token], container: int, ruby_is_text: bool) -> list[Run]:
    raw = source[tokens[0].start : tokens[-1].end]
    start, end = tokens[0].start, tokens[-1].end
    text = runs_text(raw)
    bare = _STYLE.sub("", raw, count=1)
    names = re.findall(r"<([\w:]+)", bare)
    if ruby_is_text:
        names = re.findall(r"<([\w:]+)", _RUBY.sub("", bare))
    is_plain = names.count("w:r") == 1 and any(map(str.isalnum, text))
    if not is_plain and any(name not in IN_TEXT for name in names):
        return [Run(PieceKind.ATOM, start, end, start + 1, container, shown=text)]
    return [Run(PieceKind.TEXT, start, end, 0, container, style_of(raw))] if text else []


def _alike(source: str, one: Run, other: Run) -> bool:
    """Whether two runs have the same format; a run of only spaces takes the format of its neighbour."""
    if one.container != other.container:
        return False
    return look_of(one.style) == look_of(other.style) or not runs_text(source[other.start : other.end]).strip(" ")


def _characters(text: str) -> list[Unit]:
    made: list[Unit] = []
    at = 0
    for found in ENTITY.finditer(text):
        made += [Unit(one, one) for one in text[at : found.start()]]
        shown = unescape_one(found[0])
        made += [Unit(one, one) for one in found[0]] if shown is None else [Unit(shown, found[0])]
        at = found.end()
    return made + [Unit(one, one) for one in text[at:]]


def _special(found: re.Match[str]) -> str:
    if found["ruby"]:
        return runs_text(_READING.sub("", found[0]).replace("w:ruby>", "w:base>"))
    return "\t" if found["tab"] else "\n" if found["break"] else "\u2011"
