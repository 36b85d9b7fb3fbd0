"""The options of a conversion, declared once, and read for a task or a page of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.pdf.reading import document, ranges
from fanfold.apps.pdf.sentences import say_of_pdf

LOCAL = "local"
OCR = ("auto", "always", "never")
IMAGES = ("auto", "always", "never")
READING, OUTPUT, LIMITS = "Reading", "Result", "Limits"
OPTIONS = (
    ff.Option(
        "pages",
        "range",
        "Which pages: `1-3,7,10-`, `-5`, `last`; all when empty.",
        "",
        check=ranges.check,
        helps=("bad_range", "no_such_pages", "too_many_pages"),
    ),
    ff.Option("provider", "provider", "Who converts: `local`, or a provider that is configured.", LOCAL),
    ff.Option("model", "model", "The model of that provider.", ""),
    ff.Option(
        "password",
        "secret",
        "Opens an encrypted PDF. It is used at once to make a copy without a password, and is not stored.",
        apply=document.unlock,
        helps=("encrypted", "wrong_password"),
    ),
    ff.Option(
        "ocr",
        "choice",
        "`auto`: pages without a text layer are read by OCR; `always`: all pages; `never`: none.",
        "auto",
        label="OCR",
        choices=OCR,
        helps=("no_ocr",),
        group=READING,
    ),
    ff.Option(
        "fallback",
        "model",
        "Models to ask when that one fails. At last a page is made here (`local`): from its text layer, a scan by OCR.",
        (),
        label="Fallback models",
        many=True,
        group=READING,
    ),
    ff.Option(
        "prompt",
        "file",
        "What the model is told, instead of the prompt that comes with Fanfold.",
        "",
        group=READING,
    ),
    ff.Option(
        "join",
        "flag",
        "Whether paragraphs and words that a page break splits are joined.",
        False,
        group=OUTPUT,
        label="Join across pages",
    ),
    ff.Option(
        "marks",
        "flag",
        "Whether the result has a mark with the page's number before each page, and a line between pages.",
        True,
        label="Page marks",
        group=OUTPUT,
    ),
    ff.Option(
        "per_page",
        "flag",
        "Whether the result has one file per page as well.",
        False,
        label="One file per page",
        group=OUTPUT,
    ),
    ff.Option(
        "report", "flag", "Whether the result has a JSON file with the facts of each page as well.", False, group=OUTPUT
    ),
    ff.Option(
        "keep_raw",
        "flag",
        "Whether the raw answers of models are kept, also when they are good.",
        False,
        label="Keep raw answers",
        group=OUTPUT,
    ),
    ff.Option(
        "images",
        "choice",
        "`auto`: pictures of pages are kept where one was needed; `always`; `never`.",
        "auto",
        label="Pictures",
        choices=IMAGES,
        group=OUTPUT,
    ),
    ff.Option(
        "longest",
        "number",
        "The longest side of a page's picture, in pixels.",
        2000,
        label="Longest side",
        at_least=100,
        at_most=10_000,
        unit="pixels",
        group=LIMITS,
    ),
    ff.Option(
        "limit_pages",
        "number",
        "The most pages a document may have.",
        5000,
        label="Most pages",
        at_least=1,
        group=LIMITS,
        helps=("too_many_pages",),
    ),
    ff.Option(
        "password_env",
        "text",
        "The name of the environment variable, where the workers run, that has the document's password.",
        "",
        label="Password variable",
        group=LIMITS,
    ),
    ff.Option("fresh", "text", "Any text: answers that were kept before are not taken.", "", group=LIMITS),
)


@dataclass(frozen=True)
class Options:
    """The options of a task, or of one page of it; their meanings are in ``OPTIONS``."""

    pages: str = ""
    provider: str = LOCAL
    model: str = ""
    fallback: tuple[str, ...] = ()
    prompt: str = ""
    ocr: str = "auto"
    images: str = "auto"
    longest: int = 2000
    marks: bool = True
    join: bool = False
    per_page: bool = False
    report: bool = False
    limit_pages: int = 5000
    password_env: str = ""
    keep_raw: bool = False
    fresh: str = ""

    @classmethod
    def of(cls, given: dict[str, Any]) -> Options:
        """The options from what was said; Permanent names what cannot be used."""
        try:
            found = cls(**ff.read_options(OPTIONS, given))
        except ff.BadOption as problem:
            raise ff.Permanent(problem.message, code=problem.code) from None
        found._check()
        if given.get("provider") == LOCAL and found.model:
            raise ff.Permanent(say_of_pdf("local_has_no_models", model=found.model, local=LOCAL), code="bad_option")
        return found

    def _check(self) -> None:
        if LOCAL in self.fallback[:-1]:
            raise ff.Permanent(say_of_pdf("local_comes_last", local=LOCAL), code="bad_option")

    @property
    def is_local(self) -> bool:
        """Whether no model is asked."""
        return self.provider == LOCAL and not self.model

    @property
    def models_after(self) -> list[str]:
        """The models to ask when the first one fails. `local` is no model: it is what is done at last anyway."""
        return [model for model in self.fallback if model != LOCAL]

    @property
    def wording(self) -> str:
        """What the model is told."""
        return self.prompt or Path(__file__).with_name("prompt.md").read_text(encoding="utf-8")
