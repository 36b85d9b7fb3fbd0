"""Fanfold's messages in Chinese, with the same codes and placeholders as ``fanfold.model.text.catalogue``."""

from __future__ import annotations

from fanfold.server.web.chinese.sentences import (
    asking,
    commands,
    dynamic,
    inputs,
    money,
    operating,
    scheduling,
    serving,
    tasks,
    waiting,
    work,
)

PARTS: tuple[dict[str, str], ...] = (
    waiting.SENTENCES,
    operating.SENTENCES,
    work.SENTENCES,
    tasks.SENTENCES,
    commands.SENTENCES,
    inputs.SENTENCES,
    asking.SENTENCES,
    money.SENTENCES,
    scheduling.SENTENCES,
    dynamic.SENTENCES,
    serving.SENTENCES,
)
SENTENCES: dict[str, str] = {code: text for part in PARTS for code, text in part.items()}
