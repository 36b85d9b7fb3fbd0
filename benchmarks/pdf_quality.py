"""Scores, losses and checks of the conversions of `benchmarks/pdf.py`, as rows of tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, Protocol

from pdf_libraries import LIBRARIES
from scoring import Scores, lost, mean, passes, scored

CHECKS = Path(__file__).with_name("pdf_checks.json")
"""Statements about single pages of the corpus."""


class Document(Protocol):
    """A PDF of the corpus."""

    @property
    def path(self) -> Path: ...
    @property
    def pages(self) -> int: ...
    @property
    def truth(self) -> Path | None: ...


def score_rows(documents: Sequence[Document], out: Path) -> Iterable[list[str]]:
    """The scores of each document with a truth and each engine, and their means."""
    found: dict[str, list[Scores]] = {}
    for document in documents:
        for engine in (*LIBRARIES, "fanfold"):
            converted = out / engine / f"{document.path.stem}.md"
            if document.truth is None or not converted.exists():
                yield [document.path.name, engine, "failed", *[""] * (len(fields(Scores)) - 1)]
                continue
            scores = scored(converted.read_text("utf-8"), document.truth.read_text("utf-8"))
            found.setdefault(engine, []).append(scores)
            yield [document.path.name, engine, *map(figure, astuple(scores))]
    for engine, scores_of in found.items():
        yield ["**mean**", engine, *(figure(mean(column)) for column in zip(*map(astuple, scores_of), strict=True))]


def loss_rows(documents: Sequence[Document], out: Path) -> Iterable[list[str]]:
    """Letters and digits of two other readings that are not in the conversions, per page, running lines included."""
    pages = sum(document.pages for document in documents)
    readings = {document.path.stem: readings_of(document.path) for document in documents}
    for engine in (*LIBRARIES, "fanfold"):
        missing = [0, 0]
        for stem, texts in readings.items():
            converted = out / engine / f"{stem}.md"
            markdown = converted.read_text("utf-8") if converted.exists() else ""
            missing = [total + lost(text, markdown) for total, text in zip(missing, texts, strict=True)]
        yield [engine, *(f"{total / pages:.1f}" for total in missing)]


def readings_of(path: Path) -> tuple[str, str]:
    """The text of a document as pdfium and as liteparse read it, without any interpretation."""
    import pypdfium2
    from liteparse import LiteParse

    with pypdfium2.PdfDocument(path) as document:
        own = "\n".join(page.get_textpage().get_text_range() for page in document)
    parsed = LiteParse(ocr_enabled=False, quiet=True, output_format="json", keep_headers_footers=True).parse(str(path))
    return own, "\n".join(item.text for page in parsed.pages for item in page.text_items)


def check_rows(checks: list[dict[str, Any]], out: Path) -> Iterable[list[str]]:
    """How many checks of each kind each engine passes."""
    kinds = sorted({check["type"] for check in checks})
    for engine in (*LIBRARIES, "fanfold"):
        passed: Counter[str] = Counter()
        for check in checks:
            converted = out / engine / f"{check['file']}.md"
            passed[check["type"]] += converted.exists() and passes(check, converted.read_text("utf-8"))
        yield [engine, *(f"{passed[kind]}" for kind in kinds), f"{passed.total()}"]


def figure(share: float | None) -> str:
    """A share as text."""
    return "–" if share is None else f"{share:.3f}"
