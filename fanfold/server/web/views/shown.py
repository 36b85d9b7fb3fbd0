"""What a view gives to the page."""

from __future__ import annotations

from dataclasses import dataclass

from fanfold.model.values.files import File


@dataclass(frozen=True)
class Shown:
    """An output as text, whether that is Markdown, how a file with it is called, and the files in it."""

    text: str
    is_markdown: bool
    ending: str
    files: tuple[File, ...] = ()
