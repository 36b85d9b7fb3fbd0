"""Handlers that log by themselves: in the event loop, in a thread, in a child process, and in an errand."""

import logging
import os
import warnings

import fanfold as ff

log = logging.getLogger("talkative")
talk = ff.Pipeline("talk")


def say_so(where: str) -> str:
    """One line, with a key in it."""
    log.warning("in %s with %s", where, os.environ["SOME_API_KEY"], extra={"colour": "red", "user_password": "x"})
    return where


@talk.each
async def loop(item: ff.ItemWork) -> str:
    """In the event loop; and a plain function in a child."""
    await item.in_child(say_so, "errand")
    return say_so("loop")


@talk.each
def thread(item: ff.ItemWork) -> str:
    """In a thread."""
    warnings.warn("a library's warning", stacklevel=1)
    return say_so("thread")


@talk.each(isolate=True, retry=ff.Retry(limit=0))
def child(item: ff.ItemWork) -> str:
    """In a child process."""
    say_so("child")
    raise ff.Permanent("this went\nwrong")
