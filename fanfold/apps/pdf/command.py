"""`fanfold convert`: PDF to Markdown."""

from __future__ import annotations

import logging
import os
from functools import partial
from typing import TYPE_CHECKING, Any

import click

import fanfold as ff
from fanfold.apps.pdf.options import OPTIONS
from fanfold.running.many_files import files
from fanfold.running.many_files.sources import Endings
from fanfold.running.terminal import models
from fanfold.running.terminal.declared import click_options, said, secret
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.running import FileCommand
    from fanfold.settings import Settings

LOCAL_PAGES = 96
"""Pages wait together for the window of the document that has them: three windows keep two processes busy."""
MODEL_PAGES = 8
WARM = 2
PASSWORD = "FANFOLD_PDF_PASSWORD"
NAMED = (
    "pages", "provider", "model", "fallback", "prompt", "password", "ocr", "join", "marks", "per_page", "report", "keep_raw",
)  # fmt: skip
"""The options of a conversion that have a place on the command line."""
ENDINGS = Endings((".pdf",), ".md", ("PDF", "PDFs"))


@click.command("convert", cls=Command)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option(
    "-o", "--output", metavar="OUT", help="A file, a folder, or - for the standard output [default: beside the PDF]."
)
@click_options(OPTIONS, only=NAMED, notes={"password": f" [env: {PASSWORD}]"})
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Pages at a time [default: one per core; 8 for models]."
)
@click.option("--fresh", is_flag=True, help="Start anew, and take no answer that was kept.")
@click.pass_obj
def command(invocation: Invocation, /, paths: tuple[str, ...], output: str | None, **given: Any) -> Exit:
    """Convert PDFs to Markdown; run it again and it goes on.

    \b
    fanfold convert book.pdf
    fanfold convert papers/ -o markdown/ --jobs 4
    fanfold convert book.pdf --provider openai --pages 1-20

    PATHs are files, folders (searched to the bottom) or patterns. The Markdown is written beside each PDF, or to -o: a name
    with an ending is a file, any other a folder. A name that another document's result has gets a number (book-2.md). A
    file that is not Fanfold's own is kept as NAME.1.bak; one that you have edited stays until --fresh.

    Without a provider the text layer is converted here, and scanned pages by OCR where the extra `ocr` is installed; with
    one, a model sees a picture of each page. The same file with the same options is done, and paid, once. Pages that fail
    are marked in the result and listed at the end, as are those that lost text and those that no model could read and that
    came from the text layer, or by OCR, instead; the exit code is then 7.
    """
    invocation.log(logging.ERROR)
    if given["pages"] is not None and not given["pages"].strip():
        raise ff.BadInput("--pages is empty. Leave it out for all pages, or say which: 1-3,7,10-")
    kept = (option for option in OPTIONS if option.name in NAMED and option.name not in ("provider", "model"))
    options = said(kept, given) | models.chosen(given["provider"], given["model"], given["fallback"])
    asked = files.Asked(
        paths,
        output,
        options,
        files.typed(given | {"output": output}, secrets=("password",)),
        given["fresh"],
        secret(given["password"], PASSWORD),
        LOCAL_PAGES if "provider" not in options else given["jobs"] or MODEL_PAGES,
    )
    return files.perform(invocation, asked, ENDINGS, file_command, partial(_processes, options, given["jobs"]))


def file_command() -> FileCommand:
    """What `convert` makes of PDFs, and which files a result becomes."""
    from fanfold.apps.pdf.output import placing
    from fanfold.apps.pdf.pipeline import pdf
    from fanfold.apps.pdf.reading.document import unlock
    from fanfold.running import FileCommand

    return FileCommand(
        "convert",
        pdf,
        ENDINGS,
        main=placing.markdown,
        place=placing.place,
        made_by=placing.engine,
        kinds=placing.kinds,
        prepare=unlock,
        apart=placing.has_more_files,
    )


def _processes(options: dict[str, Any], jobs: int | None, settings: Settings) -> files.Processes:
    """The processes that read and draw pages."""
    at_once = None
    if "provider" in options:
        if jobs is not None:
            models.limit_calls(options["provider"], jobs)
    else:
        from fanfold.apps.pdf.pages.ocr_turns import ocr_turns

        # One process more than pages are read by OCR at a time: text never waits for a scan.
        at_once = (jobs or settings.children or os.cpu_count() or 1) + 1
        ocr_turns.at_once = at_once - 1
    return files.Processes(("fanfold.apps.pdf.pages.textlayer", "pypdfium2"), at_once, WARM)
