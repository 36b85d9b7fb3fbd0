"""Declares the options of an extraction, and reads them for a task or one of its documents."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import fanfold as ff
from fanfold.apps.extract.sentences import say_of_extract
from fanfold.apps.extract.template.fields import Template
from fanfold.apps.extract.template.reading import read_template
from fanfold.model.pipelines.options import LOCAL

READING, LIMITS = "Reading", "Limits"
CONTEXT = 128_000
LIBRARIES = ("rapidfuzz", "jsonschema_rs", "json_repair", "yaml")
OPTIONS = (
    ff.Option(
        "template",
        "file",
        "The fields to extract: one line each, such as `sample_size: integer — How many people took part?`; or a JSON Schema, "
        "or a CSV header with questions.",
        helps=("bad_template",),
    ),
    ff.Option("provider", "provider", "The provider to ask.", ""),
    ff.Option("model", "model", "Model of that provider.", ""),
    ff.Option(
        "fallback",
        "model",
        "Models to ask if the first one fails.",
        (),
        label="Fallback models",
        many=True,
        group=READING,
    ),
    ff.Option(
        "ocr",
        "flag",
        "Whether to read pages without a text layer by OCR, if it is installed.",
        True,
        label="OCR",
        group=READING,
    ),
    ff.Option(
        "context",
        "number",
        "Context size of the model, in tokens. Questions about longer documents are asked in parts.",
        CONTEXT,
        label="Context of the model",
        at_least=2_000,
        at_most=10_000_000,
        unit="tokens",
        group=LIMITS,
    ),
    ff.Option("fresh", "text", "Set it to a new text to ignore cached answers.", "", group=LIMITS),
    ff.Option("redo", "text", "Which cells are asked again; set by actions.", "", group=LIMITS, hidden=True),
)


@dataclass(frozen=True)
class Options:
    """The options of a task or of one of its documents; ``OPTIONS`` explains them."""

    template: str | None = None
    provider: str = ""
    model: str = ""
    fallback: tuple[str, ...] = ()
    ocr: bool = True
    context: int = CONTEXT
    fresh: str = ""
    redo: str = ""

    @classmethod
    def of(cls, given: dict[str, Any]) -> Options:
        """Read the given options. Raises Permanent if one is invalid, or if the libraries of the extra are missing."""
        if any(find_spec(library) is None for library in LIBRARIES):
            raise ff.Permanent(say_of_extract("no_libraries"), code="no_libraries")
        try:
            found = cls(**ff.read_options(OPTIONS, given))
        except ff.BadOption as problem:
            raise ff.Permanent(problem.message, code=problem.code) from None
        if found.provider == LOCAL and not found.model:
            raise ff.Permanent(say_of_extract("local_has_no_models"), code="bad_option")
        if not (found.template or "").strip():
            raise ff.Permanent(say_of_extract("no_template"), code="bad_template")
        read_template(found.template or "")
        return found

    @property
    def fields(self) -> Template:
        """The template, read."""
        return read_template(self.template or "")
