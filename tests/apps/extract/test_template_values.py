"""What is made of the values of a field: normal forms, choices, rules, and the schema that services get."""

from typing import Any

import jsonschema_rs
import pytest

from fanfold.apps.extract.template.dialect import answer_schema, property_names, question_of
from fanfold.apps.extract.template.fields import Field
from fanfold.apps.extract.template.groups import Group, groups
from fanfold.apps.extract.template.normalise import NotNormal, normal
from fanfold.apps.extract.template.reading import read_template
from fanfold.apps.extract.template.rules import BadRule, Rule

NORMAL: list[tuple[Field, Any, Any]] = [
    (Field("n", type="integer"), "1,234", 1234),
    (Field("n", type="integer"), "1 234", 1234),
    (Field("n", type="integer"), "n = 120", 120),
    (Field("n", type="integer"), 12.0, 12),
    (Field("n", type="number"), "12.5 %", 12.5),
    (Field("n", type="number"), "−3.5", -3.5),
    (Field("n", type="number"), 7, 7),
    (Field("b", type="boolean"), "Yes", True),
    (Field("s"), "two  words", "two words"),
    (Field("s"), 12, "12"),
    (Field("d", normalise="date"), "12 March 2020", "2020-03-12"),
    (Field("d", normalise="date"), "March 12th, 2020", "2020-03-12"),
    (Field("d", normalise="date"), "2020年3月", "2020-03"),
    (Field("d", normalise="date"), "2020", "2020"),
    (Field("d", normalise="date"), "31/12/2020", "2020-12-31"),
    (Field("d", normalise="date"), "2020-03-12T10:00", "2020-03-12"),
    (Field("d", normalise="doi"), "https://doi.org/10.1000/ABC.12.", "10.1000/abc.12"),
    (Field("u", type="number", normalise="unit", unit="mg"), "0.25 g", 250.0),
    (Field("u", type="number", normalise="unit", unit="mg"), "250 µg", 0.25),
    (Field("u", type="number", normalise="unit", unit="mg"), 5, 5),
    (Field("u", type="number", normalise="unit", unit="weeks"), "14 days", 2.0),
    (Field("e", enum=("RCT", "cohort"), aliases={"randomised trial": "RCT"}), "Randomised  Trial", "RCT"),
    (Field("e", enum=("RCT", "cohort")), "rct", "RCT"),
    (Field("l", type="list", enum=("a", "b")), ["A", "b"], ["a", "b"]),
    (Field("l", type="list", of="integer"), ["1,000", 2], [1000, 2]),
]


@pytest.mark.parametrize(("field", "given", "expected"), NORMAL)
def test_a_value_is_brought_into_its_normal_form(field: Field, given: Any, expected: Any) -> None:
    made = normal(field, given)
    assert (made, type(made)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("field", "given"),
    [
        (Field("n", type="integer"), "between 10 and 20"),
        (Field("n", type="integer"), "many"),
        (Field("d", normalise="date"), "3/4/2020"),
        (Field("d", normalise="date"), "2020-13-01"),
        (Field("d", normalise="doi"), "ISBN 12"),
        (Field("u", type="number", normalise="unit", unit="mg"), "3 ml"),
    ],
)
def test_a_value_without_a_normal_form_is_not_guessed(field: Field, given: Any) -> None:
    with pytest.raises(NotNormal):
        normal(field, given)


def test_a_rule_compares_values_and_says_nothing_about_missing_ones() -> None:
    rule = Rule.of("n_total >= n_treated + n_control and design in ('RCT', 'cohort')")
    values = {"n_total": 10, "n_treated": 5, "n_control": 5, "design": "RCT"}
    assert rule.holds(values) is True
    assert rule.holds(values | {"n_total": 9}) is False
    assert rule.holds(values | {"n_total": None}) is None
    assert rule.holds(values | {"n_total": "ten"}) is None
    assert Rule.of("not (dose.low > dose.high)").holds({"dose.low": 1, "dose.high": 2}) is True


@pytest.mark.parametrize(
    "text",
    [
        "f(1) > 0",
        "a[0] > 1",
        "a ** 9 > 1",
        "[x for x in a] > 1",
        "(lambda: 1)() > 0",
        "a if b else c",
        "a",
        "1 +",
        "a > b\nc",
    ],
)
def test_a_rule_cannot_do_anything_but_compare(text: str) -> None:
    with pytest.raises(BadRule):
        Rule.of(text)


def test_a_text_cannot_be_multiplied_in_a_rule() -> None:
    assert Rule.of("a * 1000000000 > b").holds({"a": "x", "b": "y"}) is None


def fits_the_strict_dialect(schema: Any) -> None:
    """What strict modes demand of every object in a schema."""
    allowed = {"type", "properties", "required", "additionalProperties", "items", "enum", "description"}
    assert set(schema) <= allowed
    if schema.get("type") == "object":
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])
    for inner in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        fits_the_strict_dialect(inner)


def test_the_schema_for_services_keeps_to_the_strict_dialect_and_every_value_may_be_null() -> None:
    template = read_template("""
n: {type: integer, question: How many, minimum: 1, maximum: 9000}
样本量: integer — 多少人？
design: {enum: {RCT: [randomised trial]}, evidence: none}
tags: string[]
dose: {type: number, normalise: unit, unit: mg}
arm: {scope: row}
people: {type: integer, scope: row}
""")
    document, rows = groups(template.fields)
    for group in (document, rows):
        schema = answer_schema(group)
        fits_the_strict_dialect(schema)
        jsonschema_rs.validator_for(schema)
    schema = answer_schema(document)
    absent = {"value": None, "status": "not_found", "quote": None, "line": None}
    answer = {name: dict(absent) for name in property_names(document).values()}
    answer["design"] = {"value": None, "status": "not_found"}
    jsonschema_rs.validate(schema, answer)
    assert property_names(document)["样本量"] == "field_2"
    assert "at least 1; at most 9000" in schema["properties"]["n"]["description"]
    assert "randomised trial means RCT" in question_of(template.field("design"))
    assert list(answer_schema(rows)["properties"]) == ["rows"]


def test_many_fields_are_asked_in_groups_of_at_most_fifteen() -> None:
    fields = [Field(f"f{number}") for number in range(40)]
    made = list(groups([*fields, Field("r", scope="row")]))
    assert [len(group.fields) for group in made] == [13, 13, 14, 1]
    assert [field for group in made[:3] for field in group.fields] == fields
    halves = made[0].halves()
    assert [len(half.fields) for half in halves or ()] == [7, 6]
    assert Group((Field("a"),)).halves() is None
    assert made[3].halves() is None
