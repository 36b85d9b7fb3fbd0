"""Declares the options of a conversion, and reads them for a task or one of its pages."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.pdf.reading import document, ranges
from fanfold.apps.pdf.sentences import say_of_pdf

LOCAL = "local"
OCR = ("auto", "always", "never")
TO = ("md", "html", "json")
IMAGES = ("auto", "always", "never", "figures")
LEAST_CHUNK = 100
READING, OUTPUT, LIMITS = "Reading", "Result", "Limits"
OPTIONS = (
    ff.Option(
        "pages",
        "range",
        "Pages to convert: `1-3,7,10-`, `-5`, `last`; empty means all.",
        "",
        check=ranges.check,
        helps=("bad_range", "no_such_pages", "too_many_pages"),
    ),
    ff.Option("provider", "provider", "What converts the pages: `local`, or a configured provider.", LOCAL),
    ff.Option("model", "model", "Model of that provider.", ""),
    ff.Option(
        "password",
        "secret",
        "Password of an encrypted PDF. It is used at once to make a copy without a password and is not stored.",
        apply=document.unlock,
        helps=("encrypted", "wrong_password"),
    ),
    ff.Option(
        "ocr",
        "choice",
        "`auto`: use OCR on pages without a text layer; `always`: on all pages; `never`: on none.",
        "auto",
        label="OCR",
        choices=OCR,
        helps=("no_ocr",),
        group=READING,
    ),
    ff.Option(
        "fallback",
        "model",
        "Models to ask if the first one fails. The last resort is always `local`: the text layer, or OCR for a scan.",
        (),
        label="Fallback models",
        many=True,
        group=READING,
    ),
    ff.Option(
        "prompt",
        "file",
        "Prompt for the model, instead of the one that comes with Fanfold.",
        "",
        group=READING,
    ),
    ff.Option(
        "to",
        "choice",
        "`md`: Markdown; `html`: one web page; `json`: blocks with page, box, kind and text.",
        "md",
        label="Format",
        choices=TO,
        group=OUTPUT,
    ),
    ff.Option(
        "chunks",
        "number",
        "Also write chunks of at most this many characters for a search index, cut at headings; 0 for none.",
        0,
        label="Chunks",
        at_least=0,
        at_most=1_000_000,
        unit="characters",
        group=OUTPUT,
    ),
    ff.Option(
        "front_matter",
        "flag",
        "Whether to start the Markdown with the document's title, author, source and hash.",
        False,
        label="Front matter",
        group=OUTPUT,
    ),
    ff.Option(
        "join",
        "flag",
        "Whether to join paragraphs, words and tables split by a page break.",
        False,
        group=OUTPUT,
        label="Join across pages",
    ),
    ff.Option(
        "marks",
        "flag",
        "Whether to put a page-number mark before each page and a line between pages.",
        True,
        label="Page marks",
        group=OUTPUT,
    ),
    ff.Option(
        "per_page",
        "flag",
        "Whether to write one file per page as well.",
        False,
        label="One file per page",
        group=OUTPUT,
    ),
    ff.Option("report", "flag", "Whether to write a JSON report on each page as well.", False, group=OUTPUT),
    ff.Option(
        "keep_raw",
        "flag",
        "Whether to keep the models' raw answers even if they are good.",
        False,
        label="Keep raw answers",
        group=OUTPUT,
    ),
    ff.Option(
        "images",
        "choice",
        "`auto`: keep page images that had to be rendered; `always`: keep one of every page; `never`: keep none; "
        "`figures`: like `auto`, and write the figures of pages with a text layer as files.",
        "auto",
        label="Images",
        choices=IMAGES,
        group=OUTPUT,
    ),
    ff.Option(
        "longest",
        "number",
        "Longest side of a page image, in pixels.",
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
        "Maximum number of pages in a document.",
        5000,
        label="Page limit",
        at_least=1,
        group=LIMITS,
        helps=("too_many_pages",),
    ),
    ff.Option(
        "password_env",
        "text",
        "Environment variable of the workers that holds the document's password.",
        "",
        label="Password variable",
        group=LIMITS,
    ),
    ff.Option("fresh", "text", "Set it to a new text to ignore cached answers.", "", group=LIMITS),
)


@dataclass(frozen=True)
class Options:
    """The options of a task or of one of its pages; ``OPTIONS`` explains them."""

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
    to: str = "md"
    chunks: int = 0
    front_matter: bool = False
    fresh: str = ""

    @classmethod
    def of(cls, given: dict[str, Any]) -> Options:
        """Read the given options. Raises Permanent for one that cannot be used."""
        try:
            found = cls(**ff.read_options(OPTIONS, given))
        except ff.BadOption as problem:
            raise ff.Permanent(problem.message, code=problem.code) from None
        found._check()
        if given.get("provider") == LOCAL and found.model:
            raise ff.Permanent(say_of_pdf("local_has_no_models", model=found.model, local=LOCAL), code="bad_option")
        return found

    def _check(self) -> None:
        if 0 < self.chunks < LEAST_CHUNK:
            raise ff.Permanent(say_of_pdf("chunks_small", size=self.chunks, least=LEAST_CHUNK), code="bad_option")
        if LOCAL in self.fallback[:-1]:
            raise ff.Permanent(say_of_pdf("local_comes_last", local=LOCAL), code="bad_option")

    @property
    def wants_facts(self) -> bool:
        """Whether the result names the document's title and author."""
        return self.front_matter or self.to == "json"

    @property
    def wants_figures(self) -> bool:
        """Whether figures are written as files."""
        return self.images == "figures"

    @property
    def is_local(self) -> bool:
        """Whether no model is called."""
        return self.provider == LOCAL and not self.model

    @property
    def models_after(self) -> list[str]:
        """Models to ask if the first one fails, without `local`, which is the last resort anyway."""
        return [model for model in self.fallback if model != LOCAL]

    @property
    def wording(self) -> str:
        """The prompt for the model."""
        return self.prompt or Path(__file__).with_name("prompt.md").read_text(encoding="utf-8")
