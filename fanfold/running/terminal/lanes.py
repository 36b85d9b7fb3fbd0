"""The options of a command for the lane and the deadline of questions to models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from fanfold.model.money.batch import DEADLINE, LANE, LANES

Command = TypeVar("Command", bound=Callable[..., Any])


def lane_options(command: Command) -> Command:
    """Add ``--lane`` and ``--deadline`` to a command."""
    lane = click.option(
        "--lane", type=click.Choice(LANES), help="How models are asked: now, or in batches at about half the price."
    )
    deadline = click.option(
        "--deadline", metavar="TIME", help="With --lane batch or auto: ask live after this time, such as 90m or 6h."
    )
    return lane(deadline(command))


def chosen_lane(given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of these options, as the engine takes them."""
    return {name: given[name] for name in (LANE, DEADLINE) if given.get(name) is not None}
