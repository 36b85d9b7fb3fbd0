"""A type checker finds the mistakes of somebody who writes a pipeline.

Each planted mistake is marked with the error that it must be. Strict mypy refuses marks that hide nothing, so `make check`
fails when a mistake is no longer found. The tests below hold what is said when the code runs.
"""

from __future__ import annotations

import inspect
from typing import Any, assert_type

import pytest

import fanfold as ff
from fanfold.errors import BadPipeline
from fanfold.model.pipelines.pipeline import TaskFunction
from fanfold.model.pipelines.rules import PLANNED_RULES, RUN_RULES, RunRules, StageRules
from fanfold.model.plan import PlannedStage
from fanfold.running.one import prepared
from fanfold.running.signatures import RunParameters


@ff.task
def transcode(source: str, quality: int = 5) -> list[str]:
    """A plain function."""
    return [source] * quality


@ff.task(timeout=10, retry=ff.Retry(limit=2), name="summarise")
async def summarise(text: str) -> str:
    """An `async def` function, with rules."""
    return text[:10]


def typed_calls() -> None:
    """Never called: read by the type checker only."""
    assert_type(transcode("a.mov", quality=2), list[str])
    transcode(5)  # type: ignore[arg-type]
    transcode("a.mov", speed=2)  # type: ignore[call-arg]
    assert_type(ff.run(transcode, "a.mov"), list[str])
    assert_type(ff.run(summarise, "a text", fresh=True), str)
    ff.run(transcode, "a.mov", refresh=True)  # type: ignore[call-overload]
    book = ff.Pipeline("book")
    book.each(timeout="soon")  # type: ignore[call-overload]
    book.each(retries=3)  # type: ignore[call-overload]
    ff.task(timeouts=3)  # type: ignore[call-overload]


async def typed_awaits() -> None:
    """Never called either."""
    assert_type(await ff.arun(transcode, "a.mov"), list[str])
    assert_type(await ff.arun(summarise, "a text"), str)


def two(item: Any, results: Any) -> None:
    """A handler for a merge only."""


def test_mistakes_are_also_refused_at_definition() -> None:
    book = ff.Pipeline("book")
    with pytest.raises(BadPipeline, match="called with the item"):
        book.each(two)  # type: ignore[type-var]
    with pytest.raises(BadPipeline, match=r"unknown rules \['retries'\]"):
        book.step(retries=3)(transcode)  # type: ignore[call-overload]


def test_a_decorated_function_stays_typed_and_callable() -> None:
    assert isinstance(transcode, TaskFunction)
    assert transcode("a", quality=2) == ["a", "a"]
    assert summarise.pipeline.name == "summarise"
    assert [stage.name for stage in summarise.pipeline.stages.values()] == ["summarise"]


def test_the_types_name_what_there_is() -> None:
    planned = set(inspect.signature(PlannedStage).parameters) - {"name", "kind", "passed", "asks"}
    assert set(PLANNED_RULES) == planned
    assert set(RUN_RULES) == set(RunRules.__annotations__)
    assert set(StageRules.__annotations__) == {"name", *PLANNED_RULES, *RUN_RULES}
    keywords = [one.name for one in inspect.signature(prepared).parameters.values() if one.kind is one.KEYWORD_ONLY]
    assert list(RunParameters.__annotations__) == keywords
