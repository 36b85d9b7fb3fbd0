"""Selects the language, by choice or from the browser, and translates. English texts are the keys."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fastapi import Request

from fanfold.model.lifecycle import TaskState
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.plan import Kind
from fanfold.model.task import Task
from fanfold.model.text.sentences import Language, render
from fanfold.server.requests import adapted_messages
from fanfold.server.requests.adapted_messages import brought, english, without_state
from fanfold.server.web.chinese import WORDS
from fanfold.server.web.chinese.codes import CODES
from fanfold.server.web.chinese.nouns import WORDS as NOUNS
from fanfold.server.web.chinese.sentences import SENTENCES
from fanfold.server.web.chinese.states import COMMANDS, STATES
from fanfold.server.web.frame.english import ONE

COOKIE = "fanfold_language"
LANGUAGES = {"en": "English", "zh": "中文"}
ITEM = ("item", "items")
"""The engine's noun for items."""
BROUGHT: dict[str, dict[str, str]] = {}
"""Translations from applications, by language; the page's own come first."""
OF_PIPELINE: dict[tuple[str, str], Mapping[str, str]] = {}
"""The same by language and pipeline: one pipeline does not translate the names of another."""
STATE_WORDS: set[str] = set()
"""Applications' own words for states. Not the names of stages, which messages never translate."""


def learn(pipelines: Iterable[Pipeline]) -> None:
    """Register the words and messages of these pipelines."""
    pipelines = list(pipelines)
    adapted_messages.learn(pipelines)
    for pipeline in pipelines:
        for language, words in pipeline.words.languages.items():
            BROUGHT.setdefault(language, {}).update(words)
            OF_PIPELINE[language, pipeline.name] = words
        STATE_WORDS.update(pipeline.words.task.values(), pipeline.words.item.values())
        for stage in (one.planned for one in pipeline.stages.values()):
            STATE_WORDS.update({stage.ready, stage.doing, stage.retrying} - {stage.name})


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

    def name(self, text: str, pipeline: str | None = None) -> str:
        """A name or text that an application gave: translated only as applications translate it, or only as ``pipeline`` does.

        It may equal a word of the page, such as a stage `merge`, and still stays as it is.
        """
        brought = BROUGHT.get(self.language, {}) if pipeline is None else OF_PIPELINE.get((self.language, pipeline), {})
        return brought.get(text, text)

    def status(self, task: Task) -> str:
        """The word for a task's state. While a step works, that is by default the name of the step."""
        named = task.state is TaskState.ACTIVE and task.status == task.stage
        is_step = named and any(one.name == task.stage and one.kind == Kind.STEP for one in task.stages)
        usual = task.status in STATES and not is_step
        return self(task.status) if usual else self.name(task.status, task.pipeline)

    def state(self, word: str, usual: str, pipeline: str | None = None) -> str:
        """The word for an item's state, which may be the application's own."""
        return self(usual) if word == usual else self.name(word, pipeline)

    def code(self, code: str | None) -> str:
        """The code of an error: the engine's, or one that a handler gave."""
        return self(code) if code in CODES else self.name(code or "")

    def noun(self, text: str) -> str:
        """The noun for items: the engine's, or the application's own."""
        return self(text) if text in ITEM else self.name(text)

    def items(self, number: int, unit: tuple[str, str], shown: str = "") -> str:
        """`5 pages`: a number of items with the application's noun; ``shown`` is the formatted number."""
        both = "{count} " + unit[1]
        found = self(both) if unit == ITEM else self.name(both)
        if self.language != "en" and found != both:
            return found.format(count=shown or number)
        return f"{shown or number} {self.noun(unit[0] if number == 1 else unit[1])}"

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
        return Language(templates, **marks, articles=False, byte=("字节", "字节"), word=self._word, state=self._state)

    def _word(self, text: str) -> str:
        """A word in a message: a noun or a command of the engine, or a word of an application."""
        return self(text) if text in NOUNS or text in COMMANDS else self.name(text)

    def _state(self, text: str) -> str:
        """A state in a message, in the words of the lists."""
        return self(text) if text in STATES else self.name(text) if text in STATE_WORDS else text


def language_of(request: Request) -> str:
    """The chosen language, or the first supported one that the browser asks for."""
    chosen = request.query_params.get("lang") or request.cookies.get(COOKIE)
    if chosen in LANGUAGES:
        return chosen
    for wanted in request.headers.get("accept-language", "").split(","):
        if (code := wanted.split(";")[0].strip()[:2].lower()) in LANGUAGES:
            return code
    return "en"
