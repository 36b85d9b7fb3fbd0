"""Writes changes and paragraph pairs for people and programs: unified diff, HTML, CSV, JSON lines, bilingual text and TMX."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from fanfold.apps.proofread.changes.change import Change
from fanfold.apps.proofread.changes.compare import compare
from fanfold.apps.proofread.changes.listing import Pair, Verdict
from fanfold.apps.proofread.formats.book import Brackets
from fanfold.apps.proofread.markers import without_marks

COLUMNS = ("key", "block", "state", "kind", "topic", "origin", "left", "before", "after", "right", "replacement")
CONTEXT = 1
"""Unchanged paragraphs around a change in a unified diff."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def unified_diff(pairs: Sequence[Pair], name: str) -> Iterator[str]:
    """The lines of a unified diff. Paragraphs are already aligned, so a book of any length takes one pass."""
    yield f"--- {name}\n"
    yield f"+++ {name}\n"
    old = new = 1
    for hunk in _hunks(pairs):
        first = pairs[hunk.start : hunk.stop]
        before = [line for pair in first for line in pair.source.split("\n")]
        after = [line for pair in first for line in pair.answer.split("\n")]
        old_at = old + _lines(pairs, hunk.skipped, "source")
        new_at = new + _lines(pairs, hunk.skipped, "answer")
        yield f"@@ -{old_at},{len(before)} +{new_at},{len(after)} @@\n"
        for pair in first:
            if pair.source == pair.answer:
                yield from (f" {line}\n" for line in pair.source.split("\n"))
                continue
            yield from (f"-{line}\n" for line in pair.source.split("\n"))
            yield from (f"+{line}\n" for line in pair.answer.split("\n"))
        old, new = old_at + len(before), new_at + len(after)


def html_diff(pairs: Iterable[Pair], title: str, brackets: Brackets | None = None) -> Iterator[str]:
    """A self-contained HTML page, in pieces, with every changed paragraph and inline marks for deletions and insertions."""
    safe = html.escape(title)
    yield f'<!doctype html><html><head><meta charset="utf-8"><title>{safe}</title><style>{_STYLE}</style></head><body>'
    yield f"<h1>{safe}</h1>"
    shown = skipped = 0
    for pair in pairs:
        if pair.source == pair.answer:
            skipped += 1
            continue
        if skipped:
            yield f'<p class="same">{skipped} ¶</p>'
        skipped, shown = 0, shown + 1
        left, right = _marked(pair, brackets)
        block = html.escape(pair.block)
        yield f'<section id="b{block}"><a href="#b{block}">{block}</a><p>{left}</p><p>{right}</p></section>'
    if skipped:
        yield f'<p class="same">{skipped} ¶</p>'
    yield f"<footer>{shown}</footer></body></html>\n"


def changes_csv(changes: Iterable[Change], decisions: Mapping[str, Verdict] | None = None) -> Iterator[str]:
    """The lines of a CSV file. Cells that a spreadsheet would run as a formula get a leading apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for row in _rows(changes, decisions or {}):
        writer.writerow(f"'{value}" if str(value).startswith(_FORMULA) else value for value in row.values())
        yield out.getvalue()
        out.seek(0)
        out.truncate()
    yield out.getvalue()


def changes_jsonl(changes: Iterable[Change], decisions: Mapping[str, Verdict] | None = None) -> Iterator[str]:
    """One JSON object per line."""
    for row in _rows(changes, decisions or {}):
        yield json.dumps(row, ensure_ascii=False) + "\n"


def bilingual_text(pairs: Iterable[Pair], brackets: Brackets | None = None) -> Iterator[str]:
    """Each paragraph with its translation below it."""
    for pair in pairs:
        source, answer = (_bare(text, brackets).strip() for text in (pair.source, pair.answer))
        yield f"{source}\n{answer}\n\n" if source != answer else f"{source}\n\n"


def bilingual_html(pairs: Iterable[Pair], title: str, brackets: Brackets | None = None) -> Iterator[str]:
    """A self-contained page with each paragraph beside its translation."""
    safe = html.escape(title)
    yield f'<!doctype html><html><head><meta charset="utf-8"><title>{safe}</title><style>{_STYLE}</style></head><body>'
    yield f"<h1>{safe}</h1>"
    for pair in pairs:
        source, answer = (html.escape(_bare(text, brackets).strip()) for text in (pair.source, pair.answer))
        yield f"<section><p>{source}</p><p>{answer}</p></section>"
    yield "</body></html>\n"


def tmx(
    pairs: Iterable[Pair], source_language: str, target_language: str, brackets: Brackets | None = None
) -> Iterator[str]:
    """A translation memory (TMX 1.4) of the pairs that were translated."""
    yield '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header creationtool="fanfold" creationtoolversion="1" '
    yield f'segtype="paragraph" o-tmf="fanfold" adminlang="en" srclang="{html.escape(source_language)}" '
    yield 'datatype="plaintext"/><body>\n'
    for pair in pairs:
        source, answer = (_bare(text, brackets).strip() for text in (pair.source, pair.answer))
        if source and answer and source != answer:
            units = ((source_language, source), (target_language, answer))
            inside = "".join(
                f'<tuv xml:lang="{html.escape(name)}"><seg>{_xml(text)}</seg></tuv>' for name, text in units
            )
            yield f'<tu tuid="{html.escape(pair.block)}">{inside}</tu>\n'
    yield "</body></tmx>\n"


class _Hunk:
    """Neighbouring changed pairs with their context. ``skipped`` are the unchanged pairs since the last hunk."""

    def __init__(self, start: int, stop: int, skipped: range) -> None:
        self.start, self.stop, self.skipped = start, stop, skipped


def _hunks(pairs: Sequence[Pair]) -> Iterator[_Hunk]:
    last = 0
    start = stop = -1
    for at, pair in enumerate(pairs):
        if pair.source == pair.answer:
            continue
        if start >= 0 and at - CONTEXT > stop:
            yield _Hunk(start, stop, range(last, start))
            last, start = stop, -1
        if start < 0:
            start = max(last, at - CONTEXT)
        stop = min(len(pairs), at + CONTEXT + 1)
    if start >= 0:
        yield _Hunk(start, stop, range(last, start))


def _lines(pairs: Sequence[Pair], skipped: range, side: str) -> int:
    return sum(getattr(pairs[at], side).count("\n") + 1 for at in skipped)


def _marked(pair: Pair, brackets: Brackets | None) -> tuple[str, str]:
    """Source and answer as HTML, with deletions and insertions marked."""
    left, right, at = [], [], 0
    for span in compare(pair.source, pair.answer, brackets):
        same = html.escape(pair.source[at : span.start])
        gone = html.escape(pair.source[span.start : span.end])
        left += [same, f"<del>{gone}</del>" if gone else ""]
        right += [same, f"<ins>{html.escape(span.after)}</ins>" if span.after else ""]
        at = span.end
    rest = html.escape(pair.source[at:])
    return "".join([*left, rest]), "".join([*right, rest])


def _rows(changes: Iterable[Change], decisions: Mapping[str, Verdict]) -> Iterator[dict[str, object]]:
    for change in changes:
        made = decisions.get(change.key)
        known = change.as_dict() | {
            "state": made.verdict if made else "open",
            "replacement": made.value if made else None,
        }
        yield {name: known[name] for name in COLUMNS}


def _bare(text: str, brackets: Brackets | None) -> str:
    return without_marks(text, brackets) if brackets is not None else text


def _xml(text: str) -> str:
    """Text for XML, without characters that XML does not allow."""
    return html.escape("".join(one for one in text if one >= " " or one in "\t\n\r"), quote=False)


_STYLE = (
    "body{font:16px/1.6 system-ui,sans-serif;max-width:80em;margin:2em auto;padding:0 1em;color-scheme:light dark}"
    "section{display:grid;grid-template-columns:1fr 1fr;gap:0 2em;border-top:1px solid #8884;padding:.3em 0}"
    "section>a{grid-column:1/-1;font-size:.75em;color:#888;text-decoration:none}p{margin:.2em 0;white-space:pre-wrap;"
    "unicode-bidi:plaintext}"
    "del{background:#f885;text-decoration:line-through}ins{background:#8d85;text-decoration:none}.same{color:#888}"
    "@media(max-width:40em){section{grid-template-columns:1fr}}"
)
