"""Ends forks that a handler makes with `os.fork` where the handler ends.

A fork that continued would settle the item a second time, on connections that belong to its parent.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from typing import Any


def end_copy(home: int, error: BaseException | None = None) -> None:
    """End this process at once if it is a fork of ``home``; an error is printed first, as Python would."""
    if os.getpid() == home:
        return
    code = 0
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif error is not None:
        code = 1
        with suppress(Exception):  # The fork may have closed its standard error.
            traceback.print_exception(error)
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(code & 0xFF)


def in_one_process(values: Any) -> Iterator[Any]:
    """Yield a handler's values; a fork that it makes meanwhile ends instead of continuing after it."""
    home = os.getpid()
    try:
        for value in values:
            end_copy(home)
            yield value
        end_copy(home)
    except BaseException as error:
        end_copy(home, error)
        raise
