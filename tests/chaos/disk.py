"""A small file system in memory that a test can fill and free."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CHUNK = 64 * 1024


class Disk:
    """A mounted file system with room for this many megabytes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Leave no room for a single byte more; what was freed since the last time is filled as well."""
        with self._ballast.open("ab", buffering=0) as sink:
            for size in (CHUNK, 1):
                self._pour(sink.fileno(), bytes(size))

    def _pour(self, descriptor: int, chunk: bytes) -> None:
        try:
            while os.write(descriptor, chunk) == len(chunk):
                pass
        except OSError:
            return

    def free(self) -> None:
        """Give the room back."""
        self._ballast.unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path, megabytes: int = 32) -> Iterator[Disk]:
    """A disk mounted on a new folder. Who may not mount anything skips the test: no installation gives that right."""
    folder.mkdir()
    try:
        as_root("mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=0777", "fanfold-test", str(folder))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"may not mount: {error}")
    try:
        yield Disk(folder)
    finally:
        # Lazily: a process that was killed a moment ago may still be on its way out.
        as_root("umount", "--lazy", str(folder))


def as_root(*words: str) -> None:
    """Run a command as root, where that is allowed without being asked for a password."""
    command = words if os.geteuid() == 0 else ("sudo", "-n", *words)
    subprocess.run(command, check=True, capture_output=True)
