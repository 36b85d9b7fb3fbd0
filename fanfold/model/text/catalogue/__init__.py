"""Every sentence of Fanfold in English, by its code. ``fanfold.model.text.sentences`` explains the templates."""

from __future__ import annotations

from fanfold.model.text.catalogue import (
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
ENGLISH: dict[str, str] = {code: text for part in PARTS for code, text in part.items()}
