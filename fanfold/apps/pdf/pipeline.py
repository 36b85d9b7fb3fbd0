"""The stages of a conversion: split lists the pages, convert handles each page, merge binds them into one document.

fanfold convert book.pdf
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any

import fanfold as ff
from fanfold.apps.pdf import chinese
from fanfold.apps.pdf.inputs import kinds
from fanfold.apps.pdf.inputs.pictures import as_pdf
from fanfold.apps.pdf.options import LOCAL, OPTIONS, Options
from fanfold.apps.pdf.output import binding, forms
from fanfold.apps.pdf.output.document_facts import line_boxes, pdf_facts
from fanfold.apps.pdf.pages import in_children
from fanfold.apps.pdf.pages.ocr_turns import ocr_turns, reading_turns
from fanfold.apps.pdf.pages.page_text import PageText
from fanfold.apps.pdf.pages.windows import windows
from fanfold.apps.pdf.reading import document
from fanfold.apps.pdf.reading.document import Picture
from fanfold.apps.pdf.sentences import KINDS, say_of_pdf
from fanfold.errors import NotAsked
from fanfold.model.words import QUOTA


def _preview(page: dict[str, Any]) -> bytes:
    """JPEG preview of an item's page. A part of another document has no picture."""
    if "parts" in page:
        raise ff.Permanent(say_of_pdf("no_picture"), code="no_picture")
    return document.preview(page)


pdf = ff.Pipeline(
    "pdf",
    title="PDF to Markdown",
    check_options=Options.of,
    options=OPTIONS,
    accepts=kinds.TAKEN,
    picture=_preview,
    unit=("page", "pages"),
    view="document",
    words=ff.Vocabulary(
        task={"partial": "partially failed"},
        item={"running": "processing", "done": "completed", "waiting": "pending"},
        languages={"zh": chinese.WORDS | KINDS},
        sentences=say_of_pdf,
    ),
)
pdf.form("markdown", label="Markdown", media_type="text/markdown", ending=".md")(forms.as_markdown)
pdf.form("html", label="Web page", media_type="text/html")(forms.as_page)
pdf.form("json", label="JSON", media_type="application/json", ending=".json")(forms.as_blocks)
TEXT_LAYER = "text layer"
DOCUMENT = "document"
"""Engine of parts whose text was read from the file itself."""
FEW_PAGES = 3
SMALL_SURVEY = 6000
"""Characters of a survey that is stored with each page, and not in a file."""
SURVEY_SECONDS = 120.0
"""Timeout of the survey; reading 64 pages takes far less."""


@pdf.split(retrying="splitting")
async def split(task: ff.TaskWork) -> list[ff.NewItem]:
    """One item per page, slide, sheet or chapter. Nothing is rendered yet, so that a long document starts at once."""
    if not isinstance(task.input, ff.File):
        raise ff.Permanent(say_of_pdf("one_file"), code="bad_input")
    options = Options.of(task.options)
    kind = await asyncio.to_thread(kinds.kind_of, task.input.path, task.input.name)
    if kind not in (kinds.PDF, kinds.PICTURE):
        return await _split_parts(task, options, kind)
    source = await _drawn(task, options) if kind == kinds.PICTURE else await _unlocked(task, options)
    examined = await _examined(task, source, options)
    survey_of = examined.survey | ({"figures": True} if options.wants_figures else {})
    known = {"pages": examined.pages, "total": examined.total, "survey": survey_of}
    if options.wants_facts:
        known["facts"] = await task.in_child(pdf_facts, source.path)
    text = json.dumps(known)
    # A file of its own takes a transaction, which a document of few pages is not worth.
    is_small = len(examined.pages) <= FEW_PAGES and len(text) <= SMALL_SURVEY
    survey = known if is_small else await asyncio.to_thread(task.write, "survey.json", text)
    return [
        ff.NewItem(key=str(page), input={"page": page, "source": source, "survey": survey}) for page in examined.pages
    ]


async def _split_parts(task: ff.TaskWork, options: Options, kind: str) -> list[ff.NewItem]:
    """One item per part of a document that has no pages. Its text is exact, so neither OCR nor a model is needed."""
    limits = {"name": task.input.name, "limit_pages": options.limit_pages}
    found = await task.in_child(in_children.document_parts, task.input.path, kind, options.pages, **limits)
    known = {"markdown": found.markdown, "facts": found.facts}
    parts = await asyncio.to_thread(task.write, "parts.json", json.dumps(known, ensure_ascii=False))
    return [ff.NewItem(key=str(page), input={"page": page, "parts": parts}) for page in found.pages]


async def _drawn(task: ff.TaskWork, options: Options) -> ff.File:
    """A picture as a PDF with a page for each of its frames."""
    target = task.scratch / "document.pdf"
    limits = {"name": task.input.name, "limit_pages": options.limit_pages}
    await task.in_child(as_pdf, task.input.path, target, **limits)
    return await asyncio.to_thread(task.write, "document.pdf", target)


@pdf.each(timeout=1_800, retry=ff.Retry(limit=3))
async def convert(item: ff.ItemWork) -> dict[str, Any]:
    """Convert one page to Markdown: from its text layer, by OCR, or by a model that sees its image."""
    options = Options.of(item.options)
    if "parts" in item.input:
        return await asyncio.to_thread(_part, item)
    layer = await windows().page(item)
    if options.is_local and not layer.needs_ocr and options.ocr != "always":
        kept = await _picture(item, options) if options.images == "always" else None
        return await _from_layer(item, options, layer, kept)
    picture = await _picture(item, options)
    if picture.blank and not layer.text.strip():
        return await _finished(item, options, "", "blank", picture)
    if options.is_local:
        return await _recognised(item, options, layer, picture)
    return await _asked(item, options, layer, picture)


async def _from_layer(item: ff.ItemWork, options: Options, layer: PageText, picture: Picture | None) -> dict[str, Any]:
    """A page from its text layer, with its figures as files if they are wanted."""
    if not layer.figures:
        return await _finished(item, options, layer.markdown, TEXT_LAYER, picture, lost=layer.lost)
    source: ff.File = item.input["source"]
    pictures = await item.in_child(in_children.drawn, await item.local(source), layer.page, layer.figures)
    known = hashlib.sha256(source.key.encode()).hexdigest()[:8]
    files = {}
    for number, content in enumerate(pictures, 1):
        name = f"page-{layer.page:04}-{number}.png"
        files[f"{known}-{name}"] = await asyncio.to_thread(item.write, name, content)
    # Documents with results in one folder share the folder of figures.
    markdown = layer.illustrated.replace(f"](files/page-{layer.page:04}-", f"](files/{known}-page-{layer.page:04}-")
    found = await _finished(item, options, markdown, TEXT_LAYER, picture, lost=layer.lost)
    return {**found, "figures": files}


@lru_cache(maxsize=8)
def parts_of(file: ff.File) -> dict[str, Any]:
    """The parts of a document, read once for all of its items."""
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def _part(item: ff.ItemWork) -> dict[str, Any]:
    page: int = item.input["page"]
    item.used(model=DOCUMENT)
    return {"page": page, "markdown": parts_of(item.input["parts"])["markdown"][str(page)], "engine": DOCUMENT}


@pdf.estimate
def expected_calls(work: ff.EstimateWork) -> list[ff.ExpectedCall]:
    """The estimated calls: one with a picture for each page, or none if the pages are read locally."""
    options = Options.of(work.options)
    if options.is_local:
        return []
    pages = sum(_pages_for_model(work, path, options) for path in work.files)
    return [ff.ExpectedCall(options.wording, images=1, count=pages)]


def _pages_for_model(work: ff.EstimateWork, path: Path, options: Options) -> int:
    kind = kinds.kind_of(path, path.name)
    if kind == kinds.PICTURE:
        return 1
    if kind != kinds.PDF:
        return 0
    known = {"limit_pages": options.limit_pages, "surveyed": False}
    return len(work.in_child(document.examine, path, options.pages, **known).pages)


@pdf.merge(retrying="merging")
def merge(task: ff.TaskWork, results: ff.Results) -> ff.File | dict[str, ff.File]:
    """Bind all pages in order into one Markdown file, optionally with one file per page and a JSON report."""
    return binding.bind(task, results, Options.of(task.options))


async def _examined(task: ff.TaskWork, source: ff.File, options: Options) -> document.Examined:
    """Examine the document. If a page crashes or blocks the reader, examine it again without reading any page."""
    known = {"limit_pages": options.limit_pages, "name": task.input.name}
    figures = options.wants_figures
    for few in (FEW_PAGES, 0):
        try:
            async with reading_turns.one(), asyncio.timeout(SURVEY_SECONDS):
                found, texts = await task.in_child(
                    in_children.examined, await task.local(source), options.pages, few=few, figures=figures, **known
                )
        except (ff.ChildDied, TimeoutError):
            continue
        windows().keep(source, texts, figures=figures)
        return found
    path = await task.local(source)
    return await task.in_child(document.examine, path, options.pages, surveyed=False, **known)


async def _unlocked(task: ff.TaskWork, options: Options) -> ff.File:
    """The document, or a copy that needs no password."""
    source: ff.File = task.input
    if not options.password_env:
        # Readers rely on the extension, so a PDF with another one is copied to a .pdf file.
        is_named = PurePath(source.key).suffix.lower() == ".pdf"
        return source if is_named else await asyncio.to_thread(task.write, "document.pdf", await task.local(source))
    password = os.environ.get(options.password_env)
    if not password:
        raise ff.PauseTask(say_of_pdf("variable_not_set", variable=options.password_env))
    target = task.scratch / source.name
    await task.in_child(document.unlock, await task.local(source), password, target, name=source.name)
    return await asyncio.to_thread(task.write, "document.pdf", target)


async def _picture(item: ff.ItemWork, options: Options) -> Picture:
    source: ff.File = item.input["source"]
    path = await item.local(source)
    return await item.in_child(document.picture, path, item.input["page"], longest=options.longest)


async def _recognised(item: ff.ItemWork, options: Options, layer: PageText, picture: Picture) -> dict[str, Any]:
    page = item.input["page"]
    if options.ocr == "never" and layer.problem:
        raise ff.Permanent(say_of_pdf("page_unreadable", page=page, why=layer.problem), code="broken_page")
    if options.ocr == "never":
        note = "no text layer"
        return await _finished(item, options, layer.markdown, TEXT_LAYER, picture, note=note, lost=layer.lost)
    if not _has_ocr():
        raise ff.Permanent(say_of_pdf("no_ocr", page=page), code="no_ocr")
    async with ocr_turns.one():
        text = await item.in_child(in_children.recognised, picture.jpeg)
    return await _finished(item, options, text, "ocr", picture)


async def _asked(item: ff.ItemWork, options: Options, layer: PageText, picture: Picture) -> dict[str, Any]:
    """Ask a model about the page image. If none can answer, use the text layer or, for a scan, OCR if installed."""
    from fanfold.apps.pdf.pages.page_checks import check_against

    check = None if layer.needs_ocr else check_against(layer.text)
    try:
        answer = await item.ask(options.wording, images=[picture.jpeg], check=check, fallback=options.models_after)
    except ff.NoAnswer as problem:
        if not _can_do_without(options, layer):
            raise
        return await _without_model(item, options, layer, picture, problem.message)
    except NotAsked as problem:
        is_over = problem.reason.code == QUOTA and LOCAL in options.fallback
        if not is_over or not _can_do_without(options, layer):
            raise
        return await _without_model(item, options, layer, picture, problem.reason.message)
    notes = [*answer.tried, *(["text around the answer was removed"] if answer.cleaned else [])]
    return await _finished(item, options, answer.text, answer.source, picture, note="; ".join(notes) or None)


def _has_ocr() -> bool:
    from fanfold.apps.pdf.pages import ocr  # It imports much of the reading code, and is rarely needed here.

    return ocr.available()


def _can_do_without(options: Options, layer: PageText) -> bool:
    """Whether a page can be converted here, without a model."""
    return not layer.needs_ocr or (options.ocr != "never" and _has_ocr())


async def _without_model(
    item: ff.ItemWork, options: Options, layer: PageText, picture: Picture, why: str
) -> dict[str, Any]:
    """The page from its text layer or, for a scan, by OCR, marked as degraded."""
    if not layer.needs_ocr:
        item.degraded(say_of_pdf("layer_instead", why=why))
        return await _finished(item, options, layer.markdown, TEXT_LAYER, picture, lost=layer.lost)
    item.degraded(say_of_pdf("ocr_instead", why=why))
    return await _recognised(item, options, layer, picture)


async def _finished(
    item: ff.ItemWork,
    options: Options,
    markdown: str,
    engine: str,
    picture: Picture | None,
    *,
    note: str | None = None,
    lost: str | None = None,
) -> dict[str, Any]:
    """The output stored for a page."""
    page = item.input["page"]
    image = None
    if picture is not None and options.images != "never":
        image = await asyncio.to_thread(item.write, f"page-{page:04}.jpg", picture.jpeg)
    if engine in (TEXT_LAYER, "ocr"):
        item.used(model=engine)
    if lost is not None:
        item.degraded(lost)
    found = {"page": page, "markdown": markdown, "engine": engine, "image": image, "note": note}
    if options.to == "json" and engine != "ocr":
        found["lines"] = await item.in_child(line_boxes, item.input["source"].path, page)
    return {name: value for name, value in found.items() if value is not None}
