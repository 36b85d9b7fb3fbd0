"""Sentences with a code and parameters: English text that can be rendered in another language when it is shown.

A ``Sentence`` is a str, so code that shows, compares or stores text works unchanged. Its code and parameters travel with it and
are stored beside the text (``kept``), so that a reader can render another language. Text that a handler or a person wrote has no
code and is shown as it is.

Templates are format strings with named gaps. ``[[…]]`` marks what only helps at a terminal, such as a command to type. Besides
the usual formats a gap may have one of these:

    {names}             a list, with commas
    {ways:or}           a list, with "or" before the last; {states:words} of states, {states:a} with an article
    {reasons:;}         a list, with semicolons; {reasons:then} one sentence after the other
    {at:time}           a time; {at:clock} has seconds. The date is left out on the day of the parameter ``now``
    {state:state}       a state: the page shows it as its lists do, and translates only words of the engine and applications
    {verb:word}         another word that the page translates, such as a command
    {why:bare}          without the stop at its end; {why:ended} with exactly one
    {count:item|items}  a word for one and a word for many
    {limit:size}        a number of bytes: 900 bytes, 1.5 kB, 2 MB
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any
from zlib import crc32

from fanfold.errors import BadPipeline
from fanfold.model.text import catalogue
from fanfold.model.text.moments import told_at
from fanfold.model.text.sizes import told_size

TYPED, END = "[[", "]]"
NOW = "now"
"""Parameter that any sentence may have besides those of its template: the current time."""
STOPS = " .;。；"
PARAMETER_LENGTH = 1_000
LIST_LENGTH = 50
KEPT_LENGTH = 10_000
"""Longest sentence whose code and parameters are stored."""


class Sentence(str):
    """A text with the code and parameters that it was made from."""

    code: str
    parameters: Mapping[str, Any]

    def __new__(cls, text: str, code: str, parameters: Mapping[str, Any]) -> Sentence:
        made = super().__new__(cls, text)
        made.code, made.parameters = code, parameters
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return str(self), self.code, self.parameters

    @property
    def data(self) -> dict[str, Any]:
        """The code and parameters, as JSON values."""
        return {"code": self.code, "parameters": dict(self.parameters)}

    def changed(self, change: Callable[[str], str]) -> Sentence:
        """The same sentence with every text in it changed, for instance to remove keys; very long texts are cut."""
        return Sentence(change(str(self)), self.code, _changed(self.parameters, change))


@dataclass(frozen=True)
class Language:
    """A language: its templates by code, and the separators of lists."""

    templates: Mapping[str, str]
    comma: str = ", "
    either: str = " or "
    semicolon: str = "; "
    stop: str = "."
    space: str = " "
    articles: bool = True
    word: Callable[[str], str] = field(default=str)
    state: Callable[[str], str] = field(default=str)
    byte: tuple[str, str] = ("byte", "bytes")


class Catalogue:
    """The sentences of an application: English templates by code, and the same codes in other languages.

    Calling it makes a sentence, whose code is prefixed with the application's name: ``pdf.encrypted``.
    """

    def __init__(
        self, name: str, english: Mapping[str, str], languages: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        self.name = name
        self.english = _named(name, english)
        self.languages = {language: _named(name, said) for language, said in (languages or {}).items()}
        self._plain: dict[str, Sentence] = {}
        for language, said in self.languages.items():
            for code, text in said.items():
                if gaps(text) != gaps(self.english.get(code, "")):
                    raise BadPipeline(f"The sentence {code} has different placeholders in {language} than in English.")

    def __call__(self, code: str, /, **parameters: Any) -> Sentence:
        """The sentence with this code; KeyError for an unknown code or a missing parameter."""
        code = f"{self.name}.{code}" if self.name else code
        # A fast path: objections to commands are made for every task of a list.
        if not parameters and code in self._plain:
            return self._plain[code]
        known = {name: _plain(value) for name, value in parameters.items()}
        made = Sentence(_filled(self.english[code], known, Language(self.english)), code, known)
        if not parameters:
            self._plain[code] = made
        return made


def _named(name: str, templates: Mapping[str, str]) -> dict[str, str]:
    return {f"{name}.{code}" if name else code: text for code, text in templates.items()}


say = Catalogue("", catalogue.ENGLISH)
"""Makes one of Fanfold's own sentences."""
ENGLISH = Language(catalogue.ENGLISH)


def joined(sentences: Iterable[str]) -> str | None:
    """Several reasons as one text, each once; None if there are none."""
    each = list(dict.fromkeys(sentences))
    if len(each) < 2:
        return each[0] if each else None
    return say("several", reasons=each) if any(isinstance(one, Sentence) for one in each) else "; ".join(each)


def render(sentence: str | None, language: Language, *, typed: bool = False) -> str:
    """The text in that language; unchanged if it has no code, or if the language does not have it.

    What only helps at a terminal is left out unless ``typed``.
    """
    if not isinstance(sentence, Sentence):
        return sentence or ""
    return _rendered(sentence.code, sentence.parameters, str(sentence), language, typed)


def read_in(sentence: Sentence, language: Language) -> Sentence:
    """The same sentence for readers without a terminal: in that language, without commands to type."""
    text = _rendered(sentence.code, sentence.parameters, str(sentence), language, typed=False)
    return Sentence(text, sentence.code, _read(sentence.code, sentence.parameters, language))


def _read(code: str, parameters: Mapping[str, Any], language: Language) -> dict[str, Any]:
    template = language.templates.get(code)
    names = set(parameters) if template is None else {*gaps(without_typed(template)), NOW}
    return {name: _read_value(value, language) for name, value in parameters.items() if name in names}


def _read_value(value: Any, language: Language) -> Any:
    if isinstance(value, list):
        return [_read_value(one, language) for one in value]
    if not isinstance(value, dict):
        return value
    code, parameters = value["code"], value["parameters"]
    text = _rendered(code, parameters, value["text"], language, typed=False)
    return {"code": code, "parameters": _read(code, parameters, language), "text": text}


def gaps(template: str) -> set[str]:
    """The names of a template's parameters."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


def kept(text: str | None, shown: str | None = None) -> str | None:
    """The code and parameters of a text, as stored beside it; None for other texts.

    The checksum is that of the stored text (``shown``, if it was cut). Older versions write a text without its sentence, and
    the checksum shows that the stored sentence belongs to an earlier text.
    """
    if not isinstance(text, Sentence):
        return None
    stored = json.dumps({**text.data, "sum": _sum(str(text) if shown is None else shown)}, ensure_ascii=True)
    return stored if len(stored) <= KEPT_LENGTH else None


def restored(text: str | None, stored: str | None) -> str | None:
    """A text with the code and parameters stored beside it, if they belong to it."""
    if text is None or not stored:
        return text
    found = json.loads(stored)
    return Sentence(text, found["code"], found["parameters"]) if found["sum"] == _sum(text) else text


def sentences_in(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The codes and parameters of the fields of a record that are sentences."""
    return {name: value.data for name, value in record.items() if isinstance(value, Sentence)}


def _sum(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


def _plain(value: Any) -> Any:
    """A parameter as a JSON value."""
    if isinstance(value, Sentence):
        return {**value.data, "text": str(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, Sequence | set | frozenset):
        return [_plain(one) for one in value]
    return str(value)


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)[:PARAMETER_LENGTH]
    if isinstance(value, Mapping):
        return {name: _changed(one, change) for name, one in value.items()}
    if isinstance(value, list):
        return [_changed(one, change) for one in value[:LIST_LENGTH]]
    return value


def _rendered(code: str, parameters: Mapping[str, Any], text: str, language: Language, typed: bool) -> str:
    template = language.templates.get(code)
    if template is None:
        return text
    try:
        return _filled(template, parameters, language, typed=typed)
    except (KeyError, ValueError, TypeError):  # Written by a version with other parameters.
        return text


def _filled(template: str, parameters: Mapping[str, Any], language: Language, *, typed: bool = True) -> str:
    chosen = template.replace(TYPED, "").replace(END, "") if typed else without_typed(template)
    return _Filling(language, parameters.get(NOW), typed).vformat(chosen, (), parameters)


def without_typed(template: str) -> str:
    """A template without what only helps at a terminal."""
    before, *rest = template.split(TYPED)
    return before + "".join(part.partition(END)[2] for part in rest)


class _Filling(string.Formatter):
    """Fills the gaps of a template in one language."""

    def __init__(self, language: Language, now: str | None, typed: bool) -> None:
        self.language = language
        self.now = None if now is None else datetime.fromisoformat(now)
        self.typed = typed

    def format_field(self, value: Any, format_spec: str) -> str:
        """One parameter."""
        if "|" in format_spec:
            one, many = format_spec.split("|")
            return one if value == 1 else many
        if format_spec in ("time", "clock"):
            return told_at(datetime.fromisoformat(value), self.now, seconds=format_spec == "clock")
        if format_spec == "size":
            return told_size(float(value), self.language.byte)
        if isinstance(value, list):
            return self._list([self._text(one) for one in value], format_spec)
        if isinstance(value, str | dict) or value is None:
            return self._ended(self._text(value), format_spec)
        return format(value, format_spec)

    def _text(self, value: Any) -> str:
        if isinstance(value, dict):
            return _rendered(value["code"], value["parameters"], value["text"], self.language, self.typed)
        return "" if value is None else str(value)

    def _list(self, each: list[str], spec: str) -> str:
        if spec == ";":
            return self.language.semicolon.join(one.rstrip(STOPS) for one in each)
        if spec == "then":
            return self.language.space.join(each)
        if spec in ("words", "a"):
            words = self.language.either.join(map(self.language.state, each))
            article = "an " if words[:1] in "aeiou" else "a "
            return article + words if spec == "a" and self.language.articles else words
        if spec == "or" and len(each) > 1:
            return self.language.comma.join(each[:-1]) + self.language.either + each[-1]
        return self.language.comma.join(each)

    def _ended(self, text: str, spec: str) -> str:
        if spec == "word":
            return self.language.word(text)
        if spec == "state":
            return self.language.state(text)
        if spec not in ("bare", "ended"):
            return format(text, spec)
        bare = text.rstrip(STOPS)
        return bare if spec == "bare" or bare[-1:] in ("?", "!", "？", "！") else bare + self.language.stop
