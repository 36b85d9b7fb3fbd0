"""Proofreads, edits and translates long texts paragraph by paragraph, with checks on every answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import fanfold as ff

if TYPE_CHECKING:
    from fanfold.apps.proofread.pipeline import proofread as proofread
    from fanfold.apps.proofread.translation import translate as translate

__all__ = ["application", "proofread", "translate"]

application = ff.Application(
    "proofread",
    title="Proofreading and translation",
    order=20,
    pipelines=("fanfold.apps.proofread.pipeline:proofread", "fanfold.apps.proofread.translation:translate"),
    commands=(
        ff.AppCommand(
            "proofread",
            "fanfold.apps.proofread.command:proofread_command",
            help="Proofread, format or edit books; run it again and it resumes.",
            example="proofread novel.txt",
            files="fanfold.apps.proofread.command:proofread_files",
        ),
        ff.AppCommand(
            "translate",
            "fanfold.apps.proofread.command:translate_command",
            help="Translate books; run it again and it resumes.",
            example="translate book.epub --to zh",
            files="fanfold.apps.proofread.command:translate_files",
        ),
        ff.AppCommand(
            "changes",
            "fanfold.apps.proofread.review.command:changes_command",
            help="List the changes of a book, with the decisions about them.",
            example="changes 7f3a",
        ),
        ff.AppCommand(
            "rules",
            "fanfold.apps.proofread.review.command:rules_command",
            help="List the rules of proofreading.",
            example="rules",
        ),
    ),
)


def __getattr__(name: str) -> Any:
    """Import a pipeline on first use: child processes that read books do not need it."""
    if name == "proofread":
        from fanfold.apps.proofread.pipeline import proofread

        return proofread
    if name == "translate":
        from fanfold.apps.proofread.translation import translate

        return translate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
