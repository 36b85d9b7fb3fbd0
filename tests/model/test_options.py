"""Declared options are parsed as meant, and refused with their name, the fact and the way out."""

from typing import Any

import pytest

import fanfold as ff
from fanfold.model.pipelines.options import declared, schema


def even(text: str) -> None:
    if int(text) % 2:
        raise ff.Permanent(f"{text} is odd. Give an even number.", code="odd")


def reveal(path: object, secret: str, target: object, *, name: str) -> None:
    """Never called here."""


KNOWN = (
    ff.Option("pages", "range", "Which.", "", check=even, order=2),
    ff.Option("title", "text", "What.", "", order=1),
    ff.Option("size", "number", "How large.", 10, at_least=1, at_most=99, unit="pixels"),
    ff.Option("most", "number", "How many.", 5, at_least=1),
    ff.Option("mode", "choice", "How.", "auto", choices=("auto", "never")),
    ff.Option("marks", "flag", "Whether.", True),
    ff.Option("chain", "model", "Whom.", (), many=True),
    ff.Option("password", "secret", "Opens it.", apply=reveal),
)
DEFAULTS = {"pages": "", "title": "", "size": 10, "most": 5, "mode": "auto", "marks": True, "chain": ()}


def test_what_is_not_given_has_its_default_and_a_secret_has_no_value() -> None:
    assert ff.read_options(KNOWN, {}) == DEFAULTS
    assert ff.read_options(KNOWN, dict.fromkeys(DEFAULTS) | {"password": "x"}) == DEFAULTS


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("size", "42", 42), ("size", 42.0, 42), ("title", 7, "7"), ("marks", "no", False), ("marks", 0, False),
        ("marks", "On", True), ("chain", "a, b", ("a", "b")), ("chain", ["a", "b"], ("a", "b")), ("chain", "", ()),
        ("mode", "never", "never"), ("pages", "8", "8"), ("most", 10**12, 10**12),
    ],
)  # fmt: skip
def test_a_value_is_what_it_was_meant_to_be(name: str, given: Any, value: Any) -> None:
    assert ff.read_options(KNOWN, {name: given})[name] == value


@pytest.mark.parametrize(
    ("name", "given", "said", "code"),
    [
        ("size", "x", "The option size is 'x', which is not a whole number.", "bad_option"),
        ("size", 2.5, "not a whole number", "bad_option"), ("size", True, "not a whole number", "bad_option"),
        ("size", float("inf"), "not a whole number", "bad_option"), ("size", [], "not a whole number", "bad_option"),
        ("size", 100, "it must be from 1 to 99 pixels", "bad_option"), ("most", 0, "it must be 1 or more", "bad_option"),
        ("mode", "often", "The option mode is 'often'; it must be one of auto, never.", "bad_option"),
        ("marks", "perhaps", "it must be true or false", "bad_option"), ("title", {"a": 1}, "it must be text", "bad_option"),
        ("chain", 5, "it must be a list", "bad_option"), ("chain", [["a"]], "it must be text", "bad_option"),
        ("pages", "7", "7 is odd. Give an even number.", "odd"),
        ("nothing", 1, "Unknown option nothing. Known options: size, most, mode,", "bad_option"),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_used_is_refused_with_its_name(name: str, given: Any, said: str, code: str) -> None:
    with pytest.raises(ff.BadOption) as caught:
        ff.read_options(KNOWN, {name: given})
    assert said in str(caught.value)
    assert (caught.value.field, caught.value.code) == (name, code)


def test_a_long_value_is_not_quoted_in_full_and_a_secret_never() -> None:
    with pytest.raises(ff.BadOption) as caught:
        ff.read_options(KNOWN, {"mode": "x" * 10_000})
    assert len(str(caught.value)) < 400
    with pytest.raises(ff.BadOption) as caught:
        ff.read_options(KNOWN, {"password": {"open": "sesame"}})
    assert "sesame" not in str(caught.value)


def test_options_are_shown_in_their_order() -> None:
    assert list(declared(KNOWN))[-2:] == ["title", "pages"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "date"}, {"kind": "choice"}, {"kind": "text", "choices": ("a",)}, {"kind": "secret"},
        {"kind": "text", "apply": reveal}, {"kind": "secret", "apply": lambda *_: None},
    ],
)  # fmt: skip
def test_a_declaration_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ff.BadPipeline, match="option x"):
        ff.Option("x", **wrong)


def test_a_choice_without_choices_is_told_so() -> None:
    with pytest.raises(ff.BadPipeline, match="option x is of kind choice and has no `choices`"):
        ff.Option("x", "choice")


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ({"kind": "number", "default": "abc"}, "option x is of kind number: its default 'abc' must be int"),
        ({"kind": "number", "default": True}, "its default True must be int"),
        ({"kind": "number", "default": 99, "at_most": 5}, "option x is 99; it must be at most 5"),
        ({"kind": "number", "default": 0, "at_least": 1, "at_most": 5}, "option x is 0; it must be from 1 to 5"),
        ({"kind": "choice", "default": "z", "choices": ("a",)}, "option x is 'z'; it must be one of a"),
        ({"kind": "flag", "default": "yes"}, "its default 'yes' must be bool"),
        ({"kind": "text", "default": 5}, "its default 5 must be str"),
        ({"kind": "model", "default": "a,b", "many": True}, "its default must be a tuple"),
        ({"kind": "number", "default": (1, 9), "many": True, "at_most": 5}, "option x is 9; it must be at most 5"),
    ],
)
def test_a_default_that_nobody_could_give_is_refused_when_it_is_declared(rules: dict[str, Any], told: str) -> None:
    with pytest.raises(ff.BadPipeline) as caught:
        ff.Option("x", **rules)
    assert told in str(caught.value)


def test_a_name_is_declared_once() -> None:
    with pytest.raises(ff.BadPipeline, match="declared twice"):
        ff.Pipeline("p", options=[ff.Option("x"), ff.Option("x")])


def test_a_pipeline_knows_its_options_whether_declared_or_only_described() -> None:
    assert ff.Pipeline("p", options={"a": "Anything."}).declared == {}
    assert ff.Pipeline("p", options={"a": "Anything."}).options == {"a": "Anything."}
    assert ff.Pipeline("p", options=KNOWN).options["size"] == "How large."


def test_the_schema_says_what_an_option_may_be_and_hides_secrets() -> None:
    found = schema(declared(KNOWN))["properties"]
    assert found["size"] == {
        "type": "integer", "minimum": 1, "maximum": 99, "title": "Size", "description": "How large.", "x-kind": "number",
        "default": 10,
    }  # fmt: skip
    assert found["chain"]["items"] == {"type": "string"}
    assert found["mode"]["enum"] == ["auto", "never"]
    assert found["password"]["writeOnly"] is True
