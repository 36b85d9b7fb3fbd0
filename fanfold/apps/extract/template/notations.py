"""Reads the notations of a template: YAML in short and long form, JSON, a JSON Schema, or a CSV header with questions."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from typing import Any

from fanfold.apps.extract.sentences import say_of_extract
from fanfold.apps.extract.template import json_schema
from fanfold.apps.extract.template.check import TYPE_NAMES, Checking
from fanfold.apps.extract.template.fields import Template

LARGEST = 1_000_000
"""Maximum length of a template, in characters."""
DASH = re.compile(r"\s+(?:—|–|--|-)\s+")
TYPE_WORDS = (*TYPE_NAMES, "date", "doi")
BESIDE_FIELDS = ("about", "rules")
LIST_WORDS = re.compile(r"(list|array) of \w[\w ]*|\w[\w ]*\[\]", re.IGNORECASE)


class Unreadable(Exception):
    """A text that is not a template; the message is a sentence."""


def read(text: str) -> tuple[Template | None, list[str]]:
    """The template, or None; and a sentence for each mistake."""
    checking = Checking()
    try:
        if len(text) > LARGEST:
            raise Unreadable(say_of_extract("template_long", most=LARGEST))
        body = _body(text)
        about, given, rules = _parts(body, checking)
    except Unreadable as problem:
        return None, [problem.args[0]]
    fields = checking.fields(given)
    found = checking.rules(rules, [name for name, _ in given]) if rules else ()
    return (None if checking.mistakes else Template(fields, found, about)), checking.mistakes


def _body(text: str) -> Mapping[Any, Any] | list[list[str]]:
    """What the text says: a mapping, or the rows of a CSV."""
    text = text.lstrip("\N{ZERO WIDTH NO-BREAK SPACE}")
    if text.lstrip().startswith("{"):
        try:
            return _mapping(json.loads(text))
        except (ValueError, RecursionError) as error:
            raise Unreadable(say_of_extract("template_unreadable", why=str(error)[:200])) from None
    body, why = _yaml(text)
    if isinstance(body, Mapping):
        return body
    rows = _csv_rows(text)
    if rows is not None:
        return rows
    if not text.strip():
        raise Unreadable(say_of_extract("no_fields"))
    raise Unreadable(say_of_extract("template_unreadable", why=why or say_of_extract("not_a_mapping")))


def _mapping(value: Any) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise Unreadable(say_of_extract("template_unreadable", why=say_of_extract("not_a_mapping")))
    return value


def _yaml(text: str) -> tuple[Any, str]:
    """What YAML makes of the text, or why it cannot."""
    import yaml

    from fanfold.apps.extract.template.yaml_loader import PlainLoader, RepeatedKey

    try:
        return yaml.load(text, PlainLoader), ""
    except RepeatedKey as repeated:
        raise Unreadable(say_of_extract("field_twice", name=str(repeated)[:100])) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        problem = str(getattr(error, "problem", None) or error)[:200]
        return None, say_of_extract("at_line", line=mark.line + 1, why=problem) if mark is not None else problem


def _csv_rows(text: str) -> list[list[str]] | None:
    """The rows of a CSV with a header; None if the text does not look like one."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or ": " in lines[0] or lines[0].lstrip()[0] in "[{&*!|>%@":
        return None
    delimiter = max(",;\t", key=lines[0].count)
    return [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if any(cell.strip() for cell in row)]


def _parts(
    body: Mapping[Any, Any] | list[list[str]], checking: Checking
) -> tuple[str, list[tuple[Any, Mapping[str, Any]]], Any]:
    """What the documents are about, the fields and the rules."""
    if isinstance(body, list):
        return "", _csv_fields(body, checking), None
    if json_schema.is_schema(body):
        found = json_schema.fields(body, checking.mistakes)
        more = body.get(json_schema.OWN) or {}
        return str(body.get("description") or ""), found, more.get("rules") if isinstance(more, Mapping) else None
    inside = body.get("fields")
    if isinstance(inside, list):
        given = [(one.get("name"), one) for one in inside if isinstance(one, Mapping)]
    elif isinstance(inside, Mapping):
        given = [(name, _said(value)) for name, value in inside.items()]
    else:
        given = [(name, _said(value)) for name, value in body.items() if name not in BESIDE_FIELDS]
    return str(body.get("about") or ""), given, body.get("rules")


def _csv_fields(rows: list[list[str]], checking: Checking) -> list[tuple[Any, Mapping[str, Any]]]:
    """A field per column of the header; the second row has the questions, in short form if they begin with a type."""
    names = [name.strip() for name in rows[0]]
    questions = [text.strip() for text in rows[1]] if len(rows) > 1 else []
    if len(rows) > 1 and len(questions) != len(names):
        checking.mistakes.append(say_of_extract("csv_questions", columns=len(names), questions=len(questions)))
        questions = [*questions, *[""] * len(names)]
    said = questions or [""] * len(names)
    return [(name, _said(text)) for name, text in zip(names, said, strict=False)]


def _said(value: Any) -> Mapping[str, Any]:
    """A field from its short form, `integer — How many people took part?`; a mapping is the long form."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, list):
        return {"enum": value}
    text = "" if value is None else str(value).strip()
    first, *rest = DASH.split(text, maxsplit=1)
    kind, question = first.strip(), rest[0].strip() if rest else ""
    if "|" in kind:
        return {"enum": [one.strip() for one in kind.split("|") if one.strip()], "question": question}
    if kind.lower() in TYPE_WORDS or LIST_WORDS.fullmatch(kind):
        return {"type": kind, "question": question}
    # Without a dash, text that is not a type is the question. A single word before a dash is taken as a type.
    return {"type": kind, "question": question} if rest and " " not in kind else {"question": text}
