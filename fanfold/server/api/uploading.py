"""Reads a form with files and rejects wrong options before the first file is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from fanfold.errors import BadInput
from fanfold.model.text.sentences import say

MOST_FILES = 1_000
MOST_FIELDS = 100
Check = Callable[[str, dict[str, Any]], object]


class EarlyParser(MultiPartParser):
    """Starlette's parser that calls ``check`` with the pipeline and options that precede the first file.

    Options after the file are also checked, but only when everything has been read.
    """

    def __init__(self, request: Request, stream: Any, check: Check) -> None:
        super().__init__(request.headers, stream, max_files=MOST_FILES, max_fields=MOST_FIELDS)
        self._check = check

    def on_headers_finished(self) -> None:
        """A part begins."""
        super().on_headers_finished()
        if self._current_part.file is None or self._current_files > 1:
            return
        said = {name: value for name, value in self.items if isinstance(value, str)}
        if not said.get("pipeline"):
            return
        try:
            options = json.loads(said.get("options") or "{}")
        except (ValueError, RecursionError):
            return  # The error is reported when the whole form is read.
        if isinstance(options, dict):
            self._check(said["pipeline"], options)


async def read_upload(request: Request, check: Check) -> FormData:
    """Read the form, with files on disk. ``check`` is called before the first file if pipeline and options precede it."""
    try:
        async with aclosing(request.stream()) as stream:
            return await EarlyParser(request, stream, check).parse()
    except MultiPartException as error:
        raise BadInput(say("form_unreadable", why=error.message)) from None


async def close(uploads: list[UploadFile]) -> None:
    """Remove the files from disk."""
    for upload in uploads:
        await upload.close()
