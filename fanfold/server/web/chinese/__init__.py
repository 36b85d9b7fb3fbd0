"""What are the words of the pages in Chinese? One catalogue per page, keyed by the English text."""

from __future__ import annotations

from fanfold.server.web.chinese import frame, listing, nouns, operating, task

WORDS: dict[str, str] = {**frame.WORDS, **listing.WORDS, **operating.WORDS, **task.WORDS, **nouns.WORDS}
