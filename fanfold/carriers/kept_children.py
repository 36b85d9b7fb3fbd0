"""Child processes that serve one hint after the other: what isolated handlers have loaded stays in memory."""

from __future__ import annotations

from fanfold.engine.worker.processes.children import Children


class KeptChildren(Children):
    """Children of a process that follows one hint at a time. They outlive the worker of a hint."""

    def close(self) -> None:
        """End those that still run something: the worker leaves."""
        for child in self._all - set(self._idle):
            self.discard(child)

    def end(self) -> None:
        """End all of them: the process ends."""
        super().close()
