"""Prints estimates: a line for each lane, and what they are based on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import click

from fanfold.model.money.amounts import told_dollars
from fanfold.model.money.estimates import Estimate, LaneEstimate
from fanfold.model.text.counting import counted
from fanfold.running.terminal import output_format as printing

Row = tuple[str, Estimate]
CALLS, TOKENS = ("call", "calls"), ("token", "tokens")


def amount(value: float | None) -> str:
    """A cost, or that it is unknown."""
    return "unknown" if value is None else told_dollars(value)


def print_estimates(rows: Sequence[Row], *, as_json: bool) -> None:
    """Print each estimate with the name of its task, and the sum if there are several."""
    if as_json:
        found = [{"name": name, **printing.plain(made)} for name, made in rows]
        printing.print_json(found[0] if len(found) == 1 else found)
        return
    headings = ("task", "lane", "low", "expected", "high")
    lines = [
        (name, lane.lane, amount(lane.low), amount(lane.expected), amount(lane.high))
        for name, made in (*rows, *_total(rows))
        for lane in made.lanes
        if lane.lane == "live" or lane.expected is not None
    ]
    printing.print_table(headings, lines, right=headings[2:])
    for _, made in rows[:1] if len({str(made.why) for _, made in rows}) == 1 else rows:
        click.echo(_told(made), err=True)


def _told(made: Estimate) -> str:
    """What an estimate is based on, in a few sentences."""
    parts = [str(made.why)]
    if made.input_tokens is not None:
        parts.append(
            f"{made.model}: {counted(made.calls or 0, CALLS)}, {counted(made.input_tokens, TOKENS)} in, {made.output_tokens} out."
        )
    if made.spent:
        parts.append(f"The sample of {made.sampled} has cost {told_dollars(made.spent)}, which is part of this.")
    return " ".join(parts)


def _total(rows: Sequence[Row]) -> list[Row]:
    """The sum of several estimates, lane by lane; unknown if one of them is."""
    if len(rows) < 2:
        return []
    lanes = tuple(
        _sum([made.lanes[place] for _, made in rows if place < len(made.lanes)])
        for place in range(len(rows[0][1].lanes))
    )
    return [("total", replace(rows[0][1], lanes=lanes))]


def _sum(lanes: Sequence[LaneEstimate]) -> LaneEstimate:
    low, expected, high = (
        None if None in values else sum(value or 0.0 for value in values)
        for values in zip(*((lane.low, lane.expected, lane.high) for lane in lanes), strict=True)
    )
    return LaneEstimate(lanes[0].lane, low, expected, high)
