"""An answer as the cache stores it."""

from __future__ import annotations

import json

from fanfold.model.money.questions import Answer
from fanfold.providers.costs.ledger_rows import storable


def for_cache(answer: Answer) -> str:
    """An answer as JSON text, for the cache."""
    said = {
        "text": storable(answer.text),
        "provider": answer.provider,
        "model": answer.model,
        "seconds": answer.seconds,
    }
    said |= {"cleaned": True} if answer.cleaned else {}
    return json.dumps(said, ensure_ascii=False)


def from_cache(body: str) -> Answer:
    """The answer in a cached JSON text."""
    found = json.loads(body)
    told = {"seconds": found["seconds"], "cleaned": bool(found.get("cleaned"))}
    return Answer(found["text"], found["provider"], found["model"], **told, cached=True)
