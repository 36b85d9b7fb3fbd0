"""Selects the language, by choice or from the browser, and translates. English texts are the keys."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable
from dataclasses import dataclass

from fastapi import Request

from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.text.sentences import Language, render
from fanfold.server.requests import adapted_messages
from fanfold.server.requests.adapted_messages import brought, english, without_state
from fanfold.server.web.chinese import WORDS
from fanfold.server.web.chinese.sentences import SENTENCES
from fanfold.server.web.frame.english import ONE

COOKIE = "fanfold_language"
LANGUAGES = {"en": "English", "zh": "中文"}
BROUGHT: dict[str, dict[str, str]] = {}
"""Translations from applications, by language; the page's own come first."""


def learn(pipelines: Iterable[Pipeline]) -> None:
    """Register the words and messages of these pipelines."""
    pipelines = list(pipelines)
    adapted_messages.learn(pipelines)
    for pipeline in pipelines:
        for language, words in pipeline.words.languages.items():
            BROUGHT.setdefault(language, {}).update(words)


@dataclass(frozen=True)
class Words:
    """The words of one language; calling it translates."""

    language: str

    def __call__(self, text: str, /, **values: object) -> str:
        """The text in this language, with ``{name}`` filled in; a text without a translation stays unchanged.

        The value named ``count`` selects singular or plural.
        """
        found = WORDS.get(text) if self.language == "zh" else None
        if self.language == "en" and str(values.get("count")) == "1":
            found = ONE.get(text)
        found = found or BROUGHT.get(self.language, {}).get(text, text)
        return found.format(**values) if values else found

    def items(self, number: int, unit: tuple[str, str], shown: str = "") -> str:
        """`5 pages`: a number of items with the application's noun; ``shown`` is the formatted number."""
        both = "{count} " + unit[1]
        if self.language != "en" and (found := self(both)) != both:
            return found.format(count=shown or number)
        return f"{shown or number} {self(unit[0] if number == 1 else unit[1])}"

    def why(self, text: str | None) -> str:
        """Why a task waits, without repeating its state."""
        return self.sentence(without_state(text))

    def sentence(self, text: str | None, *, typed: bool = False) -> str:
        """A message in this language, without terminal commands unless ``typed``; other texts unchanged."""
        return render(text, self.speech, typed=typed)

    @property
    def speech(self) -> Language:
        """This language for messages."""
        if self.language != "zh":
            return english()
        templates = ChainMap(SENTENCES, brought("zh"))
        marks = {"comma": "、", "either": "或", "semicolon": "；", "stop": "。", "space": ""}
        return Language(templates, **marks, articles=False, word=self)


def language_of(request: Request) -> str:
    """The chosen language, or the first supported one that the browser asks for."""
    chosen = request.query_params.get("lang") or request.cookies.get(COOKIE)
    if chosen in LANGUAGES:
        return chosen
    for wanted in request.headers.get("accept-language", "").split(","):
        if (code := wanted.split(";")[0].strip()[:2].lower()) in LANGUAGES:
            return code
    return "en"
