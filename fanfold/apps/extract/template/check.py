"""Makes fields from a parsed template, and collects one sentence for each mistake."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any

from fanfold.apps.extract.sentences import say_of_extract
from fanfold.apps.extract.template import fields as known
from fanfold.apps.extract.template.fields import Field
from fanfold.apps.extract.template.rules import BadRule, Rule

LONGEST_NAME = 100
MOST_ROW_FIELDS = 15
MOST_FIELDS = 400
LISTED = 30
TYPE_NAMES = {
    "string": "string", "text": "string", "str": "string", "integer": "integer", "int": "integer", "whole number": "integer",
    "number": "number", "float": "number", "decimal": "number", "boolean": "boolean", "bool": "boolean",
    "list": "list", "array": "list",
}  # fmt: skip
SHAPES = {"date": ("string", "date"), "doi": ("string", "doi")}
"""Types that are text in a normal form."""
LIST_OF = re.compile(r"(?:list of |array of )(\w[\w ]*?)s?|(\w[\w ]*)\[\]", re.IGNORECASE)
LIMITS = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
    "minItems", "maxItems", "uniqueItems",
)  # fmt: skip
OWN = ("type", "of", "question", "enum", "aliases", "limits", "evidence", "scope", "reduce", "normalise", "unit")
SYNONYMS = {"description": "question", "choices": "enum", "normalize": "normalise", "items": "of"}
CHOICES: dict[str, tuple[str, ...]] = {
    "evidence": known.EVIDENCE,
    "scope": known.SCOPES,
    "reduce": known.REDUCE,
    "normalise": known.NORMALISE,
}
NEEDS = {known.UNION: (known.LIST,), known.SUM: known.NUMERIC}
NORMALISED = {"date": ("string",), "doi": ("string",), "number": known.NUMERIC, "unit": known.NUMERIC}


class Checking:
    """Makes the fields and rules of one template; ``mistakes`` has a sentence for each one that is invalid."""

    def __init__(self) -> None:
        self.mistakes: list[str] = []

    def fields(self, given: list[tuple[Any, Mapping[str, Any]]]) -> tuple[Field, ...]:
        """The fields that can be used, in order."""
        found: dict[str, Field] = {}
        for name, raw in given[: MOST_FIELDS + 1]:
            if not _is_name(name):
                self.mistakes.append(say_of_extract("bad_name", name=str(name)[:LONGEST_NAME]))
            elif name in found:
                self.mistakes.append(say_of_extract("field_twice", name=name))
            elif (field := self._field(name, raw)) is not None:
                found[name] = field
        self._check_counts(tuple(found.values()), len(given))
        return tuple(found.values())

    def rules(self, given: Any, names: list[Any]) -> tuple[Rule, ...]:
        """The rules that can be used."""
        found = []
        for text in given if isinstance(given, list | tuple) else [given]:
            try:
                rule = Rule.of(str(text))
            except BadRule:
                self.mistakes.append(say_of_extract("bad_rule", rule=str(text)[:200]))
                continue
            unknown = [name for name in rule.names if name not in names]
            if unknown:
                self.mistakes.append(
                    say_of_extract("rule_names", rule=rule.text, name=unknown[0], known=names[:LISTED])
                )
            else:
                found.append(rule)
        return tuple(found)

    def _check_counts(self, fields: tuple[Field, ...], given: int) -> None:
        rows = sum(field.scope == known.ROW for field in fields)
        if rows > MOST_ROW_FIELDS:
            self.mistakes.append(say_of_extract("many_row_fields", most=MOST_ROW_FIELDS, count=rows))
        if given > MOST_FIELDS:
            self.mistakes.append(say_of_extract("many_fields", most=MOST_FIELDS))
        if not given:
            self.mistakes.append(say_of_extract("no_fields"))

    def _field(self, name: str, raw: Mapping[str, Any]) -> Field | None:
        """The field, or None with its mistakes noted."""
        before = len(self.mistakes)
        values = self._values(name, raw)
        kind, of, shape = self._type(name, values)
        values["normalise"] = values.get("normalise") or shape
        self._check_choices(name, values, kind)
        enum, aliases = self._enum(name, values)
        limits = {key: value for key, value in values.items() if key in LIMITS}
        if len(self.mistakes) > before:
            return None
        field = Field(
            name,
            " ".join(str(values.get("question") or "").split()),
            kind,
            of,
            enum,
            aliases,
            limits,
            values.get("evidence") or "required",
            values.get("scope") or known.DOCUMENT,
            values.get("reduce") or (known.UNION if kind == known.LIST else known.BEST),
            values["normalise"],
            str(values.get("unit") or ""),
        )
        return field if self._has_usable_limits(field) else None

    def _values(self, name: str, raw: Mapping[str, Any]) -> dict[str, Any]:
        """The settings by their own names; a setting that does not exist is a mistake."""
        values: dict[str, Any] = {}
        for given, value in raw.items():
            key = SYNONYMS.get(str(given), str(given))
            if key == "limits" and isinstance(value, Mapping):
                values |= value
            elif key in OWN or key in LIMITS:
                values[key] = value
            elif key != "name":
                near = difflib.get_close_matches(key, (*OWN, *LIMITS, *SYNONYMS), 1)
                code = "unknown_setting_near" if near else "unknown_setting"
                self.mistakes.append(
                    say_of_extract(code, name=name, setting=key[:60], **({"near": near[0]} if near else {}))
                )
        return values

    def _type(self, name: str, values: Mapping[str, Any]) -> tuple[str, str, str]:
        """The type of the value, the type of its members, and the normal form that the type implies."""
        given = values.get("type")
        if given is None:
            given = known.STRING if "enum" not in values else _type_of(values["enum"])
        text = " ".join(str(given).split()).lower()
        if (many := LIST_OF.fullmatch(text)) is not None:
            of = TYPE_NAMES.get((many.group(1) or many.group(2)).strip())
            return self._known(name, None if of is None else known.LIST, text), of or known.STRING, ""
        if text in SHAPES:
            return SHAPES[text][0], known.STRING, SHAPES[text][1]
        members = values.get("of") or known.STRING
        of = TYPE_NAMES.get(str(members.get("type") if isinstance(members, Mapping) else members).lower())
        found = self._known(name, TYPE_NAMES.get(text), text)
        if found == known.LIST and of in (None, known.LIST):
            self._known(name, None, str(members)[:60])
        return found, of or known.STRING, ""

    def _known(self, name: str, kind: str | None, given: str) -> str:
        if kind is None:
            self.mistakes.append(say_of_extract("bad_type", name=name, type=given[:60]))
        return kind or known.STRING

    def _check_choices(self, name: str, values: Mapping[str, Any], kind: str) -> None:
        for key, choices in CHOICES.items():
            if values.get(key) and values[key] not in choices:
                said = str(values[key])[:60]
                self.mistakes.append(
                    say_of_extract("bad_choice", name=name, setting=key, value=said, choices=list(choices))
                )
        reduce, normal = values.get("reduce"), values.get("normalise")
        if reduce in NEEDS and kind not in NEEDS[str(reduce)]:
            self.mistakes.append(say_of_extract("bad_reduce", name=name, reduce=reduce, types=list(NEEDS[str(reduce)])))
        if normal in NORMALISED and kind not in NORMALISED[str(normal)]:
            self.mistakes.append(
                say_of_extract("bad_normalise", name=name, form=normal, types=list(NORMALISED[str(normal)]))
            )
        if normal == "unit" and not values.get("unit"):
            self.mistakes.append(say_of_extract("no_unit", name=name))

    def _enum(self, name: str, values: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The choices of a field and their aliases, from a list or a mapping of choices to aliases."""
        given = values.get("enum")
        if given is None:
            return (), {}
        aliases = dict(values.get("aliases") or {})
        if isinstance(given, Mapping):
            for choice, others in given.items():
                aliases |= dict.fromkeys(
                    map(str, others if isinstance(others, list) else [others] * bool(others)), choice
                )
            given = list(given)
        usable = isinstance(given, list) and given and all(isinstance(one, str | int | float) for one in given)
        if not usable or len(set(map(str, given))) < len(given):
            self.mistakes.append(say_of_extract("bad_enum", name=name))
            return (), {}
        for alias, choice in aliases.items():
            if choice not in given:
                self.mistakes.append(
                    say_of_extract("bad_alias", name=name, alias=str(alias)[:60], value=str(choice)[:60])
                )
        return tuple(given), {fold(str(alias)): choice for alias, choice in aliases.items()}

    def _has_usable_limits(self, field: Field) -> bool:
        import jsonschema_rs

        try:
            jsonschema_rs.validator_for(field.schema)
        except ValueError as error:
            why = str(error).splitlines()[0][:200]
            self.mistakes.append(say_of_extract("bad_limits", name=field.name, why=why))
            return False
        return True


def fold(text: str) -> str:
    """Text for comparing a choice with an answer: without case, and with single spaces."""
    return " ".join(text.split()).casefold()


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and 0 < len(name.strip()) == len(name) <= LONGEST_NAME and name.isprintable()


def _type_of(choices: Any) -> str:
    """The type of the members of an enum."""
    given = list(choices) if isinstance(choices, list | Mapping) else []
    if given and all(isinstance(one, bool) for one in given):
        return known.BOOLEAN
    if given and all(isinstance(one, int) and not isinstance(one, bool) for one in given):
        return known.INTEGER
    return known.STRING
