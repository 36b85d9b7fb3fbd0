"""The forms of a converted document: Markdown, a self-contained web page, and blocks as JSON."""

from __future__ import annotations

from pathlib import Path

import fanfold as ff
from fanfold.apps.pdf.output.binding import write_blocks
from fanfold.apps.pdf.output.placing import markdown
from fanfold.apps.pdf.output.web_page import web_page


def as_markdown(work: ff.FormWork) -> ff.File:
    """The Markdown as the merge wrote it."""
    return markdown(work.result)


def as_page(work: ff.FormWork) -> str:
    """One web page."""
    return web_page(markdown(work.result).read_text(), work.task.title)


def as_blocks(work: ff.FormWork) -> Path:
    """Blocks with page, kind and text; with their boxes if the task was submitted with the format `json`."""
    target = work.scratch / "blocks.json"
    with target.open("w", encoding="utf-8") as sink:
        write_blocks(sink, {"source": work.task.title}, work.results().all())
    return target
