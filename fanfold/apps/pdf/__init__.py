"""Converts PDFs to Markdown: lists the pages, converts each one and binds the results into one document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import fanfold as ff

if TYPE_CHECKING:
    from fanfold.apps.pdf.pages.page_lines import read as read
    from fanfold.apps.pdf.pipeline import pdf as pdf

__all__ = ["application", "pdf", "read"]

application = ff.Application(
    "pdf",
    title="PDF to Markdown",
    order=10,
    pipelines=("fanfold.apps.pdf.pipeline:pdf",),
    commands=(
        ff.AppCommand(
            "convert",
            "fanfold.apps.pdf.command:command",
            help="Convert PDFs to Markdown; run it again and it resumes.",
            example="convert book.pdf",
            files="fanfold.apps.pdf.command:file_command",
        ),
    ),
)


def __getattr__(name: str) -> Any:
    """Import the pipeline on first use: child processes that read pages do not need it."""
    if name == "pdf":
        from fanfold.apps.pdf.pipeline import pdf

        return pdf
    if name == "read":
        from fanfold.apps.pdf.pages.page_lines import read

        return read
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
