"""Tests pipelines in milliseconds: the real engine in memory, a clock to advance, scripted answers, crashes at chosen points.

    from fanfold.testing import Engine

Nothing else in Fanfold imports it, and pytest is needed only for ``fanfold.testing.fixtures``.
"""

from fanfold.providers.services.service import Request
from fanfold.testing.answers import (
    Scripted,
    UnscriptedQuestion,
    answer,
    busy,
    cut_off,
    filtered,
    quota_used_up,
    rate_limited,
    refused,
    rejected,
    timed_out,
    unknown_outcome,
    unreachable,
    worker_crash,
)
from fanfold.testing.clock import Clock
from fanfold.testing.engine import Engine, NeverAtRest
from fanfold.testing.points import Point

__all__ = [
    "Clock",
    "Engine",
    "NeverAtRest",
    "Point",
    "Request",
    "Scripted",
    "UnscriptedQuestion",
    "answer",
    "busy",
    "cut_off",
    "filtered",
    "quota_used_up",
    "rate_limited",
    "refused",
    "rejected",
    "timed_out",
    "unknown_outcome",
    "unreachable",
    "worker_crash",
]
