"""The options of a pipeline, declared once. The checks, the form fields, the API's schema and the CLI are made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fanfold.errors import BadOption, BadPipeline, HandlerError
from fanfold.model.text.sentences import say

TEXT, NUMBER, CHOICE, FLAG, RANGE = "text", "number", "choice", "flag", "range"
FILE, MODEL, PROVIDER, SECRET = "file", "model", "provider", "secret"
LOCAL = "local"
"""The provider name that means: no model at all."""
KINDS = {
    TEXT: "a line of text",
    NUMBER: "a whole number, within bounds",
    CHOICE: "one of `choices`",
    FLAG: "yes or no",
    RANGE: "a range in the application's own notation, such as pages; `check` knows it",
    FILE: "a longer text, usually kept in a file: the CLI takes the file's name, the page a text area",
    MODEL: "a model",
    PROVIDER: "a configured provider, or `local`",
    SECRET: "used at once on the input file, and never stored",
}
"""The kinds of options."""
YES_OR_NO = {
    "1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False,
}  # fmt: skip
DEFAULT_TYPES: dict[str, type] = {NUMBER: int, FLAG: bool}
"""The type of a default by kind; text for the other kinds."""
SHOWN_LENGTH = 200
"""Longest value quoted in an error."""


@dataclass(frozen=True)
class Option:
    """One option of a pipeline: its name, its kind, and its allowed values.

    ``check`` gets the value as text and raises ``Permanent`` to reject it. ``many`` accepts a list. Options of a ``group`` are
    shown together; those without one come first. ``order`` sorts them, lowest first. ``helps`` lists codes of failures that
    another value may fix: the page offers the option next to them. A ``hidden`` option is set by actions and has no field in
    the page. A secret has ``apply``: ``apply(path, secret, target, name=…)`` runs in a child process and writes a usable copy
    of the input file.
    """

    name: str
    kind: str = TEXT
    help: str = ""
    default: Any = None
    label: str = ""
    choices: tuple[str, ...] = ()
    at_least: int | None = None
    at_most: int | None = None
    many: bool = False
    order: int = 0
    group: str = ""
    unit: str = ""
    check: Callable[[str], object] | None = None
    apply: Callable[..., object] | None = None
    helps: tuple[str, ...] = ()
    hidden: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadPipeline(f"The option {self.name} is of kind {self.kind!r}; there are {', '.join(KINDS)}.")
        if self.kind == CHOICE and not self.choices:
            raise BadPipeline(f"The option {self.name} is of kind choice and has no `choices`.")
        if self.kind != CHOICE and self.choices:
            raise BadPipeline(f"The option {self.name} is of kind {self.kind}: `choices` belong to kind choice.")
        if (self.kind == SECRET) != (self.apply is not None):
            raise BadPipeline(f"The option {self.name} is of kind {self.kind}: `apply` belongs to kind secret.")
        if self.apply is not None and "<" in self.apply.__qualname__:
            raise BadPipeline(
                f"`apply` of the option {self.name} runs in a child process: name a function of a module."
            )
        if self.default is not None:
            self._check_default()

    def _check_default(self) -> None:
        """BadPipeline for a default that is not allowed. ``check`` is not called: a default may be outside of its notation."""
        if self.many and not isinstance(self.default, list | tuple):
            raise BadPipeline(f"The option {self.name} takes many values: its default must be a tuple of them.")
        kind = DEFAULT_TYPES.get(self.kind, str)
        for part in self.default if self.many else (self.default,):
            if not isinstance(part, kind) or (kind is int and isinstance(part, bool)):
                raise BadPipeline(
                    f"The option {self.name} is of kind {self.kind}: its default {_shown(part)} must be {kind.__name__}."
                )
            try:
                replace(self, default=None, many=False, check=None).value(part)
            except BadOption as error:
                raise BadPipeline(f"The default of the option {self.name} cannot be used. {error}") from None

    @property
    def title(self) -> str:
        """Its label in a form."""
        return self.label or self.name.replace("_", " ").capitalize()

    def value(self, given: Any) -> Any:
        """The parsed value; BadOption if it is not allowed."""
        if given is None:
            return self.default
        if self.many:
            parts = given.split(",") if isinstance(given, str) else given
            if not isinstance(parts, list | tuple):
                raise self._refused(given, say("may_be_list"))
            return tuple(self._one(part) for part in parts if not isinstance(part, str) or part.strip())
        return self._one(given)

    def _one(self, given: Any) -> Any:
        if self.kind == FLAG:
            return given if isinstance(given, bool) else self._flag(given)
        if self.kind == NUMBER:
            return self._number(given)
        if isinstance(given, dict | list):
            raise self._refused(given, "must be text")
        text = str(given)
        if self.kind == CHOICE and text not in self.choices:
            raise self._refused(given, say("may_be_choice", choices=self.choices))
        if self.check is not None:
            try:
                self.check(text)
            except HandlerError as problem:
                raise BadOption(problem.message, field=self.name, code=problem.code) from None
        return text.strip() if self.many else text

    def _flag(self, given: Any) -> bool:
        word = str(given).lower()
        if word not in YES_OR_NO:
            raise self._refused(given, say("may_be_flag"))
        return YES_OR_NO[word]

    def _number(self, given: Any) -> int:
        try:
            number = int(given)
            whole = not isinstance(given, float) or given == number
        except (TypeError, ValueError, OverflowError):
            whole = False
        if not whole or isinstance(given, bool):
            said = say("option_not_number", option=self.name, value=_shown(given))
            raise BadOption(said, field=self.name) from None
        low, high = self.at_least, self.at_most
        if (low is not None and number < low) or (high is not None and number > high):
            unit = f" {self.unit}" if self.unit else ""
            raise self._refused(given, _bounds(low, high, unit))
        return number

    def _refused(self, given: Any, rule: str) -> BadOption:
        shown = _shown(given) if self.kind != SECRET else "not usable"
        return BadOption(say("option_refused", option=self.name, value=shown, rule=rule), field=self.name)

    def schema(self) -> dict[str, Any]:
        """Its JSON Schema."""
        types = {NUMBER: "integer", FLAG: "boolean"}
        one: dict[str, Any] = {"type": types.get(self.kind, "string")}
        if self.choices:
            one["enum"] = list(self.choices)
        one |= {} if self.at_least is None else {"minimum": self.at_least}
        one |= {} if self.at_most is None else {"maximum": self.at_most}
        found = {"type": "array", "items": one} if self.many else one
        found |= {"title": self.title, "description": self.help, "x-kind": self.kind}
        found |= {"x-group": self.group} if self.group else {}
        if self.kind == SECRET:
            return found | {"writeOnly": True}
        return found if self.default is None else found | {"default": self.default}


def declared(options: Iterable[Option]) -> dict[str, Option]:
    """Options by name, in the order they are shown; BadPipeline when a name occurs twice."""
    found: dict[str, Option] = {}
    for option in sorted(options, key=lambda one: one.order):
        if option.name in found:
            raise BadPipeline(f"The option {option.name} is declared twice.")
        found[option.name] = option
    return found


def read_options(options: Sequence[Option] | Mapping[str, Option], given: Mapping[str, Any]) -> dict[str, Any]:
    """The value of every option except secrets, given or default; BadOption names a value that is not allowed."""
    known = options if isinstance(options, Mapping) else declared(options)
    unknown = sorted(str(name) for name in given if name not in known)
    if unknown:
        names = ", ".join(unknown)[:SHOWN_LENGTH]
        raise BadOption(say("no_option", names=names, known=list(known)), field=unknown[0])
    values = {name: option.value(given.get(name)) for name, option in known.items()}
    return {name: value for name, value in values.items() if known[name].kind != SECRET}


def schema(options: Mapping[str, Option]) -> dict[str, Any]:
    """The JSON Schema of all options."""
    return {
        "type": "object",
        "properties": {name: option.schema() for name, option in options.items()},
        "additionalProperties": False,
    }


def _bounds(low: int | None, high: int | None, unit: str) -> str:
    if high is None:
        return say("may_be_from", low=low, unit=unit)
    if low is None:
        return say("may_be_up_to", high=high, unit=unit)
    return say("may_be_between", low=low, high=high, unit=unit)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_LENGTH else text[:SHOWN_LENGTH] + "…"
