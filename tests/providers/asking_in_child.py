"""Handlers that ask a model in a child process. They are found by name, so they must be in a module."""

from typing import Any

import fanfold as ff

LIMIT_SECONDS = 8.0
isolated = ff.Pipeline("isolated_asking")


@isolated.each(isolate=True, timeout=LIMIT_SECONDS, retry=ff.Retry(limit=0))
async def ask(item: Any) -> str:
    """Ask the model the text of the item."""
    return str((await item.ask(str(item.input))).text)
