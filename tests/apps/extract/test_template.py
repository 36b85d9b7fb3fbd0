"""What a template may be written as, and what is said about each mistake in it."""

import json

import pytest
from pydantic import BaseModel, Field

from fanfold.apps.extract.template.notations import read
from fanfold.apps.extract.template.reading import BadTemplate, mistakes_of, read_template, template_of_model

SHORT = """
about: Trials of statins
title: What is the title?
sample_size: integer — How many people took part?
started: date -- When did it start?
design: RCT | cohort | other - Which design?
outcomes: string[] – Which outcomes were measured?
rules:
  - sample_size >= 2
"""


class Arm(BaseModel):
    """A model inside another."""

    name: str
    people: int | None = Field(None, description="How many people?", ge=1)


class Trial(BaseModel):
    """A model with everything that a template takes from it."""

    sample_size: int = Field(
        description="How many people took part?", ge=1, json_schema_extra={"x-fanfold": {"evidence": "wanted"}}
    )
    funder: str | None = None
    arms: list[Arm] = []
    main_arm: Arm | None = None


def test_a_short_form_is_a_line_per_field() -> None:
    template = read_template(SHORT)
    assert template.names == ["title", "sample_size", "started", "design", "outcomes"]
    assert [field.type for field in template.fields] == ["string", "integer", "string", "string", "list"]
    assert template.field("sample_size").question == "How many people took part?"
    assert template.field("title").question == "What is the title?"
    assert template.field("started").normalise == "date"
    assert template.field("design").enum == ("RCT", "cohort", "other")
    assert (template.field("outcomes").reduce, template.field("title").reduce) == ("union", "best")
    assert (template.about, template.rules[0].names) == ("Trials of statins", ("sample_size",))


def test_a_long_form_has_settings() -> None:
    template = read_template("""
fields:
  dose: {type: number, question: Which dose is given, normalise: unit, unit: mg, minimum: 0, evidence: wanted, reduce: sum}
  design:
    question: Which design?
    enum: {RCT: [randomised controlled trial, randomized trial], cohort: []}
  arm: {scope: row}
""")
    dose, design, arm = template.fields
    assert (dose.unit, dose.limits, dose.evidence, dose.reduce) == ("mg", {"minimum": 0}, "wanted", "sum")
    assert design.aliases == {"randomised controlled trial": "RCT", "randomized trial": "RCT"}
    assert arm.scope == "row"


def test_a_json_schema_is_flattened_and_null_is_always_allowed() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "n": {
                "type": ["integer", "null"],
                "description": "How many?",
                "minimum": 1,
                "x-fanfold": {"reduce": "sum"},
            },
            "dose": {
                "type": "object",
                "properties": {"amount": {"type": "number"}, "unit": {"enum": ["mg", "g", None]}},
            },
            "started": {"type": "string", "format": "date"},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        },
    }
    template = read_template(json.dumps(schema))
    assert template.names == ["n", "dose.amount", "dose.unit", "started", "tags"]
    assert template.field("n").schema == {"type": "integer", "minimum": 1}
    assert template.field("dose.unit").enum == ("mg", "g")
    assert template.field("tags").schema == {"type": "array", "items": {"type": "string"}, "maxItems": 3}


def test_a_pydantic_model_is_a_template() -> None:
    template = template_of_model("tests.apps.extract.test_template:Trial")
    assert template.names == ["sample_size", "funder", "arms.name", "arms.people", "main_arm.name", "main_arm.people"]
    assert [field.scope for field in template.fields] == ["document", "document", "row", "row", "document", "document"]
    assert template.field("sample_size").evidence == "wanted"
    assert template.field("arms.people").limits == {"minimum": 1}


def test_a_csv_header_with_a_second_row_of_questions_is_a_template() -> None:
    template = read_template('title,Sample size\nWhat is the title?,"integer - How many, in all?"\n')
    assert template.names == ["title", "Sample size"]
    assert (template.fields[1].type, template.fields[1].question) == ("integer", "How many, in all?")
    assert read_template("标题;人数\n题目是什么？;integer — 多少人？\n").names == ["标题", "人数"]


def test_what_is_kept_with_a_task_reads_back_as_the_same_template() -> None:
    for text in (SHORT, json.dumps(Trial.model_json_schema())):
        template = read_template(text)
        assert read_template(template.text()) == template
        assert read_template(template.text()).fingerprints() == template.fingerprints()


def test_a_changed_question_changes_one_fingerprint_and_row_fields_change_together() -> None:
    before = read_template("a: x?\nb: {scope: row}\nc: {scope: row}").fingerprints()
    after = read_template("a: y?\nb: {scope: row}\nc: {scope: row}").fingerprints()
    assert (before["a"] != after["a"], before["b"] == after["b"]) == (True, True)
    rows = read_template("a: x?\nb: {scope: row}\nc: {scope: row, question: why}").fingerprints()
    assert (before["a"] == rows["a"], before["b"] != rows["b"], before["c"] != rows["c"]) == (True, True, True)


MISTAKES = {
    "": "has no fields",
    "[1, 2": "cannot be read",
    "{": "cannot be read",
    "just some prose: and: more": "cannot be read",
    "n: integer\nn: number": "The field n occurs twice",
    "yes: integer": "'True' cannot be the name",
    "n: inteqer - How many?": "type 'inteqer'",
    "n: {type: integer, minimun: 1}": "Did you mean minimum?",
    "n: {colour: red}": "'colour', which does not exist. Remove it",
    "n: {evidence: maybe}": "Choose required, wanted or none",
    "n: {reduce: sum}": "reduce: sum, which needs the type integer or number",
    "n: {type: integer, reduce: union}": "needs the type list",
    "n: {type: integer, normalise: date}": "needs the type string",
    "n: {type: number, normalise: unit}": "names no unit",
    "n: {enum: []}": "The choices of the field n",
    "n: {enum: [a, a]}": "The choices of the field n",
    "n: {enum: [a], aliases: {b: c}}": "The alias 'b'",
    "n: {pattern: '('}": "The limits of the field n",
    "n: {type: integer, minimum: many}": "The limits of the field n",
    "n: integer\nrules: [n >= __import__('os').system('id')]": "cannot be read",
    "n: integer\nrules: ['n.real.x > 1']": "names n.real.x, which is not a field",
    "n: integer\nrules: [m > 1]": "names m, which is not a field. The fields are n",
    "n: integer\nrules: [n + 1]": "cannot be read",
    "a,b\nonly one\n": "2 columns and 1 question",
    '{"type": "object"}': "must describe an object with `properties`",
    '{"properties": {"a": {"oneOf": []}}}': "uses oneOf",
    '{"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}}': "uses anyOf",
    '{"properties": {"a": {"type": ["string", "integer"]}}}': "several types: string, integer",
    '{"properties": {"a": {"$ref": "#/$defs/A"}}}': "refers to #/$defs/A, which is not in it",
    '{"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"properties": {"b": {"$ref": "#/$defs/A"}}}}}': (
        "contains itself"
    ),
    '{"properties": {"a": 1}}': "The field a of the JSON Schema is not an object",
    "a: &x {type: integer}\nb: *x": "aliases are not supported",
    "\n".join(f"f{n}: {{scope: row}}" for n in range(16)): "16 fields have scope: row",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_each_mistake_has_a_sentence_with_the_way_out(text: str) -> None:
    with pytest.raises(BadTemplate) as caught:
        read_template(text)
    assert MISTAKES[text] in str(caught.value)


def test_all_mistakes_are_told_at_once() -> None:
    found = mistakes_of("n: {evidence: maybe, type: what}\nm: {minimun: 1}\nrules: [n >]")
    assert len(found) == 4


def test_a_template_with_mistakes_is_never_used() -> None:
    assert read("n: integer\nm: {evidence: maybe}")[0] is None
