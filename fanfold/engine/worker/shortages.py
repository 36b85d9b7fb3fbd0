"""Stops claiming while the machine lacks file descriptors or disk space, or the bucket of its files is away.

Item after item would fail otherwise.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from fanfold.errors import DatabaseProblem
from fanfold.model.shortage import shortage, told
from fanfold.store.files.file_store import FILES_AWAY, FILES_UNSAFE

log = logging.getLogger("fanfold.worker")
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0
PROBED_FILES = 8
"""Files opened by a probe. A handler rarely needs more at once: a socket, a file, the pipes of a program."""
PROBED_BYTES = 1 << 20
FILES_NOT_USABLE = (*FILES_AWAY, FILES_UNSAFE)


def _no_check() -> None:
    """Files are on this machine."""


class Shortages:
    """Begins when an item meets a shortage, and ends when a probe finds files and space again. Lives in the loop's thread.

    The first probe follows at once: if it finds enough, only the item that met the shortage waits.
    """

    def __init__(self, worker: Callable[[], str], scratch: Path, check_files: Callable[[], None] = _no_check) -> None:
        """``check_files``: raises DatabaseProblem while files cannot be stored."""
        self._worker = worker
        self._scratch = scratch
        self._check_files = check_files
        self._began_at: float | None = None
        self._waits = False
        self._probe_at = 0.0
        self._pause = FIRST_PAUSE

    @property
    def lasts(self) -> bool:
        """Whether nothing should be claimed now."""
        return self._began_at is not None

    def note(self) -> None:
        """Record that an item met a shortage."""
        if self._began_at is None:
            self._began_at = time.monotonic()
            self._waits, self._probe_at, self._pause = False, 0.0, FIRST_PAUSE

    def seconds_to_probe(self) -> float | None:
        """Seconds until the next probe; None while nothing is short."""
        return None if self._began_at is None else max(0.0, self._probe_at - time.monotonic())

    def end(self, problem: str | None) -> None:
        """Resume claiming if a probe found no problem; otherwise wait for the next one."""
        assert self._began_at is not None
        now = time.monotonic()
        if problem is None:
            if self._waits:
                log.warning(
                    "[%s] Resuming after %.1f s: files can be opened and written again",
                    self._worker(),
                    now - self._began_at,
                )
            self._began_at = None
            return
        if not self._waits:
            log.warning("[%s] Not claiming any more items: %s; work then resumes by itself", self._worker(), problem)
        self._waits = True
        self._probe_at = now + self._pause
        self._pause = min(LONGEST_PAUSE, self._pause * 2)

    def probe(self) -> str | None:
        """What the machine is short of now; None if a few files can be opened and written. From any thread."""
        try:
            with ExitStack() as held:
                for _ in range(PROBED_FILES):
                    held.callback(os.close, os.open(os.devnull, os.O_RDONLY))
            for folder in (Path(tempfile.gettempdir()), self._scratch):
                self._write_into(folder)
        except OSError as error:
            # Any other error of these folders is not the shortage, and must not stop everything else.
            return told(error) if shortage(error) is not None else None
        return self._files_problem()

    def _files_problem(self) -> str | None:
        try:
            self._check_files()
        except DatabaseProblem as problem:
            return problem.message.rstrip(".") if problem.code in FILES_NOT_USABLE else None
        return None

    def _write_into(self, folder: Path) -> None:
        if folder == self._scratch:
            folder.mkdir(parents=True, exist_ok=True)
        place = folder / f".fanfold-probe-{os.getpid()}"
        try:
            place.write_bytes(bytes(PROBED_BYTES))
        finally:
            with suppress(OSError):
                place.unlink(missing_ok=True)
