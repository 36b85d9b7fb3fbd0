"""Chinese texts of the pages: one dictionary per page, keyed by the English text."""

from __future__ import annotations

from fanfold.server.web.chinese import (
    changes,
    codes,
    frame,
    images,
    listing,
    money,
    nouns,
    operating,
    scheduling,
    states,
    table,
    task,
    templates,
)

WORDS: dict[str, str] = {
    **frame.WORDS,
    **listing.WORDS,
    **operating.WORDS,
    **task.WORDS,
    **money.WORDS,
    **templates.WORDS,
    **scheduling.WORDS,
    **table.WORDS,
    **changes.WORDS,
    **images.WORDS,
    **nouns.WORDS,
    **states.STATES,
    **states.COMMANDS,
    **codes.CODES,
}
