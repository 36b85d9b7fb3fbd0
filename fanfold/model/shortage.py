"""Recognises errors caused by a lack of file descriptors or disk space, which are not the item's fault and may pass.

An item that meets such an error waits without using up a retry, and a sentence says what a person can do.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Iterator

from fanfold.model.text.sentences import say

DISK = (errno.ENOSPC, errno.EDQUOT)
FILES = (errno.EMFILE, errno.ENFILE)
FREE_SPACE, MORE_FILES, MAKE_FOLDER = say("free_space"), say("more_files"), say("make_temporary_folder")
NO_TEMPORARY_FOLDER = "No usable temporary directory found"
"""Python's message when none of the usual folders is writable."""
IN_RUST = re.compile(r"\(os error (\d+)\)")
"""The system's error number as libraries written in Rust print it."""
DEEPEST = 20
"""Most causes of causes that are followed."""


def shortage(error: BaseException) -> str | None:
    """What to do about the shortage behind an error; None if there is none.

    Libraries wrap the system's error in their own, so its causes are checked too.
    """
    return next((advice for one in _causes(error) if (advice := _advice(one)) is not None), None)


def told(error: BaseException) -> str | None:
    """The error's text with what to do about it; None if no shortage caused it."""
    advice = shortage(error)
    return None if advice is None else say("with_advice", what=str(error), advice=advice)


def _advice(error: BaseException) -> str | None:
    number = error.errno if isinstance(error, OSError) else _number_in(error)
    if number in FILES:
        return MORE_FILES
    if number in DISK:
        return FREE_SPACE
    if isinstance(error, OSError) and number == errno.ENOENT and _lacks_temporary_folder(error):
        return MAKE_FOLDER
    return None


def _number_in(error: BaseException) -> int | None:
    """The system's error number, taken from the text, as libraries written in Rust and the loader print it."""
    try:
        text = str(error)
    except Exception:  # A handler's error may have no printable text, and then it is not a shortage.
        return None
    if isinstance(error, ImportError):
        return next((number for number in FILES if os.strerror(number) in text), None)
    found = IN_RUST.search(text)
    return int(found[1]) if found else None


def _lacks_temporary_folder(error: OSError) -> bool:
    if NO_TEMPORARY_FOLDER in str(error.strerror):
        return True
    folder, name = tempfile.tempdir, error.filename
    if not isinstance(folder, str) or not isinstance(name, str | os.PathLike) or os.path.isdir(folder):
        return False
    return os.path.abspath(os.fspath(name)).startswith(os.path.join(os.path.abspath(folder), ""))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes, each once."""
    waiting, seen = [error], 0
    while waiting and seen < DEEPEST:
        one = waiting.pop()
        seen += 1
        yield one
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
        waiting += [part for part in one.args if isinstance(part, BaseException)]  # As HTTP libraries wrap errors.
        if one.__context__ is not None and not one.__suppress_context__:
            waiting.append(one.__context__)
        if one.__cause__ is not None:
            waiting.append(one.__cause__)
