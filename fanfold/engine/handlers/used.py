"""What handlers say they have used: a mistake there is logged, and never costs a result."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any

from fanfold.model.money.usage import added, kept

log = logging.getLogger("fanfold.worker")


def with_usage(before: dict[str, Any] | None, usage: dict[str, Any], stage: tuple[str, str]) -> dict[str, Any]:
    """Usage so far with what a handler of this pipeline and stage adds, without values that cannot be stored."""
    fitting, left_out = kept(usage)
    for name in left_out:
        _warn_once(*stage, name)
    return added(before or {}, fitting)


def has_cost(usage: dict[str, Any]) -> bool:
    """Whether it names a cost that counts."""
    return bool(kept(usage)[0].get("cost"))


def name_of(model: Any) -> str:
    """A model's name, even if its `str` fails."""
    try:
        return str(model)
    except Exception:
        return type(model).__name__


@lru_cache(maxsize=1_000)
def _warn_once(pipeline: str, stage: str, field: str) -> None:
    """Log one line per field, even if many items report it."""
    wanted = "an amount in dollars, such as 0.25" if field == "cost" else "a value that can be stored"
    log.warning("[%s] %s: used(%s=…) is not %s; it is left out", pipeline, stage, field[:100], wanted)
