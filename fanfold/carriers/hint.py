"""What a carrier delivers: a hint that there may be work for a stage; and what a process does that gets one."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from fanfold.engine.tasks.recovery.tick import TickReport, work_through
from fanfold.engine.worker.claiming.candidates import Candidates
from fanfold.engine.worker.processes.children import Children
from fanfold.errors import FanfoldError
from fanfold.model.pipelines.pipeline import Pipeline, Stage
from fanfold.store.items.find_work import Pair, Served
from fanfold.store.store import Store
from fanfold.store.transaction import Transaction

CLAIM_SECONDS = 30.0
"""How long a process that follows a hint claims new items; what it has claimed, it finishes."""
ASYNC_SLOTS = 8
"""Items that one process runs at the same time in a stage of coroutines that names no ``concurrency``."""
PART_LENGTH = 20
SHARED = "shared-"
"""Prefix of the names of workers whose process does other things too, so that it must not be ended."""


@dataclass(frozen=True)
class Hint:
    """There may be work for this stage. Its id starts with the names of pipeline and stage, for people who look on."""

    pipeline: str
    stage: str
    seconds: float = CLAIM_SECONDS
    id: str = field(default="")

    @classmethod
    def new(cls, pair: tuple[str, str], seconds: float) -> Hint:
        """A hint with an id of its own."""
        pipeline, stage = pair
        id_ = f"{pipeline[:PART_LENGTH]}-{stage[:PART_LENGTH]}-{secrets.token_hex(4)}"
        return cls(pipeline, stage, seconds, id_)

    @property
    def name(self) -> str:
        """The stage, as people write it."""
        return f"{self.pipeline}.{self.stage}"


class CarrierDown(FanfoldError):
    """The carrier does not take hints now; they are sent again later."""

    code = "carrier_down"


class Carrier(Protocol):
    """Delivers hints to processes, and can try to stop these."""

    name: str

    def send(self, hint: Hint) -> None:
        """Send a hint; CarrierDown if that is not possible now. It may get lost, arrive late or more than once."""
        ...

    def revoke(self, hint: str, *, kill: bool) -> bool:
        """Take a hint back; with ``kill`` end the process that follows it. False if the carrier cannot do that."""
        ...

    def lost(self) -> list[str]:
        """Hints that certainly nobody follows, as far as the carrier knows; others count as lost after a while."""
        ...

    def close(self) -> None:
        """Let go of the carrier."""
        ...


def slots(stage: Stage) -> int:
    """How many items of a stage one process runs at the same time."""
    if stage.concurrency is not None:
        return stage.concurrency if stage.limit is None else min(stage.concurrency, stage.limit)
    return ASYNC_SLOTS if stage.runs_in_loop else 1


def follow(
    store: Store,
    pipelines: Iterable[Pipeline],
    hint: Hint,
    *,
    own_process: bool = True,
    children: Children | None = None,
    late: str = "",
    is_over: Callable[[], bool] = lambda: False,
) -> TickReport | None:
    """Do what a hint hints at: claim, run and settle items of its stage. None if there is nothing to do about it.

    A hint that arrives twice, or so late that another one was sent or others have done the work, is ignored. One without an
    id needs no record.
    ``own_process``: whether this process does nothing else, so that the carrier may end it. ``children``: those that it keeps
    between hints. ``late``: the carrier whose late hints are followed too, and recorded again. ``is_over``: whether nothing
    more is to be claimed.
    """
    known = {pipeline.name: pipeline for pipeline in pipelines}
    pipeline = known.get(hint.pipeline)
    stage = None if pipeline is None else pipeline.find(hint.stage)
    if pipeline is None or stage is None:
        raise FanfoldError(
            f"This process does not know stage {hint.name}. It knows: {', '.join(sorted(known)) or 'no pipelines'}. "
            "Give it the same pipelines as the dispatcher.",
            code="unknown_stage",
        )
    name = (hint.id if own_process else SHARED + hint.id) if hint.id else "hint"
    if hint.id and not store.transact(lambda tx: _begin(tx, hint, name, late)):
        return None
    try:
        if not _has_work(store, (pipeline.name, stage.name), stage):
            return None
        return work_through(
            store,
            known.values(),
            stages=[hint.name],
            seconds=hint.seconds,
            concurrency=slots(stage),
            name=name,
            is_over=is_over,
            children=children,
        )
    finally:
        if hint.id:
            store.transact(lambda tx: tx.hints.end([hint.id]))


def _has_work(store: Store, pair: Pair, stage: Stage) -> bool:
    """Whether items may wait in the stage. A worker that finds nothing would cost eighty statements instead of ten."""
    candidates = Candidates(store, Served({pair: stage}))
    candidates.hurry()
    candidates.look(urgent=True)
    is_unfinished = candidates.seconds_to_look is not None
    return bool(candidates) or is_unfinished


def _begin(tx: Transaction, hint: Hint, worker: str, late: str) -> bool:
    """Take the hint; a late one is recorded again if its carrier wants that, so that it counts as under way."""
    if late:
        tx.hints.add_missing(late, hint.id, hint.pipeline, hint.stage)
    return tx.hints.begin(hint.id, worker)
