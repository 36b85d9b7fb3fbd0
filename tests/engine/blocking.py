"""`async def` handlers that block the event loop, and others beside them."""

import asyncio
import time
from pathlib import Path
from typing import Any

import fanfold as ff

blocking = ff.Pipeline("blocking")
deaf = ff.Pipeline("deaf")


async def block(item: Any) -> str:
    """Sleep without await for as many seconds as the input says; 0 waits as it should."""
    seconds, _, note = str(item.input).partition(" ")
    if note:
        Path(note).write_text("begun")
    if float(seconds):
        time.sleep(float(seconds))
    else:
        await asyncio.sleep(3_600)
    return "awake"


async def never_end(item: Any) -> None:
    """Block, and continue after every interruption."""
    Path(item.input).write_text("begun")
    while True:
        try:
            time.sleep(3_600)
        except BaseException:
            continue


blocking.each(timeout=3_000, concurrency=8, retry=ff.Retry(limit=0))(block)
deaf.each(timeout=3_000, retry=ff.Retry(limit=0))(never_end)
limited = ff.Pipeline("limited")
limited.each(name="block", timeout=3, concurrency=1, retry=ff.Retry(limit=0))(block)
