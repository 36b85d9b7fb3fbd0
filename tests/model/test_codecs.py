"""Each kind of value besides JSON is restored as it was, and a value that does not fit is refused with the way out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Any, Literal, NamedTuple, NewType, TypedDict
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, SecretStr

import fanfold as ff
from fanfold.errors import BadInput, BadPipeline, Unreadable
from fanfold.model.values import codecs, serial
from fanfold.model.values.decoding import Reading
from fanfold.model.values.files import File
from tests.engine.typed import CHAPTERS, Chapter, Footnote, Kind, Page, page_of


class Suit(StrEnum):
    """Text as it is, also in JSON."""

    HEARTS = "hearts"


class Level(IntEnum):
    """A number, also in JSON."""

    HIGH = 3


class Place(Enum):
    """Members whose values are not JSON are stored by name."""

    HOME = (0, 0)


class Point(NamedTuple):
    """A tuple with names."""

    x: int
    at: date


class Entry(TypedDict):
    """A mapping with known names."""

    at: date
    n: int


class Aliased(BaseModel):
    """A model whose fields are called otherwise in JSON."""

    full_name: str = Field(alias="fullName")


@dataclass
class Node:
    """Refers to its own class."""

    name: str
    inner: list[Node] = field(default_factory=list)
    best: Node | None = None


@dataclass
class Mixed:
    """Fields of many kinds."""

    either: date | str
    pairs: tuple[int, date]
    names: dict[int, Decimal]
    anything: Any
    point: Point
    mode: Literal["a", "b"] = "a"
    length: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.length = len(self.names)


class Temperature:
    """A class that only a registered codec can store."""

    def __init__(self, degrees: float) -> None:
        self.degrees = degrees

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Temperature) and other.degrees == self.degrees

    def __hash__(self) -> int:
        return hash(self.degrees)


KNOWN = {kind.__qualname__: kind for kind in (Chapter, Page, Kind, Footnote, Place, Node, Mixed, Aliased)}
READING = Reading(KNOWN, refuses_unknown=True)
NODE = Node("root", [Node("leaf")], Node("best"))
MIXED = Mixed(
    date(2026, 1, 2), (1, date(2026, 1, 3)), {3: Decimal("1.0")}, {"t": time(1, 2)}, Point(1, date(2026, 1, 4))
)


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is removed afterwards."""
    monkeypatch.setattr(codecs, "_by_type", dict(codecs._by_type))
    monkeypatch.setattr(codecs, "_by_name", dict(codecs._by_name))


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 11, 17, 12, 30, 1, 5, tzinfo=UTC), datetime(2026, 11, 17), date(2026, 11, 17), time(9, 30),  # noqa: DTZ001
        timedelta(days=14, microseconds=1), Decimal("1.10"), UUID(int=5), Path("a/b"),
        b"\0\xff", Kind.VERSE, Place.HOME, CHAPTERS[0], page_of(CHAPTERS[0]), NODE, MIXED,
        Footnote(text="x", added=datetime(2026, 1, 1, tzinfo=UTC)), Aliased(fullName="Ann"),
        {"deep": [{"at": date(2026, 1, 1)}, (Decimal(1),)][:1]}, File("t-1/k", "a.txt", 1),
        {"$type": "date", "$value": "2026-01-01"}, {"$type": "dict", "$value": {"$type": "x", "$value": 1}},
        [{"$type": "x", "$value": {"at": date(2026, 1, 1)}}], {"$type": "x"}, {"$type": "a", "$value": 1, "more": 2},
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_goes_in_comes_out_with_its_type(value: Any) -> None:
    found = serial.load(serial.dump(value, "It"), reading=READING)
    assert found == value
    assert type(found) is type(value)


def test_what_is_kept_is_readable_json() -> None:
    text = serial.dump({"at": date(2026, 1, 2), "kind": Kind.VERSE}, "It")
    assert json.loads(text) == {
        "at": {"$type": "date", "$value": "2026-01-02"},
        "kind": {"$type": "Kind", "$value": "verse"},
    }


@pytest.mark.parametrize("value", [Suit.HEARTS, Level.HIGH, {"a": (1, {2})}, Point(1, date(2026, 1, 1))[:1], "$type"])
def test_what_was_json_before_is_kept_as_before(value: Any) -> None:
    assert "$value" not in serial.dump(value, "It")


def test_people_see_values_without_the_names_of_their_types() -> None:
    shown = serial.load(serial.dump({"page": page_of(CHAPTERS[0])}, "It"))["page"]
    assert shown["price"] == "1.10"
    assert shown["scan"] == "AHNjYW4="
    assert shown["source"] == "scans/One"
    assert json.dumps(shown)


@pytest.mark.parametrize(
    ("found", "hint", "expected"),
    [
        ("2026-01-02", date, date(2026, 1, 2)),
        ({"title": "x", "written": "2026-01-02"}, Chapter, Chapter("x", date(2026, 1, 2))),
        (["2026-01-02"], list[date], [date(2026, 1, 2)]),
        ([1, "2026-01-02"], tuple[int, date], (1, date(2026, 1, 2))),
        ([1, 2], tuple[int, ...], (1, 2)),
        ([1, 1], set[int], {1}),
        ({"1": "1.5"}, dict[int, Decimal], {1: Decimal("1.5")}),
        ({"true": 1}, dict[bool, int], {True: 1}),
        ({"at": "2026-01-02", "n": 1}, Entry, {"at": date(2026, 1, 2), "n": 1}),
        ([1, "2026-01-02"], Point, Point(1, date(2026, 1, 2))),
        ("hearts", Suit, Suit.HEARTS),
        (3, Level, Level.HIGH),
        ("HOME", Place, Place.HOME),
        ("2026-01-02", date | None, date(2026, 1, 2)),
        (None, date | None, None),
        ("text", date | str, "text"),
        ("AA==", bytes, b"\0"),
        ("x", NewType("Name", str), "x"),
        ("2026-01-02", NewType("Day", date), date(2026, 1, 2)),
        ({"fullName": "Ann"}, Aliased, Aliased(fullName="Ann")),
        ({"a": 1}, Any, {"a": 1}),
        ({"a": 1}, "NotThere", {"a": 1}),
    ],
    ids=str,
)
def test_a_value_without_a_type_becomes_what_the_annotation_says(found: Any, hint: Any, expected: Any) -> None:
    made = serial.load(json.dumps(found), reading=READING, hint=hint)
    assert made == expected
    assert type(made) is type(expected)


@dataclass
class Before:
    """The shape that was stored."""

    title: str
    pages: int


@dataclass
class WithDefault:
    """A field was added, with a default."""

    title: str
    pages: int
    language: str = "en"


@dataclass
class Added:
    """A field was added without one."""

    title: str
    pages: int
    language: str


@dataclass
class Removed:
    """A field was removed."""

    title: str


def test_a_field_that_was_added_since_has_its_default() -> None:
    kept = serial.dump(Before("x", 3), "It")
    assert serial.load(kept, reading=Reading({"Before": WithDefault})) == WithDefault("x", 3, "en")


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (Added, "needs a field `language`, which the value does not have"),
        (Removed, "has no field `pages`, which the value has"),
    ],
)
def test_a_shape_that_changed_is_an_error_that_names_the_field_and_the_way_out(now: type[Any], said: str) -> None:
    with pytest.raises(Unreadable, match=f"{now.__name__} {said}.*register a codec"):
        serial.load(serial.dump(Before("x", 3), "It"), reading=Reading({"Before": now}))


def test_a_codec_can_read_an_earlier_shape() -> None:
    kept = serial.dump(Before("x", 3), "It")
    ff.register_codec(Added, name="Before", encode=vars, decode=lambda kept: Added(**{"language": "en", **kept}))
    assert serial.load(kept, reading=Reading()) == Added("x", 3, "en")


def test_an_error_does_not_quote_whole_objects() -> None:
    for hint in (date, Footnote):
        with pytest.raises(Unreadable, match=f"an object cannot be converted to {hint.__name__}") as caught:
            serial.load('{"text": 5, "password": "hidden"}', reading=READING, hint=hint)
        assert "hidden" not in str(caught.value)
    with pytest.raises(Unreadable, match=r"text: Input should be a valid string; added: Field required"):
        serial.load('{"text": 5}', reading=READING, hint=Footnote)


def test_a_renamed_class_is_read_by_the_annotation() -> None:
    kept = serial.dump(Before("x", 3), "It")
    assert serial.load(kept, reading=READING, hint=WithDefault) == WithDefault("x", 3, "en")


def test_a_type_that_is_not_known_is_refused_or_stays_json() -> None:
    kept = serial.dump([Before("x", 3)], "It")
    with pytest.raises(Unreadable, match="it is a Before, which is not known here"):
        serial.load(kept, reading=READING)
    assert serial.load(kept, reading=Reading()) == [{"title": "x", "pages": 3}]


def test_stored_data_never_imports_anything() -> None:
    kept = json.dumps({"$type": "antigravity.fly", "$value": {}})
    assert serial.load(kept, reading=Reading()) == {}
    assert "antigravity" not in sys.modules


def test_a_registered_codec_keeps_its_type_everywhere() -> None:
    with pytest.raises(BadInput, match=r"type Temperature is not JSON.*register_codec"):
        serial.dump(Temperature(20), "It")
    ff.register_codec(
        Temperature,
        encode=lambda value: {"at": date(2026, 1, 1), "c": value.degrees},
        decode=lambda kept: Temperature(kept["c"]),
    )
    assert serial.load(serial.dump([Temperature(20)], "It"), reading=Reading()) == [Temperature(20)]
    assert serial.load('{"at": 1, "c": 4}', reading=READING, hint=Temperature) == Temperature(4)


def broken(_: Any) -> Any:
    raise RuntimeError("out of order")


def test_a_codec_that_raises_is_named() -> None:
    ff.register_codec(Temperature, encode=broken, decode=broken)
    with pytest.raises(BadInput, match="the codec of Temperature raised RuntimeError: out of order"):
        serial.dump(Temperature(1), "It")
    with pytest.raises(Unreadable, match=r"cannot be converted to Temperature \(RuntimeError: out of order"):
        serial.load('{"$type":"Temperature","$value":1}', reading=READING)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"type": Temperature}, "needs encode= and decode="),
        ({"type": Temperature, "encode": vars}, "only one of encode and decode"),
        ({"type": Suit, "encode": str, "decode": Suit}, "is already stored as JSON"),
        ({"type": Chapter, "name": "date"}, "is already used by datetime.date"),
        ({"type": Chapter, "name": "dict"}, "is already used by a plain mapping"),
    ],
)
def test_a_codec_that_could_not_work_is_refused(how: dict[str, Any], said: str) -> None:
    with pytest.raises(BadPipeline, match=said):
        ff.register_codec(**how)


@dataclass
class Holder:
    """Holds a mapping."""

    names: dict[Any, Any]


@pytest.mark.parametrize(
    ("names", "said"),
    [({1: "a", "1": "b"}, "the key 1 twice"), ({"a": "\0"}, "NUL character"), ({"a": float("nan")}, "NaN")],
)
def test_what_is_wrong_inside_a_typed_value_is_found(names: dict[Any, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        serial.dump([Holder(names)], "It")


def returns(kind: Any) -> Any:
    def handler(item: Any) -> Any: ...

    handler.__annotations__["return"] = kind
    return handler


class Secret(BaseModel):
    """Pydantic would keep stars."""

    password: SecretStr


@dataclass
class Nested:
    """A field that cannot be stored."""

    inner: list[Temperature]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Temperature, "Temperature"),
        (list[Temperature] | None, "Temperature"),
        (Nested, "Temperature"),
        (bytearray, "bytearray"),
        (Secret, "Secret"),
        (ff.NewItem | ff.Answer, "Answer"),
    ],
    ids=str,
)
def test_a_handler_that_returns_what_cannot_be_kept_is_refused_at_definition(kind: Any, name: str) -> None:
    book = ff.Pipeline("book")
    with pytest.raises(
        BadPipeline, match=f"Stage handler of book returns {name}, which cannot be stored.*register_codec"
    ):
        book.each(returns(kind))
    assert not book.stages


@pytest.mark.parametrize(
    "kind",
    [Any, None, str, dict[str, Any], Chapter, list[Page] | None, ff.File, ff.Results, Iterator[ff.NewItem[Chapter]], Point,
     "NotThere", Entry, Suit, object, Literal["a"], Chapter | type(ff.later(1))],
    ids=str,
)  # fmt: skip
def test_every_other_annotation_is_taken(kind: Any) -> None:
    book = ff.Pipeline("book")
    book.each(returns(kind))
    assert book.kept_types.reading.refuses_unknown


def test_two_types_of_one_name_are_refused() -> None:
    other: type[Any] = dataclass(type("Chapter", (), {"__annotations__": {"a": int}, "__module__": "elsewhere"}))
    book = ff.Pipeline("book", types=[Chapter, other])
    assert str(book.kept_types.problem).startswith(
        "Two of its types are named Chapter: tests.engine.typed and elsewhere"
    )
    with pytest.raises(BadPipeline, match="lists the type Temperature, for which no codec is registered"):
        ff.Pipeline("book", types=[Temperature])


def test_pydantic_is_not_imported_for_values_without_models() -> None:
    program = (
        "import sys, dataclasses, fanfold as ff\n"
        "from fanfold.model.values import serial\n"
        "import datetime\n"
        "serial.load(serial.dump([datetime.date(2026, 1, 1)], 'It'))\n"
        "print('pydantic' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
