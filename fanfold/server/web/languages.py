"""In which language? The one that was chosen, else the browser's; English words are the keys of the catalogues."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fastapi import Request

from fanfold.model.pipeline import Pipeline
from fanfold.server.sentences import without_commands
from fanfold.server.web.chinese import WORDS, operating

COOKIE = "fanfold_language"
LANGUAGES = {"en": "English", "zh": "中文"}
BROUGHT: dict[str, dict[str, str]] = {}
"""The translations that applications bring, by language; what the page says itself comes first."""


def learn(pipelines: Iterable[Pipeline]) -> None:
    """Take over the translations of these pipelines."""
    for pipeline in pipelines:
        for language, words in pipeline.words.languages.items():
            BROUGHT.setdefault(language, {}).update(words)


@dataclass(frozen=True)
class Words:
    """The words of one language; calling it translates."""

    language: str

    def __call__(self, text: str, /, **values: object) -> str:
        """The text in this language, with ``{name}`` filled in; a text that no catalogue has stays as it is."""
        found = WORDS.get(text) if self.language == "zh" else None
        found = found or BROUGHT.get(self.language, {}).get(text, text)
        return found.format(**values) if values else found

    def items(self, number: int, unit: tuple[str, str], shown: str = "") -> str:
        """`5 pages`: so many of what an application calls its items; ``shown`` is the number as it is written."""
        word = unit[0] if number == 1 and self.language == "en" else unit[1]
        return self("{count} " + word, count=shown or number)

    def why(self, text: str | None) -> str:
        """Why a task waits, beside its state: the word for the state is not said twice."""
        return self.sentence(without_commands((text or "").removeprefix("paused: ")))

    def next_try(self, text: str) -> str:
        """`, next try in 8 s`, or `, trying now`."""
        seconds = "".join(letter for letter in text if letter.isdecimal())
        return self(", next try in {seconds} s", seconds=seconds) if seconds else self(", trying now")

    def ways(self, text: str | None) -> str:
        """What a person can do about items that wait: the end of such a sentence."""
        if not text:
            return ""
        ways = [way.replace("them", "it") for way in re.split(", | or ", text)]
        return self(" You can: ") + self(", ").join(map(self, ways))

    def sentence(self, text: str | None) -> str:
        """A sentence that the engine has made, such as why a task waits, where its pattern is known."""
        if text is None or self.language != "zh":
            return text or ""
        for pattern, say in SENTENCES:
            if match := pattern.fullmatch(text):
                return say(self, match)
        for pattern, english in FACTS:
            if match := pattern.fullmatch(text):
                return self(english, **match.groupdict())
        return self(text)


SENTENCES: tuple[tuple[re.Pattern[str], Callable[[Words, re.Match[str]], str]], ...] = (
    (
        re.compile(r"waits for you before (?P<stage>\S+)"),
        lambda t, m: t("waits for you before {stage}", stage=m["stage"]),
    ),
    (re.compile(r"paused: (?P<reason>.+)", re.DOTALL), lambda t, m: t("paused: {reason}", reason=m["reason"])),
    (
        re.compile(r"(?P<count>\d+) failed: retry them, or merge without them"),
        lambda t, m: t("{count} failed: retry them, or merge without them", count=m["count"]),
    ),
    (
        re.compile(r"(?P<count>\d+) degraded: retry them with another model, or keep them as they are"),
        lambda t, m: t("{count} degraded: retry them with another model, or keep them as they are", count=m["count"]),
    ),
    (
        re.compile(r"(?P<count>\d+) failed: retry them"),
        lambda t, m: t("{count} failed: retry them", count=m["count"]),
    ),
    (
        re.compile(
            r"no worker serves stage (?P<stage>\S+); a tick starts it only with a budget above (?P<seconds>\S+) s"
        ),
        lambda t, m: t(
            "no worker serves stage {stage}; a tick starts it only with a budget above {seconds} s",
            stage=m["stage"],
            seconds=m["seconds"],
        ),
    ),
    (
        re.compile(r"the database takes no writes; the work goes on by itself when it does again"),
        lambda t, m: t("the database takes no writes; the work goes on by itself when it does again"),
    ),
    (
        re.compile(r"no worker serves stage (?P<stage>\S+)"),
        lambda t, m: t("no worker serves stage {stage}", stage=m["stage"]),
    ),
    (
        re.compile(r"(?P<count>\d+) items? waits? for you: (?P<why>.+?)(?: You can (?P<ways>[^.]+))?", re.DOTALL),
        lambda t, m: t("{count} items wait for you", count=m["count"]) + f": {m['why']}" + t.ways(m["ways"]),
    ),
    (
        re.compile(r"rate limited by (?P<name>\S+), (?P<next>.+)"),
        lambda t, m: t("rate limited by {name}", name=m["name"]) + t.next_try(m["next"]),
    ),
    (
        re.compile(r"(?P<name>\S+) unreachable since (?P<time>[\d: -]+) UTC, (?P<next>.+)"),
        lambda t, m: t("{name} unreachable since {time} UTC", name=m["name"], time=m["time"]) + t.next_try(m["next"]),
    ),
    (
        re.compile(r"waits for (?P<name>\S+), (?P<next>.+)"),
        lambda t, m: t("waits for {name}", name=m["name"]) + t.next_try(m["next"]),
    ),
    (
        re.compile(r"\d+ (waiting|paused|partial)(, \d+ (waiting|paused|partial))*"),
        lambda t, m: ", ".join(f"{number} {t(word)}" for number, word in map(str.split, m[0].split(", "))),
    ),
    (
        re.compile(
            r"waits for (?P<what>an external job|the next try)(?: at (?P<time>[\d: -]+) UTC)?(?:: (?P<why>.+))?",
            re.DOTALL,
        ),
        lambda t, m: (
            t(f"waits for {m['what']}")
            + (t(" at {time} UTC", time=m["time"]) if m["time"] else "")
            + (f": {m['why']}" if m["why"] else "")
        ),
    ),
)
"""The patterns of ``fanfold.model.words.wait_reason``, and of how many tasks stand in which state."""
FACTS = tuple(
    (re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+?)", re.escape(english)), re.DOTALL), english)
    for english in operating.SENTENCES
)
"""The patterns of what ``fanfold.engine.queries.doctor`` says: the English texts themselves, with anything for each name."""


def language_of(request: Request) -> str:
    """The language that was chosen, else the first that the browser wants and that there is."""
    chosen = request.query_params.get("lang") or request.cookies.get(COOKIE)
    if chosen in LANGUAGES:
        return chosen
    for wanted in request.headers.get("accept-language", "").split(","):
        if (code := wanted.split(";")[0].strip()[:2].lower()) in LANGUAGES:
            return code
    return "en"
