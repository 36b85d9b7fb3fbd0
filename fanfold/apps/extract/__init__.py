"""Extracts fields from documents into a table, with the place in the document that supports each value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import fanfold as ff

if TYPE_CHECKING:
    from fanfold.apps.extract.pipeline import extract as extract

__all__ = ["application", "extract"]

application = ff.Application(
    "extract",
    title="Fields from documents",
    pipelines=("fanfold.apps.extract.pipeline:extract", "fanfold.apps.extract.suggesting:suggest"),
    commands=(
        ff.AppCommand(
            "extract",
            "fanfold.apps.extract.command:command",
            help="Extract fields from documents into a table; run it again and it resumes.",
            example="extract papers/ --template fields.yaml -o table.xlsx",
            files="fanfold.apps.extract.command:file_command",
        ),
    ),
)


def __getattr__(name: str) -> Any:
    """Import the pipeline on first use: child processes that read documents do not need it."""
    if name == "extract":
        from fanfold.apps.extract.pipeline import extract

        return extract
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
