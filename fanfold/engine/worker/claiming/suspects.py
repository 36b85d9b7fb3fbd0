"""Claims suspects, which were lost repeatedly with their process, only as far as they can begin at once.

A suspect runs in a child process, and only a few do so at a time. One that was claimed and waited for its turn would be counted
as lost with the worker, though its handler was never begun, and would fail as poison without any fault of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from fanfold.engine.worker.claiming.room import Room
from fanfold.model.item import Claimed
from fanfold.model.pipelines.pipeline import Stage
from fanfold.store.items.claim import SUSPECT_CRASHES, Claiming
from fanfold.store.items.find_work import Ready


@dataclass(frozen=True)
class SparingClaim:
    """The claim of one task's items."""

    claiming: Claiming
    ready: Ready
    worker: str
    stage: Stage
    room: Room
    suspected: set[int]
    """Tasks known to have more suspects than could begin: only their claims are made in two statements."""

    def __call__(self, wanted: int, *, timed: bool = False, cursor: int = 0) -> list[Claimed]:
        """Claim at most ``wanted`` items."""
        if self.ready.task in self.suspected:
            first = self._claim_suspects(wanted, timed)
            return sorted(first + self._claim(wanted - len(first), timed, cursor, suspects=False))
        claimed = self._claim(wanted, timed, cursor)
        spare = self._spare(claimed)
        if not spare:
            return claimed
        self.suspected.add(self.ready.task)
        self.claiming.hand_back([one.id for one in spare])
        claimed = [one for one in claimed if one not in spare]
        return sorted(claimed + self._claim(len(spare), timed, cursor, suspects=False))

    def _claim_suspects(self, wanted: int, timed: bool) -> list[Claimed]:
        wanted = min(wanted, self.room.suspects)
        claimed = self._claim(wanted, timed, suspects=True)
        self.room.suspects -= len(claimed)
        if len(claimed) < wanted and not timed:
            self.suspected.discard(self.ready.task)
        return claimed

    def _spare(self, claimed: list[Claimed]) -> list[Claimed]:
        """Those of the claimed items that would have to wait."""
        suspects = [one for one in claimed if one.crashes >= SUSPECT_CRASHES]
        if not suspects or not self.room.isolates_suspects(self.stage):
            return []
        begin = min(len(suspects), self.room.suspects)
        self.room.suspects -= begin
        return suspects[begin:]

    def _claim(self, wanted: int, timed: bool, cursor: int = 0, suspects: bool | None = None) -> list[Claimed]:
        if wanted <= 0:
            return []
        return self.claiming.claim(
            self.ready, self.worker, wanted, timed=timed, cursor=cursor, timeout=self.stage.timeout, suspects=suspects
        )
