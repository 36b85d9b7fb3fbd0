"""The result of a view."""

from __future__ import annotations

from dataclasses import dataclass

from fanfold.model.values.files import File


@dataclass(frozen=True)
class Shown:
    """An output as text, whether it is Markdown, the file name for a download, and the files in it."""

    text: str
    is_markdown: bool
    ending: str
    files: tuple[File, ...] = ()
