"""The fields of a template, and the JSON in which a task stores its template."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fanfold.apps.extract.template.rules import Rule

STRING, INTEGER, NUMBER, BOOLEAN, LIST = "string", "integer", "number", "boolean", "list"
TYPES = (STRING, INTEGER, NUMBER, BOOLEAN, LIST)
EVIDENCE = ("required", "wanted", "none")
DOCUMENT, ROW = "document", "row"
SCOPES = (DOCUMENT, ROW)
FIRST, BEST, UNION, SUM, ASK = "first", "best", "union", "sum", "ask"
REDUCE = (FIRST, BEST, UNION, SUM, ASK)
NORMALISE = ("date", "number", "unit", "doi")
NUMERIC = (INTEGER, NUMBER)


@dataclass(frozen=True)
class Field:
    """One field: what is asked, and what an answer must be."""

    name: str
    question: str = ""
    type: str = STRING
    of: str = STRING
    """The type of the members of a list."""
    enum: tuple[Any, ...] = ()
    aliases: dict[str, Any] = field(default_factory=dict)
    """Other words for a value of ``enum``, folded, and the value that each stands for."""
    limits: dict[str, Any] = field(default_factory=dict)
    """Keywords of JSON Schema that the value must satisfy; they are enforced here, not by the services."""
    evidence: str = "required"
    scope: str = DOCUMENT
    reduce: str = BEST
    normalise: str = ""
    unit: str = ""

    @property
    def is_numeric(self) -> bool:
        """Whether the quote must contain the digits of the value."""
        return self.type in NUMERIC

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a value, with everything that is enforced."""
        if self.enum:
            one: dict[str, Any] = {"enum": list(self.enum)}
            return {"type": "array", "items": one, **self.limits} if self.type == LIST else one | self.limits
        if self.type == LIST:
            return {"type": "array", "items": {"type": self.of}, **self.limits}
        return {"type": self.type, **self.limits}

    def as_json(self) -> dict[str, Any]:
        """The field as stored JSON, without default values."""
        usual = Field(self.name, reduce=UNION if self.type == LIST else BEST)
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        kept = {name: value for name, value in values.items() if name == "name" or value != getattr(usual, name)}
        return kept | ({"enum": list(self.enum)} if self.enum else {})

    @cached_property
    def fingerprint(self) -> str:
        """A fingerprint that changes only if the question changes: a cell with the same fingerprint need not be asked again."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Template:
    """The fields to extract, the rules between them, and what the documents are about."""

    fields: tuple[Field, ...]
    rules: tuple[Rule, ...] = ()
    about: str = ""

    @cached_property
    def names(self) -> list[str]:
        """The columns of the table."""
        return [one.name for one in self.fields]

    def field(self, name: str) -> Field:
        """The field with this name; KeyError if there is none."""
        return next(one for one in self.fields if one.name == name)

    @property
    def of_document(self) -> tuple[Field, ...]:
        """The fields with one value per document."""
        return tuple(one for one in self.fields if one.scope == DOCUMENT)

    @property
    def of_rows(self) -> tuple[Field, ...]:
        """The fields with one value per row inside a document."""
        return tuple(one for one in self.fields if one.scope == ROW)

    def fingerprints(self) -> dict[str, str]:
        """The fingerprint of each field. The fields of a row are asked together, so they share one."""
        rows = hashlib.sha256("".join(one.fingerprint for one in self.of_rows).encode()).hexdigest()[:16]
        return {one.name: rows if one.scope == ROW else one.fingerprint for one in self.fields}

    def as_json(self) -> dict[str, Any]:
        """The template as stored JSON; ``read_template`` reads it back."""
        made: dict[str, Any] = {"fields": [one.as_json() for one in self.fields]}
        if self.rules:
            made["rules"] = [rule.text for rule in self.rules]
        return ({"about": self.about} if self.about else {}) | made

    def text(self) -> str:
        """The template as the text of an option."""
        return json.dumps(self.as_json(), ensure_ascii=False)
