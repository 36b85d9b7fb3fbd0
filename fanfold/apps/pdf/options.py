"""What may be said about a conversion? Its options, checked before any page is touched."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import fanfold as ff

LOCAL = "local"
OCR = ("auto", "always", "never")
IMAGES = ("auto", "always", "never")
MEANINGS = {
    "pages": "Which pages: `1-3,7,10-`, `-5`, `last`; all when empty.",
    "provider": "Who converts: `local`, or a provider of `fanfold providers`.",
    "model": "The model of that provider.",
    "fallback": "Models to ask when that one fails. At last a page is made here (`local`): from its text layer, a scan by OCR.",
    "prompt": "What the model is told, instead of the prompt that comes with Fanfold.",
    "ocr": "`auto`: pages without a text layer are read by OCR; `always`: all pages; `never`: none.",
    "images": "`auto`: pictures of pages are kept where one was needed; `always`; `never`.",
    "longest": "The longest side of a page's picture, in pixels.",
    "marks": "Whether the result has a mark with the page's number before each page, and a line between pages.",
    "join": "Whether paragraphs and words that a page break splits are joined.",
    "per_page": "Whether the result has one file per page as well.",
    "report": "Whether the result has a JSON file with the facts of each page as well.",
    "limit_pages": "The most pages a document may have.",
    "password_env": "The name of the environment variable, where the workers run, that has the document's password.",
    "keep_raw": "Whether the raw answers of models are kept, also when they are good.",
    "fresh": "Any text: answers that were kept before are not taken.",
}


@dataclass(frozen=True)
class Options:
    """The options of a task, or of one page of it; their meanings are in ``MEANINGS``."""

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
        """The options from what was said; Permanent names what can not be used."""
        if "password" in given:
            raise ff.Permanent(
                "A password is not kept with a task. Put it into an environment variable where the workers run and name "
                "that: --option password_env=NAME; or use fanfold convert --password",
                code="bad_option",
            )
        unknown = sorted(set(given) - set(MEANINGS))
        if unknown:
            raise ff.Permanent(
                f"There is no option {', '.join(unknown)}. There are: {', '.join(MEANINGS)}.", code="bad_option"
            )
        said = given.get("fallback") or []
        fallback = (said,) if isinstance(said, str) else tuple(str(model) for model in said)
        plain = {name: value for name, value in given.items() if name != "fallback" and value is not None}
        found = cls(fallback=fallback, **{name: _converted(name, value) for name, value in plain.items()})
        found._check()
        return found

    def _check(self) -> None:
        for name, allowed in (("ocr", OCR), ("images", IMAGES)):
            if getattr(self, name) not in allowed:
                raise ff.Permanent(
                    f"The option {name} is {getattr(self, name)!r}; it may be {', '.join(allowed)}.", code="bad_option"
                )
        if LOCAL in self.fallback[:-1]:
            raise ff.Permanent(
                f"The option fallback has {LOCAL} before other models. {LOCAL} comes last.", code="bad_option"
            )
        if not 100 <= self.longest <= 10_000:
            raise ff.Permanent(
                f"The option longest is {self.longest}; it may be 100 to 10000 pixels.", code="bad_option"
            )

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


def _converted(name: str, value: Any) -> Any:
    kind = {one.name: str(one.type) for one in fields(Options)}[name]
    if kind == "bool":
        return value if isinstance(value, bool) else _yes_or_no(name, str(value))
    try:
        return int(value) if kind == "int" else str(value)
    except (TypeError, ValueError):
        raise ff.Permanent(f"The option {name} is {value!r}, which is not a number.", code="bad_option") from None


def _yes_or_no(name: str, word: str) -> bool:
    known = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if word.lower() not in known:
        raise ff.Permanent(f"The option {name} is {word!r}; it may be true or false.", code="bad_option")
    return known[word.lower()]
