"""Pipelines of the random world: shapes drawn by hypothesis, whose handlers never run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.retry import Retry

SEQUENCES = (
    ("split", "each", "merge"),
    ("each", "each", "merge"),
    ("each", "merge"),
    ("split", "each", "each", "merge"),
    ("split", "each", "merge", "step"),
    ("step", "split", "each", "merge"),
    ("split", "each"),
    ("step", "step"),
    ("each",),
    ("step",),
)


@dataclass(frozen=True)
class StageShape:
    """One stage as drawn."""

    kind: str
    gate: bool
    limit: int | None
    tolerate: float
    fail_fast: bool


@dataclass(frozen=True)
class Shape:
    """One pipeline as drawn."""

    stages: tuple[StageShape, ...]
    on_failed: bool
    on_cancelled: bool


def rarely() -> st.SearchStrategy[bool]:
    """True now and then; shrinks to False."""
    return st.sampled_from([False, False, False, True])


@st.composite
def shapes(draw: st.DrawFn) -> Shape:
    """A pipeline that makes sense."""
    kinds = draw(st.sampled_from(SEQUENCES))
    stages = tuple(
        StageShape(
            kind,
            gate=draw(rarely()),
            limit=draw(st.sampled_from([None, None, 1, 2])),
            tolerate=draw(st.sampled_from([0, 0, 0.5, 1])) if kind == "each" else 0,
            fail_fast=kind == "each" and draw(rarely()),
        )
        for kind in kinds
    )
    return Shape(stages, on_failed=draw(st.booleans()), on_cancelled=draw(st.booleans()))


def made(name: str, shape: Shape) -> Pipeline:
    """The pipeline of a shape; its stages are named after their place and kind: `s1-split`, `s2-each` …"""
    pipeline = Pipeline(name)
    for place, stage in enumerate(shape.stages, 1):
        rules: dict[str, Any] = {"gate": stage.gate, "limit": stage.limit, "retry": Retry(limit=1, first=5.0, jitter=0)}
        if stage.kind == "each":
            rules |= {"tolerate": stage.tolerate, "fail_fast": stage.fail_fast}
        getattr(pipeline, stage.kind)(name=f"s{place}-{stage.kind}", **rules)(never_called)
    if shape.on_failed:
        pipeline.on_failed(never_called)
    if shape.on_cancelled:
        pipeline.on_cancelled(never_called)
    return pipeline


def never_called(*_: Any) -> None:
    """The machine decides how each attempt ends."""
    raise AssertionError("no handler runs in this world")
