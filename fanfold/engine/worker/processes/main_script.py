"""Checks the main script of this process, which every child process imports."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from fanfold.errors import BadPipeline
from fanfold.model.pipelines.pipeline import Stage
from fanfold.model.text.sentences import say

_lock = threading.Lock()
GUARD = 'if __name__ == "__main__":'


class Unguarded(BadPipeline):
    """Code that a child process must import starts work on import."""

    code = "unguarded"

    def __init__(self, file: str) -> None:
        super().__init__(
            f"{file} starts work as soon as it is imported, and a child process (isolate=True, item.in_child) has to import it. "
            f"Put the part that runs, submits or serves under `{GUARD}`. No item was harmed; then run it again"
        )


def main_path() -> str | None:
    """The file of the main script that a child would import; None if there is none, or if a child does not import it."""
    main = sys.modules.get("__main__")
    # Run with -m: imported by name, unless that is `__main__`.
    if (spec := getattr(main, "__spec__", None)) is not None:
        return None if spec.name.rpartition(".")[2] == "__main__" else spec.origin
    file = getattr(main, "__file__", None)
    return None if file is None or not os.path.exists(file) else file


@contextmanager
def importable_main() -> Iterator[None]:
    """Start children in this block: they do not look for a main script that is not a file, such as standard input."""
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    if main is None or file is None or os.path.exists(file):
        yield
        return
    with _lock:
        del main.__file__
        try:
            yield
        finally:
            main.__file__ = file


def hint() -> str:
    """Advice for a child that does not start."""
    path = main_path()
    return "" if path is None else say("child_imports", path=path, guard=GUARD)


def check_reachable(stages: Iterable[Stage]) -> None:
    """BadPipeline if no child process can import the code of an isolated handler."""
    for stage in stages:
        if stage.isolate and not is_reachable(stage):
            raise BadPipeline(
                f"Stage {stage.name} is isolated, but no child process can import its handler: it was defined in a notebook, an "
                "interactive session, standard input, -c or a `__main__.py`. Define it in a module and import it from there, "
                "or leave out isolate=True.",
                code="not_isolated",
            )


def is_reachable(stage: Stage) -> bool:
    """Whether a child process can import the module of the stage's handler."""
    return stage.handler.__module__ != "__main__" or main_path() is not None
