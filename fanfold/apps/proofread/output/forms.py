"""The forms of a result: the book itself, differences, tracked changes, lists of changes, bilingual texts and the report."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.proofread.changes import Pair
from fanfold.apps.proofread.formats.book import Brackets
from fanfold.apps.proofread.markers import filled

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def as_book(work: ff.FormWork) -> ff.File:
    """The book in the format of its source."""
    found: ff.File = work.result["file"]
    return found


def as_report(work: ff.FormWork) -> ff.File:
    """Chunks, steps, models, rules with counts, gaps and cost."""
    found: ff.File = work.result["report"]
    return found


def as_html(work: ff.FormWork) -> Path:
    """A self-contained page with every changed paragraph before and after."""
    from fanfold.apps.proofread.changes.output import html_diff

    found = _book(work)
    return _written(work, "changes.html", html_diff(found.pairs, work.task.title, found.brackets))


def as_diff(work: ff.FormWork) -> Path:
    """A unified diff, a line for each paragraph."""
    from fanfold.apps.proofread.changes.output import unified_diff

    return _written(work, "changes.diff", unified_diff(list(_book(work).bare()), work.task.title))


def as_docx(work: ff.FormWork) -> Path:
    """A Word document with tracked changes: a copy of the book, or of a book in another format all its paragraphs."""
    from fanfold.apps.proofread.formats import read_book
    from fanfold.apps.proofread.output.tracked import tracked_copy, tracked_document

    source: ff.File = work.result["source"]
    path = work.scratch / f"source{Path(source.name).suffix}"
    path.symlink_to(source.path.resolve())
    given = work.task.options
    book = read_book(
        path,
        given.get("source_encoding") or None,
        given.get("paragraphs") or "auto",
        ruby_is_text=bool(given.get("to")),
    )
    make = tracked_copy if book.kind == "docx" else tracked_document
    return make(book, _book(work).blocks(), work.scratch / "tracked.docx")


def as_csv(work: ff.FormWork) -> Path:
    """All changes, one per row. Text never becomes a formula."""
    from fanfold.model.views.changes import COLUMNS

    path = work.scratch / "changes.csv"
    with path.open("w", encoding="utf-8", newline="") as sink:
        writer = csv.writer(sink)
        writer.writerow(COLUMNS)
        for row in _rows(work):
            writer.writerow(f"'{value}" if str(value).startswith(_FORMULA) else value for value in row.values())
    return path


def as_jsonl(work: ff.FormWork) -> Path:
    """All changes, one JSON object per line."""
    return _written(work, "changes.jsonl", (json.dumps(row, ensure_ascii=False) + "\n" for row in _rows(work)))


def as_bilingual(work: ff.FormWork) -> Path:
    """Each paragraph with its translation below it."""
    from fanfold.apps.proofread.changes.output import bilingual_text

    found = _book(work)
    return _written(work, "bilingual.txt", bilingual_text(found.pairs, found.brackets))


def as_beside(work: ff.FormWork) -> Path:
    """A page with each paragraph beside its translation."""
    from fanfold.apps.proofread.changes.output import bilingual_html

    found = _book(work)
    return _written(work, "beside.html", bilingual_html(found.pairs, work.task.title, found.brackets))


def as_tmx(work: ff.FormWork) -> Path:
    """A translation memory."""
    from fanfold.apps.proofread.changes.output import tmx
    from fanfold.apps.proofread.scripts import language_of

    found = _book(work)
    sample = "".join(pair.source for pair in found.pairs[:200])
    language = work.task.options.get("source_language") or language_of(sample)
    return _written(work, "memory.tmx", tmx(found.pairs, language, work.task.options["to"], found.brackets))


def as_glossary(work: ff.FormWork) -> str:
    """The glossary of the translation: the given terms and the collected ones, as people decided about them."""
    from fanfold.apps.proofread.glossary import write_glossary
    from fanfold.apps.proofread.options import Options
    from fanfold.apps.proofread.stages.collecting import joined_terms

    return write_glossary(joined_terms(work.results("terms"), Options.of_translate(_own_options(work))))


class _Pairs:
    """The paragraphs of a book before and after, with the decisions applied."""

    def __init__(self, work: ff.FormWork) -> None:
        from fanfold.apps.proofread.review.pairs import STAGE, pairs

        usual = work.task.options.get("undecided") or "accept"
        found = list(pairs(work.results(STAGE), usual))
        self.pairs = [_filled(one.pair, one.shown) for one in found]
        self._blocks = [(one.block, one.pair.answer) for one in found]
        self.brackets = found[0].brackets if found else Brackets()

    def bare(self) -> Iterator[Any]:
        """The pairs without markers."""
        from fanfold.apps.proofread.markers import without_marks

        for pair in self.pairs:
            yield replace(
                pair,
                source=without_marks(pair.source, self.brackets),
                answer=without_marks(pair.answer, self.brackets),
            )

    def blocks(self) -> dict[str, str]:
        """The text of every block that the chunks have."""
        texts: dict[str, str] = {}
        for block, text in self._blocks:
            texts[block] = texts.get(block, "") + text
        return texts


def _filled(pair: Pair, shown: Sequence[Sequence[str]]) -> Pair:
    """A pair for people to read: with the words that markers stand for."""
    return replace(pair, source=filled(pair.source, shown), answer=filled(pair.answer, shown)) if shown else pair


def _book(work: ff.FormWork) -> _Pairs:
    return _Pairs(work)


def _rows(work: ff.FormWork) -> Iterator[dict[str, Any]]:
    from fanfold.apps.proofread.review.pairs import STAGE
    from fanfold.model.views.changes import listed_changes

    return (one.as_dict() for one in listed_changes(work.results(STAGE)))


def _own_options(work: ff.FormWork) -> dict[str, Any]:
    """The options of the task that its pipeline declares."""
    from fanfold.apps.proofread.options import TRANSLATE_OPTIONS

    names = {one.name for one in TRANSLATE_OPTIONS}
    return {name: value for name, value in work.task.options.items() if name in names}


def _written(work: ff.FormWork, name: str, pieces: Iterable[str]) -> Path:
    path = work.scratch / name
    with path.open("w", encoding="utf-8", newline="\n") as sink:
        sink.writelines(pieces)
    return path


Form = tuple[str, str, str, str, bool, Callable[[ff.FormWork], object]]
SHARED: tuple[Form, ...] = (
    ("book", "Book", "application/octet-stream", ".book", False, as_book),
    ("html", "Changes as a web page", "text/html", ".changes.html", True, as_html),
    ("diff", "Unified diff", "text/x-diff", ".diff", True, as_diff),
    ("docx", "Word with tracked changes", WORD, ".docx", False, as_docx),
    ("csv", "Changes as CSV", "text/csv", ".changes.csv", True, as_csv),
    ("jsonl", "Changes as JSONL", "application/jsonl", ".changes.jsonl", True, as_jsonl),
    ("report", "Report", "application/json", ".report.json", False, as_report),
)
OF_TRANSLATION: tuple[Form, ...] = (
    ("bilingual", "Translation below each paragraph", "text/plain", ".bilingual.txt", True, as_bilingual),
    ("beside", "Translation beside each paragraph", "text/html", ".bilingual.html", True, as_beside),
    ("tmx", "Translation memory", "application/x-tmx+xml", ".tmx", True, as_tmx),
    ("glossary", "Glossary", "text/csv", ".glossary.csv", True, as_glossary),
)


def declare(pipeline: ff.Pipeline, forms: Iterable[Form]) -> None:
    """Declare the forms of a pipeline."""
    for name, label, media_type, ending, partial, make in forms:
        pipeline.form(name, label=label, media_type=media_type, ending=ending, partial=partial)(make)
