"""Removes text that a model puts around its answer, and records each removal."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from fanfold.apps.proofread.formats.text import edges
from fanfold.model.values.chatter import without_chatter

LONGEST_POLITE = 200
"""Maximum length of a remark around an answer."""

_THOUGHTS = re.compile(r"\s*<(think|thinking|thought|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)
_OPEN_THOUGHT = re.compile(r"\s*<(think|thinking|thought|reasoning)>\s*", re.IGNORECASE)
_END_OF_THOUGHT = re.compile(
    r"\A(?:(?!<think).)*?</(?:think|thinking|thought|reasoning)>\s*", re.DOTALL | re.IGNORECASE
)
_FENCE = re.compile(r"\A\s*(?P<mark>```+|~~~+)[ \t]*[\w-]*[ \t]*\n(?P<inside>.*?)\n?[ \t]*(?P=mark)\s*\Z", re.DOTALL)
_TAGS = re.compile(r"\A\s*<(?P<tag>[a-z][\w-]{0,30})>\s*(?P<inside>.*?)\s*</(?P=tag)>\s*\Z", re.DOTALL | re.IGNORECASE)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_BREAK = re.compile(r"(\S)\s*\n\s*(?=(\S))")
_POLITE = re.compile(
    r"(?:(?:sure|certainly|of course|absolutely|okay|ok|great)\b[^\n]{0,120}|here(?:'s|’s| is| are)\b[^\n]{0,120}|"
    r"below (?:is|are)\b[^\n]{0,120}|i(?:'ve|’ve| have) (?:corrected|proofread|translated|edited)[^\n]{0,120}|"
    r"(?:the )?(?:corrected|revised|proofread|translated|edited) (?:text|version|paragraphs?)[^\n]{0,60})[:.!]",
    re.IGNORECASE,
)
_POLITE_CHINESE = re.compile(
    r"(?:好的|当然(?:可以)?|没问题|以下(?:是|为)|下面(?:是|为)|这是)[^\n]{0,60}[:：。！!]|(?:校对|修改|翻译|润色)(?:后|结果)[^\n]{0,30}[:：]"
)
_JOB = re.compile(
    r"correct|proofread|translat|edit|revis|version|text|paragraph|校对|修改|翻译|润色|原文|译文|文本|段落|结果",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Cleaned:
    """An answer without surrounding remarks; ``cleanings`` names each removal, in order."""

    text: str
    cleanings: tuple[str, ...] = ()


def clean_answer(text: str, accept: Callable[[str], bool] | None = None) -> Cleaned:
    """The cleaned answer. A polite sentence is removed only if ``accept`` says that the rest is a good answer."""
    done: list[str] = []
    for name, step in (
        ("thoughts", _without_thoughts),
        ("fence", _without_fence),
        ("tags", _without_tags),
        ("fence", _without_fence),
    ):
        shorter = step(text)
        if shorter != text:
            done.append(name)
            text = shorter
    for name, step in (("greeting", _without_greeting), ("offer", _without_offer)):
        shorter = step(text)
        if shorter != text and (accept is None or accept(shorter)):
            done.append(name)
            text = _without_fence(shorter)
    return Cleaned(text, tuple(done))


def printable(text: str) -> str:
    """A text without control characters and halves of characters, which no book contains and no database stores."""
    return _CONTROLS.sub("", text.replace("\r\n", "\n"))


def one_line(source: str, answer: str) -> str:
    """An answer without line breaks that its source does not have: a paragraph stays one paragraph."""
    first, newline, _ = answer.strip().partition("\n")
    if "\n" in source.strip() or not newline or is_chatter(first):
        return answer
    before, inside, after = edges(answer)
    return (
        before
        + _BREAK.sub(lambda found: found[1] + ("" if max(found[1], found[2]) > "\u2e80" else " "), inside)
        + after
    )


def is_chatter(line: str) -> bool:
    """Whether a line announces an answer instead of being one."""
    line = line.strip()
    if len(line) > LONGEST_POLITE or _JOB.search(line) is None:
        return False
    return (_POLITE.fullmatch(line) or _POLITE_CHINESE.fullmatch(line)) is not None


def _without_thoughts(text: str) -> str:
    while found := _THOUGHTS.match(text):
        text = text[found.end() :]
    if found := _END_OF_THOUGHT.match(text):
        return text[found.end() :]
    opened = _OPEN_THOUGHT.match(text)
    return text[opened.end() :] if opened else text


def _without_fence(text: str) -> str:
    found = _FENCE.match(text)
    return found["inside"] if found and found["mark"] not in found["inside"] else text


def _without_tags(text: str) -> str:
    found = _TAGS.match(text)
    return found["inside"] if found and f"<{found['tag']}>" not in found["inside"] else text


def _without_greeting(text: str) -> str:
    first, newline, rest = text.lstrip().partition("\n")
    return rest.lstrip("\n") if newline and rest.strip() and is_chatter(first) else text


def _without_offer(text: str) -> str:
    """Without a closing offer of help, recognised as elsewhere in Fanfold."""
    shorter = without_chatter(text)
    return shorter if text.strip().startswith(shorter[:50]) else text
