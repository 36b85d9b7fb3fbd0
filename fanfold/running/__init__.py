"""Does work here and now: runs one task or many, shows how they are doing, and saves what came out.

Used by `fanfold.run`, by the CLI and by the commands of applications.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanfold.running.many_files.many import FileCommand as FileCommand

__all__ = ["FileCommand"]


def __getattr__(name: str) -> Any:
    """`FileCommand`, when it is first used: the list of commands does not need what it imports."""
    if name == "FileCommand":
        from fanfold.running.many_files.many import FileCommand

        return FileCommand
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
