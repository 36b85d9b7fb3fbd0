"""A pipeline whose on_move refuses one move, once."""

from collections.abc import Callable
from typing import Any

import fanfold as ff


def refusing_once(refuses: Callable[[ff.Change], bool]) -> tuple[ff.Pipeline, list[str]]:
    """The pipeline, and the list in which it notes the verb that it refused."""
    mirrored = ff.Pipeline("mirrored")
    refused: list[str] = []

    @mirrored.step
    def make(task: ff.TaskWork) -> str:
        return "made"

    @mirrored.on_move
    def mirror(_connection: Any, change: ff.Change) -> None:
        if refuses(change) and not refused:
            refused.append(change.verb)
            raise RuntimeError("the record is locked")

    return mirrored, refused
