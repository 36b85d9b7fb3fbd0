"""Runs tasks in the current process: one task or many files, with progress display and saved results.

Used by `fanfold.run`, by the CLI and by the commands of applications.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanfold.running.many_files.many import FileCommand as FileCommand

__all__ = ["FileCommand"]


def __getattr__(name: str) -> Any:
    """Import `FileCommand` on first use: listing the commands does not need its imports."""
    if name == "FileCommand":
        from fanfold.running.many_files.many import FileCommand

        return FileCommand
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
