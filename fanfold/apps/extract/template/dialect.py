"""Translates a group of fields into the JSON Schema that all services accept in their strict mode.

Every property is required and may be null, and objects allow no other properties. Limits appear only in the
descriptions, because services refuse schemas with unknown keywords; Fanfold enforces the limits on the answer.
"""

from __future__ import annotations

import re
from typing import Any

from fanfold.apps.extract.template.fields import LIST, Field
from fanfold.apps.extract.template.groups import Group

STATUSES = ("found", "not_found", "not_applicable", "unclear")
PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
LIMIT_WORDS = {
    "minimum": "at least {}", "maximum": "at most {}", "exclusiveMinimum": "more than {}", "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}", "minLength": "at least {} characters", "maxLength": "at most {} characters",
    "pattern": "matching the regular expression {}", "minItems": "at least {} entries", "maxItems": "at most {} entries",
    "uniqueItems": "no entry twice",
}  # fmt: skip
FORM_WORDS = {
    "date": "a date, as exact as the document gives it: YYYY-MM-DD, YYYY-MM or YYYY",
    "doi": "a DOI, beginning with 10.",
    "unit": "the amount as the document writes it, with its unit",
    "number": "a number",
}


def property_names(group: Group) -> dict[str, str]:
    """The name of each field in the schema. Services accept only plain names, so others are numbered."""
    names: dict[str, str] = {}
    for number, field in enumerate(group.fields, 1):
        plain = PLAIN_NAME.fullmatch(field.name) is not None
        names[field.name] = field.name if plain else f"field_{number}"
    # A field may really be called field_2.
    return names if len(set(names.values())) == len(names) else {name: f"field_{n}" for n, name in enumerate(names, 1)}


def answer_schema(group: Group) -> dict[str, Any]:
    """The schema of the answer about a group."""
    names = property_names(group)
    fields = _object({names[field.name]: _envelope(field) for field in group.fields})
    return _object({"rows": {"type": "array", "items": fields}}) if group.is_rows else fields


def question_of(field: Field) -> str:
    """The question about a field, with all constraints on the answer."""
    parts = [field.question or field.name.replace("_", " ")]
    if field.type == LIST and not field.enum:
        parts.append("a list")
    if field.normalise:
        parts.append(FORM_WORDS[field.normalise])
    if field.enum:
        parts.append(f"{'some' if field.type == LIST else 'one'} of: {', '.join(map(str, field.enum))}")
        parts += [f"{alias} means {choice}" for alias, choice in field.aliases.items()]
    parts += [LIMIT_WORDS[name].format(value) for name, value in field.limits.items() if value is not False]
    return "; ".join(parts)


def _envelope(field: Field) -> dict[str, Any]:
    """The value of a field, whether it was found, and where."""
    properties: dict[str, Any] = {
        "value": _value(field),
        "status": {"type": "string", "enum": list(STATUSES)},
    }
    if field.evidence != "none":
        properties |= {"quote": {"type": ["string", "null"]}, "line": {"type": ["integer", "null"]}}
    return _object(properties) | {"description": question_of(field)}


def _value(field: Field) -> dict[str, Any]:
    if field.normalise == "unit":
        return {"type": ["string", "null"]}
    if field.type == LIST:
        return {"type": ["array", "null"], "items": _enum(field) if field.enum else {"type": field.of}}
    if field.enum:
        one = _enum(field)
        return {"type": [one["type"], "null"], "enum": [*one["enum"], None]}
    return {"type": [field.type, "null"]}


def _enum(field: Field) -> dict[str, Any]:
    numbers = all(isinstance(one, int | float) and not isinstance(one, bool) for one in field.enum)
    if all(isinstance(one, bool) for one in field.enum):
        return {"type": "boolean", "enum": list(field.enum)}
    if numbers:
        return {"type": "number", "enum": list(field.enum)}
    return {"type": "string", "enum": [str(one) for one in field.enum]}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
