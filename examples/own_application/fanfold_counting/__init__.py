"""Counts the words of a text, line by line: the smallest application that has one of everything."""

from __future__ import annotations

import fanfold as ff

application = ff.Application(
    "counting",
    title="Count words",
    pipelines=("fanfold_counting.pipeline:counting",),
    commands=(
        ff.AppCommand(
            "count", "fanfold_counting.command:command", help="Count the words of a text.", example="count notes.txt"
        ),
    ),
)
