"""Claims suspects (items whose process died repeatedly) only if they can start at once.

A suspect runs in a child process, and only a few do so at a time. If one were claimed and had to wait, a crash of the worker
would count as its crash although its handler never started, and it would fail as poison through no fault of its own.
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
    """Claims items of one task."""

    claiming: Claiming
    ready: Ready
    worker: str
    stage: Stage
    room: Room
    suspected: set[int]
    """Tasks known to have more suspects than can start: only these are claimed with two statements."""
    sampled: bool = False
    """Whether to claim items of the sample of a task, from which nothing else is claimed."""

    def __call__(self, wanted: int, *, timed: bool = False, cursor: int = 0, ahead: bool = False) -> list[Claimed]:
        """Claim at most ``wanted`` items, for free slots or ``ahead`` of them: no suspects, which were all tried before."""
        if ahead:
            return self._claim(wanted, timed, cursor, ahead=True)
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
        """The claimed items that would have to wait."""
        suspects = [one for one in claimed if one.crashes >= SUSPECT_CRASHES]
        if not suspects or not self.room.isolates_suspects(self.stage):
            return []
        begin = min(len(suspects), self.room.suspects)
        self.room.suspects -= begin
        return suspects[begin:]

    def _claim(
        self, wanted: int, timed: bool, cursor: int = 0, suspects: bool | None = None, *, ahead: bool = False
    ) -> list[Claimed]:
        if wanted <= 0:
            return []
        return self.claiming.claim(
            self.ready,
            self.worker,
            wanted,
            timed=timed,
            cursor=cursor,
            timeout=self.stage.timeout,
            suspects=suspects,
            sampled=self.sampled,
            ahead=ahead,
        )
