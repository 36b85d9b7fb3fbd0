"""`fanfold convert`: converts PDFs to Markdown."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

import fanfold as ff
from fanfold.apps.pdf.inputs import kinds
from fanfold.apps.pdf.options import OPTIONS
from fanfold.running.many_files import files
from fanfold.running.many_files.sources import Endings
from fanfold.running.terminal import models
from fanfold.running.terminal.declared import (
    budget_options,
    budget_wish,
    click_options,
    estimate_options,
    said,
    sample_wish,
    secret,
)
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation
from fanfold.running.terminal.lanes import chosen_lane, lane_options

if TYPE_CHECKING:
    from fanfold.running import FileCommand
    from fanfold.settings import Settings

LOCAL_PAGES = 96
"""Concurrent pages without a model. Pages are read in windows of 32, and three windows keep two processes busy."""
MODEL_PAGES = 8
WARM = 2
PASSWORD = "FANFOLD_PDF_PASSWORD"
NAMED = (
    "pages", "provider", "model", "fallback", "prompt", "password", "ocr", "to", "chunks", "front_matter", "join",
    "marks", "per_page", "report", "keep_raw", "images",
)  # fmt: skip
"""Conversion options offered on the command line."""
ENDINGS = Endings(kinds.TAKEN, ".md", ("document", "documents"), kinds.SEARCHED)


@click.command("convert", cls=Command)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option(
    "-o", "--output", metavar="OUT", help="A file, a folder, or - for standard output [default: beside the source]."
)
@click_options(OPTIONS, only=NAMED, notes={"password": f" [env: {PASSWORD}]"})
@lane_options
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Pages converted at the same time [default: one per core; 8 for models].",
)
@click.option("--fresh", is_flag=True, help="Start over and use no cached answers.")
@budget_options
@estimate_options
@click.pass_obj
def command(invocation: Invocation, /, paths: tuple[str, ...], output: str | None, **given: Any) -> Exit:
    """Convert PDFs and other documents to Markdown; run it again and it resumes.

    \b
    fanfold convert book.pdf
    fanfold convert papers/ -o markdown/ --jobs 4
    fanfold convert book.pdf --provider openai --pages 1-20

    PATHs are files (PDF, pictures, DOCX, PPTX, XLSX, EPUB, HTML), folders, patterns, URLs, or - for standard input. In
    folders, PDF, office and EPUB files are searched recursively. The result is written beside each file, or to -o: a name
    with an extension is a file, any other a folder. If another document's result has the same name, a number is added
    (book-2.md). An existing file that Fanfold did not write is kept as NAME.1.bak; a result that you have edited is not
    overwritten without --fresh.

    Without a provider, the text layer is converted locally, and scanned pages by OCR if the extra `ocr` is installed. With a
    provider, a model sees an image of each page. The same file with the same options is converted, and paid for, once.
    Failed pages are marked in the result. They are listed at the end, together with pages that lost text and pages that
    no model could read, which come from the text layer or OCR instead; the exit code is then 7.
    """
    invocation.log(logging.ERROR)
    if given["pages"] is not None and not given["pages"].strip():
        raise ff.BadInput("--pages is empty. Leave it out for all pages, or name some: 1-3,7,10-")
    kept = (option for option in OPTIONS if option.name in NAMED and option.name not in ("provider", "model"))
    sample = sample_wish(given)
    options = said(kept, given)
    options |= models.chosen(given["provider"], given["model"], given["fallback"], must_answer=sample != 0)
    options |= chosen_lane(given)
    asked = files.Asked(
        paths,
        output,
        options,
        files.typed(given | {"output": output}, secrets=("password",)),
        given["fresh"],
        secret(given["password"], PASSWORD),
        LOCAL_PAGES if "provider" not in options else given["jobs"] or MODEL_PAGES,
        budget_wish(given),
        sample,
    )
    endings = replace(ENDINGS, made=f".{given['to'] or 'md'}")
    return files.perform(invocation, asked, endings, file_command, partial(_processes, options, given["jobs"]))


def file_command() -> FileCommand:
    """The definition of `convert` for the code that runs commands over files."""
    from fanfold.apps.pdf.output import placing
    from fanfold.apps.pdf.pipeline import pdf
    from fanfold.apps.pdf.reading.document import unlock
    from fanfold.running import FileCommand

    return FileCommand(
        "convert",
        pdf,
        ENDINGS,
        main=placing.main,
        place=placing.place,
        made_by=placing.engine,
        kinds=placing.kinds,
        prepare=unlock,
        apart=placing.has_more_files,
    )


def _processes(options: dict[str, Any], jobs: int | None, settings: Settings) -> files.Processes:
    """Child processes that read and render pages."""
    at_once = None
    if "provider" in options:
        if jobs is not None:
            models.limit_calls(options["provider"], jobs)
    else:
        from fanfold.apps.pdf.pages.ocr_turns import ocr_turns, reading_turns

        # One process more than concurrent OCR pages, so that text pages never wait for a scan.
        at_once = (jobs or settings.children or os.cpu_count() or 1) + 1
        ocr_turns.at_once = reading_turns.at_once = at_once - 1
    return files.Processes(("fanfold.apps.pdf.pages.textlayer", "pypdfium2"), at_once, WARM)
