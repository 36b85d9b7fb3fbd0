"""Declares the options of proofreading and translation, and reads them for a task or one of its chunks."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import Any

import fanfold as ff
from fanfold.apps.proofread.checks.modes import Mode
from fanfold.apps.proofread.formats.encodings import known_encoding
from fanfold.apps.proofread.glossary import Term, read_glossary
from fanfold.apps.proofread.rules import AnyRule, choose_rules
from fanfold.apps.proofread.sentences import say_of_proofread

READING, MODELS, LIMITS, RESULT = "Reading", "Models", "Limits", "Result"
LIBRARIES = ("rapidfuzz", "charset_normalizer")
LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8}){0,3}")
KEEP = "keep"
ACCEPT, REJECT = "accept", "reject"
AUTO, ALWAYS, NEVER = "auto", "always", "never"


def _check_rules(text: str) -> None:
    """Permanent if a rule is unknown."""
    try:
        choose_rules([text])
    except ff.BadOption as problem:
        raise ff.Permanent(problem.message, code=problem.code) from None


def _check_glossary(text: str) -> None:
    try:
        read_glossary(text)
    except ff.BadInput as problem:
        raise ff.Permanent(problem.message, code="bad_glossary") from None


def _check_encoding(text: str) -> None:
    try:
        known_encoding(text) if text.strip() else None
    except ff.BadOption as problem:
        raise ff.Permanent(problem.message, code=problem.code) from None


def _check_language(text: str) -> None:
    """Permanent unless the text is a language code: it becomes part of a file name."""
    if text.strip() and not LANGUAGE.fullmatch(text.strip()):
        raise ff.Permanent(say_of_proofread("bad_language", language=text[:40]), code="bad_language")


MODE = ff.Option(
    "mode",
    "choice",
    "What may change. `format`: only white space and punctuation; `proofread`: single words; `edit`: whole sentences.",
    "proofread",
    choices=("format", "proofread", "edit"),
)
TO = ff.Option(
    "to",
    "text",
    "Language to translate into, as a code such as `en`, `zh` or `pt-BR`.",
    "",
    label="Into",
    check=_check_language,
)
FROM = ff.Option(
    "source_language", "text", "Language of the book, as a code; empty to let the model see.", "", label="From"
)
SHARED = (
    ff.Option("provider", "provider", "The provider to ask.", ""),
    ff.Option("model", "model", "Model of that provider.", ""),
    ff.Option(
        "fallback",
        "model",
        "Models to ask about paragraphs that the first one cannot do.",
        (),
        label="Fallback models",
        many=True,
        group=MODELS,
    ),
    ff.Option("style", "file", "House style: instructions for the model, beside those of the mode.", "", group=MODELS),
    ff.Option(
        "glossary",
        "file",
        "Terms as CSV with the columns source,target; a term without a target is a name that must not change.",
        "",
        check=_check_glossary,
        group=MODELS,
    ),
    ff.Option(
        "rules",
        "text",
        "Rules to apply: `+name` and `-name` change the usual ones, plain names are the only ones, `none` means none.",
        (),
        many=True,
        check=_check_rules,
        group=READING,
    ),
    ff.Option(
        "source_encoding",
        "text",
        "Encoding of a text file, such as `gb18030`; empty to detect it.",
        "",
        check=_check_encoding,
        group=READING,
    ),
    ff.Option(
        "paragraphs",
        "choice",
        "How a text file marks paragraphs: `lines`, `blank` lines between them, or `auto`.",
        "auto",
        choices=("auto", "lines", "blank"),
        group=READING,
    ),
    ff.Option(
        "chunk_size",
        "number",
        "Size of a chunk in characters; 0 for 1500 in Chinese or Japanese and 4000 otherwise.",
        0,
        at_least=0,
        at_most=20_000,
        unit="characters",
        group=LIMITS,
    ),
    ff.Option(
        "budget_percent",
        "number",
        "Share of the characters of a paragraph that proofreading may change.",
        15,
        label="Largest change of a paragraph",
        at_least=0,
        at_most=100,
        unit="%",
        group=LIMITS,
    ),
    ff.Option("keep_raw", "flag", "Whether to keep the raw answers of models, also good ones.", False, group=LIMITS),
    ff.Option("fresh", "text", "If set to any text, cached answers are not used.", "", group=LIMITS),
    ff.Option(
        "encoding",
        "choice",
        "Encoding of the result: `keep` that of the source, or `utf-8`.",
        KEEP,
        choices=(KEEP, "utf-8"),
        group=RESULT,
        helps=("not_encodable",),
    ),
    ff.Option(
        "undecided",
        "choice",
        "What becomes of changes that nobody has decided about.",
        ACCEPT,
        label="Undecided changes",
        choices=(ACCEPT, REJECT),
        group=RESULT,
    ),
)
RULES_ONLY = ff.Option("rules_only", "flag", "Whether to apply only the rules and ask no model.", False, group=MODELS)
TERMS = ff.Option(
    "terms",
    "choice",
    "Whether a model first collects names and terms: `auto` if no glossary is given, `always` or `never`.",
    AUTO,
    label="Collect terms",
    choices=(AUTO, ALWAYS, NEVER),
    group=MODELS,
)
PROOFREAD_OPTIONS = (MODE, *SHARED, RULES_ONLY)
TRANSLATE_OPTIONS = (TO, FROM, *SHARED, TERMS)


@dataclass(frozen=True)
class Options:
    """The options of a task or of one of its chunks; the declarations above explain them."""

    mode: str = "proofread"
    to: str = ""
    source_language: str = ""
    provider: str = ""
    model: str = ""
    fallback: tuple[str, ...] = ()
    style: str = ""
    glossary: str = ""
    rules: tuple[str, ...] = ()
    source_encoding: str = ""
    paragraphs: str = "auto"
    chunk_size: int = 0
    budget_percent: int = 15
    keep_raw: bool = False
    fresh: str = ""
    encoding: str = KEEP
    undecided: str = ACCEPT
    rules_only: bool = False
    terms: str = AUTO

    @classmethod
    def of_proofread(cls, given: dict[str, Any]) -> Options:
        """The options of a proofreading. Permanent if one is invalid, or if the libraries of the extra are missing."""
        return cls._read(PROOFREAD_OPTIONS, given)

    @classmethod
    def of_translate(cls, given: dict[str, Any]) -> Options:
        """The options of a translation, which must name its language."""
        found = cls._read(TRANSLATE_OPTIONS, given, mode="translate")
        if not found.to.strip():
            raise ff.Permanent(say_of_proofread("no_language"), code="no_language")
        return found

    @classmethod
    def _read(cls, options: tuple[ff.Option, ...], given: dict[str, Any], **fixed: Any) -> Options:
        if any(find_spec(library) is None for library in LIBRARIES):
            raise ff.Permanent(say_of_proofread("no_libraries"), code="no_libraries")
        try:
            values = ff.read_options(options, given)
        except ff.BadOption as problem:
            raise ff.Permanent(problem.message, code=problem.code) from None
        names = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in names} | fixed)

    @property
    def contract(self) -> Mode:
        """The mode."""
        return Mode(self.mode)

    @property
    def is_translation(self) -> bool:
        """Whether the book is translated."""
        return self.contract is Mode.TRANSLATE

    @property
    def chosen_rules(self) -> tuple[AnyRule, ...]:
        """The rules to apply."""
        return choose_rules(self.rules)

    @property
    def given_terms(self) -> tuple[Term, ...]:
        """The glossary given by a person."""
        return read_glossary(self.glossary)

    @property
    def collects_terms(self) -> bool:
        """Whether a model collects terms before the translation."""
        return self.terms == ALWAYS or (self.terms == AUTO and not self.glossary.strip())
