"""A scripted model for proofreading and translation: answers every numbered paragraph of a question."""

import json
import re
from collections.abc import Callable
from typing import Any

from fanfold.apps.proofread.scripts import CJK
from tests.ai_protocol import Call

MARK = "The paragraphs:\n"


def paragraphs(prompt: str) -> dict[int, str]:
    """The numbered paragraphs of a question."""
    found: list[dict[str, Any]] = json.loads(prompt.rpartition(MARK)[2])
    return {one["id"]: one["text"] for one in found}


def told(texts: dict[int, str]) -> str:
    """An answer with these texts."""
    return json.dumps({"paragraphs": [{"id": at, "text": text} for at, text in texts.items()]}, ensure_ascii=False)


def each(change: Callable[[str], str]) -> Callable[[Any], str]:
    """A model that answers every paragraph with a change of it, and knows no terms."""

    def answer(request: Any) -> str:
        if MARK not in request.prompt:
            return json.dumps({"terms": [], "summary": ""})
        return told({at: change(text) for at, text in paragraphs(request.prompt).items()})

    return answer


def served(change: Callable[[str], str]) -> Callable[[Call], str]:
    """The same model for the loopback service."""
    answer = each(change)
    return lambda call: str(answer(call))


def replacing(*pairs: tuple[str, str]) -> Callable[[str], str]:
    """A change that replaces texts."""

    def change(text: str) -> str:
        for before, after in pairs:
            text = text.replace(before, after)
        return text

    return change


def in_english(text: str) -> str:
    """A translation of Chinese that keeps everything else: markers, digits, Latin letters."""
    return re.sub(f"[{CJK}]+", "It rained", text)
