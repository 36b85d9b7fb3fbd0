"""Every value that can be stored is stored, and the others are refused with a reason."""

from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanfold as ff
from fanfold.engine.tasks.submitting.inputs import fingerprint
from fanfold.errors import BadInput
from fanfold.model.values import serial
from fanfold.model.values.files import File

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc$", max_size=4), inner),
    max_leaves=20,
)


@given(values)
def test_what_goes_in_comes_out(value: Any) -> None:
    assert serial.load(serial.dump(value, "It")) == value


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def circle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), "NaN or infinity"),
        ({"a": [float("inf")]}, "NaN or infinity"),
        ("a\0b", "NUL character"),
        ({"a\0": 1}, "NUL character"),
        ([("x", "\0")], "NUL character"),
        ("\ud800", "half a surrogate pair"),
        ({"k": ["\udfff"]}, "half a surrogate pair"),
        (object(), "type object is not JSON"),
        (bytearray(b"bytes"), "type bytearray is not JSON"),
        (ff.NewItem(), "NewItem is not JSON"),
        (lambda: None, "type function is not JSON"),
        ({(1, 2): 3}, "keys must be"),
        (circle(), "refers to itself"),
        (nested(200_000), "nested too deeply"),
        (10**5000, "cannot be stored as JSON"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isprintable() else type(value).__name__,
)
def test_what_cannot_be_kept_is_refused_with_the_reason(value: Any, reason: str) -> None:
    with pytest.raises(BadInput, match=reason) as caught:
        serial.dump(value, "What convert returned")
    assert caught.value.message.startswith("What convert returned ")


def test_text_about_nul_is_not_nul() -> None:
    assert serial.load(serial.dump("the escape \\u0000 in words", "It")) == "the escape \\u0000 in words"


def test_a_value_above_the_limit_is_refused_with_its_size_and_the_way_out() -> None:
    with pytest.raises(BadInput, match=r"is 3 MB; the limit is 1 MB\. Return write\(name, data\)"):
        serial.dump("x" * 3_000_000, "It", limit=1_000_000)


def test_the_limit_counts_bytes_and_not_characters() -> None:
    with pytest.raises(BadInput):
        serial.dump("字" * 400, "It", limit=1_000)
    assert serial.dump("x" * 400, "It", limit=1_000)


def test_tuples_and_sets_are_kept_as_lists() -> None:
    assert serial.load(serial.dump({"a": (1, 2), "b": {3}}, "It")) == {"a": [1, 2], "b": [3]}


def test_a_file_stays_a_file_however_deep_it_lies() -> None:
    file = File("t-1/abc-page.png", "page.png", 7)
    found = serial.load(serial.dump({"pages": [file]}, "It"), lambda named: File(named.key, named.name, 99))
    assert found == {"pages": [File("t-1/abc-page.png", "page.png", 99)]}


@pytest.mark.parametrize(
    "value",
    [
        {"$file": 1},
        {"$file": {"path": "x"}},
        {"$file": {"key": 5, "name": "a", "size": 1}},
        {"$file": {}, "other": 1},
        "$file",
    ],
)
def test_data_that_only_looks_like_a_file_is_left_alone(value: Any) -> None:
    assert serial.load(serial.dump(value, "It")) == value


def test_nothing_is_nothing() -> None:
    assert serial.load(None) is None


def test_an_unconnected_file_cannot_be_read() -> None:
    with pytest.raises(ValueError, match="not connected"):
        File("k", "a.txt", 1).read_bytes()


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ({1: "a", "1": "b"}, "1"),
        ({True: "a", "true": "b"}, "true"),
        ({None: 1, "null": 2}, "null"),
        ({1.5: 1, "1.5": 2}, "1.5"),
        ([{"deep": ({"x": {7: 1, "7": 2}},)}], "7"),
        (OrderedDict([("2", 1), (2, 2)]), "2"),
    ],
)
def test_a_key_that_would_be_there_twice_is_refused_and_named(value: Any, key: str) -> None:
    with pytest.raises(BadInput, match=f"The result has the key {key} twice"):
        serial.dump(value, "The result")


@pytest.mark.parametrize("value", [{1: "a", 2: "b"}, {1: "a", "2": "b"}, {True: 1, "1": 2}, {"1": {1: 2}}])
def test_other_keys_that_are_not_text_are_kept_as_text(value: Any) -> None:
    assert len(serial.load(serial.dump(value, "The result"))) == len(value)


def test_clashing_options_of_a_run_are_refused() -> None:
    with pytest.raises(BadInput, match="has the key 1 twice"):
        fingerprint("book", [], {1: "a", "1": "b"})  # type: ignore[dict-item]
    assert fingerprint("book", [], {1: "a", "b": "c"})  # type: ignore[dict-item]
