"""Reads fields from a JSON Schema (2020-12), including one made by a Pydantic model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanfold.apps.extract.sentences import say_of_extract
from fanfold.apps.extract.template.check import LIMITS
from fanfold.apps.extract.template.fields import ROW

OWN = "x-fanfold"
DEEPEST = 5
UNSUPPORTED = (
    "oneOf", "not", "if", "then", "else", "patternProperties", "dependentSchemas", "propertyNames", "prefixItems",
    "contains", "unevaluatedProperties", "unevaluatedItems",
)  # fmt: skip
FORMATS = {"date": "date", "date-time": "date"}
Given = list[tuple[Any, Mapping[str, Any]]]


def is_schema(body: Mapping[Any, Any]) -> bool:
    """Whether a mapping is a JSON Schema and not a short form."""
    is_told = "$schema" in body or "$ref" in body or body.get("type") == "object"
    return is_told or isinstance(body.get("properties"), Mapping)


def fields(schema: Mapping[Any, Any], mistakes: list[str]) -> Given:
    """The leaves of the schema as fields. Nested objects become dotted names, an array of objects the fields of a row."""
    reading = _Reading(schema, mistakes)
    root = reading.resolved("", schema, ())
    if root is None or not isinstance(root.get("properties"), Mapping):
        mistakes.append(say_of_extract("schema_root"))
        return []
    return reading.properties("", root, (), {})


class _Reading:
    def __init__(self, root: Mapping[Any, Any], mistakes: list[str]) -> None:
        self.root = root
        self.mistakes = mistakes

    def properties(self, before: str, schema: Mapping[str, Any], seen: tuple[str, ...], more: dict[str, Any]) -> Given:
        """The fields of an object; ``before`` is the name of the object with a dot."""
        found: Given = []
        if before.count(".") >= DEEPEST:
            self.mistakes.append(say_of_extract("schema_deep", name=before[:-1], most=DEEPEST))
            return found
        for name, one in schema["properties"].items():
            found += self._field(f"{before}{name}", one, seen, more)
        return found

    def _field(self, name: str, given: Any, seen: tuple[str, ...], more: dict[str, Any]) -> Given:
        schema = self.resolved(name, given, seen)
        if schema is None:
            return []
        seen = (*seen, *_references(given))
        if isinstance(schema.get("properties"), Mapping):
            return self.properties(f"{name}.", schema, seen, more)
        items = self.resolved(name, schema["items"], seen) if isinstance(schema.get("items"), Mapping) else None
        if items is not None and isinstance(items.get("properties"), Mapping):
            return self.properties(f"{name}.", items, (*seen, *_references(schema["items"])), {"scope": ROW})
        return [(name, self._leaf(name, schema, items) | more)]

    def _leaf(self, name: str, schema: Mapping[str, Any], items: Mapping[str, Any] | None) -> dict[str, Any]:
        kinds = schema.get("type")
        kinds = [one for one in (kinds if isinstance(kinds, list) else [kinds]) if one not in (None, "null")]
        if len(kinds) > 1:
            self.mistakes.append(say_of_extract("schema_types", name=name, types=kinds))
        own = schema.get(OWN)
        leaf: dict[str, Any] = {key: schema[key] for key in LIMITS if key in schema}
        if kinds:
            leaf["type"] = kinds[0]
        if schema.get("description") or schema.get("title"):
            leaf["question"] = schema.get("description") or schema.get("title")
        choices = _choices(schema) or _choices(items or {})
        if choices:
            leaf["enum"] = choices
        elif items is not None:
            leaf["of"] = items.get("type", "string")
        if schema.get("format") in FORMATS:
            leaf["normalise"] = FORMATS[schema["format"]]
        return leaf | (dict(own) if isinstance(own, Mapping) else {})

    def resolved(self, name: str, given: Any, seen: tuple[str, ...]) -> dict[str, Any] | None:
        """A schema with its references and its union with null resolved; None if there is a mistake, which is recorded."""
        if not isinstance(given, Mapping):
            self.mistakes.append(say_of_extract("schema_field", name=name))
            return None
        schema = dict(given)
        for keyword in UNSUPPORTED:
            if keyword in schema:
                self.mistakes.append(say_of_extract("schema_keyword", name=name or "/", keyword=keyword))
                return None
        if "$ref" in schema:
            return self._referred(name, schema, seen)
        for keyword in ("anyOf", "allOf"):
            if keyword in schema:
                parts = [one for one in schema.pop(keyword) if one != {"type": "null"}]
                if len(parts) != 1:
                    self.mistakes.append(say_of_extract("schema_keyword", name=name or "/", keyword=keyword))
                    return None
                return self.resolved(name, {**parts[0], **schema}, seen)
        return schema

    def _referred(self, name: str, schema: dict[str, Any], seen: tuple[str, ...]) -> dict[str, Any] | None:
        reference = str(schema.pop("$ref"))
        if reference in seen:
            self.mistakes.append(say_of_extract("schema_recursive", name=name))
            return None
        target: Any = self.root
        for part in reference.removeprefix("#").strip("/").split("/") if reference.startswith("#") else ["?"]:
            target = target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
        if not isinstance(target, Mapping):
            self.mistakes.append(say_of_extract("schema_reference", name=name or "/", reference=reference[:100]))
            return None
        return self.resolved(name, {**target, **schema}, (*seen, reference))


def _references(given: Any) -> tuple[str, ...]:
    """The references inside a schema, so that a schema that contains itself is noticed."""
    if not isinstance(given, Mapping):
        return ()
    inside = [one for keyword in ("anyOf", "allOf") for one in given.get(keyword, ()) if isinstance(one, Mapping)]
    return tuple(str(one["$ref"]) for one in (given, *inside) if "$ref" in one)


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    if "const" in schema:
        return [schema["const"]]
    return [one for one in schema.get("enum", ()) if one is not None]
