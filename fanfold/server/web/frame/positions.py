"""Maps grid cells to items: cells are identified by position in a stage, items by key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fanfold.engine.client import Client
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.errors import BadInput, NotFound
from fanfold.model.text.sentences import say

RANGES = re.compile(r"\d{1,9}(-\d{1,9})?(,\d{1,9}(-\d{1,9})?)*")
MOST = 10_000
"""Most items that can be named at once."""


def key_at(client: Client, task_id: str, stage: str, position: int) -> str:
    """The key of the item at a position."""
    found = WebQueries(client.lookup).items_from(task_id, stage, position)
    if not found or found[0].seq != position + 1:
        raise NotFound(say("no_position", task=task_id, position=position + 1, stage=stage))
    return found[0].key


def keys_at(client: Client, task_id: str, stage: str, ranges: str, states: Sequence[str]) -> list[str]:
    """The keys of the items at positions such as ``0-36,40`` that are in one of the states."""
    positions = [at for first, last in parsed(ranges) for at in range(first, last + 1)]
    return WebQueries(client.lookup).keys_at(task_id, stage, positions, states)


def parsed(ranges: str) -> list[tuple[int, int]]:
    """``0-36,40`` as pairs of the first and the last position."""
    if not RANGES.fullmatch(ranges):
        raise BadInput("Write positions like 0-36,40.")
    pairs = [tuple(map(int, part.split("-"))) for part in ranges.split(",")]
    found = [(pair[0], pair[-1]) for pair in pairs]
    if any(last < first for first, last in found):
        raise BadInput("A range of positions must begin with the smaller one.")
    if sum(last - first + 1 for first, last in found) > MOST:
        raise BadInput(say("too_many_named", most=MOST))
    return found


def in_ranges(positions: Sequence[int]) -> str:
    """Sorted positions in short form: ``0-36,40``."""
    return ",".join(f"{first}-{last}" if last > first else f"{first}" for first, last in _runs(positions))


def _runs(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    first = last = None
    for position in positions:
        if first is None or last is None:
            first = last = position
        elif position == last + 1:
            last = position
        else:
            yield first, last
            first = last = position
    if first is not None and last is not None:
        yield first, last


def in_runs(letters: str) -> str:
    """Letters run-length encoded: ``212d8r90p``; most grids are a few long runs."""
    parts = []
    at = 0
    while at < len(letters):
        end = at + 1
        while end < len(letters) and letters[end] == letters[at]:
            end += 1
        parts.append(f"{end - at if end - at > 1 else ''}{letters[at]}")
        at = end
    return "".join(parts)
