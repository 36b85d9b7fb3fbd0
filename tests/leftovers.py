"""Undoes what commands leave in the process of the tests. A command usually has a process of its own, and ends with it."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def undone() -> Iterator[None]:
    """Restore the logging and the variables of Fanfold.

    Otherwise the next test would find nothing in its log, or inherit a limit: `convert --jobs 1` lets a provider answer one call
    at a time, also in all processes that are started later.
    """
    ours = logging.getLogger("fanfold")
    before = ours.handlers[:], ours.level, ours.propagate
    known = variables()
    yield
    ours.handlers[:], ours.propagate = before[0], before[2]
    ours.setLevel(before[1])
    for name in variables().keys() - known.keys():
        del os.environ[name]
    os.environ.update(known)


def variables() -> dict[str, str]:
    """The variables of Fanfold that are set."""
    return {name: value for name, value in os.environ.items() if name.startswith("FANFOLD_")}
