"""The parts of asking: windows of long documents, answers of every shape, what is judged, and how parts become one value."""

import json
from itertools import pairwise
from typing import Any

import pytest

from fanfold.apps.extract.asking.answers import Envelope, check_json, read
from fanfold.apps.extract.asking.judging import judged
from fanfold.apps.extract.asking.reducing import reduced
from fanfold.apps.extract.asking.windows import around, windows
from fanfold.apps.extract.documents.document import Document, NewLine
from fanfold.apps.extract.template.fields import Field
from fanfold.apps.extract.template.groups import Group
from fanfold.errors import BadAnswer
from fanfold.model.values.token_estimate import guessed_tokens
from fanfold.testing import Engine
from tests.apps.extract.answering import ABSENT, asked, found, honest, lines
from tests.apps.extract.test_pipeline import record, submitted, values

TEXT = "word " * 20


def document(*texts: str, headings: tuple[int, ...] = ()) -> Document:
    return Document.of(
        "a.txt", "0" * 64, "text", (NewLine(text, heading=at in headings) for at, text in enumerate(texts))
    )


def test_a_document_that_fits_is_one_window() -> None:
    [window] = windows(document(*[TEXT] * 50), 128_000)
    assert (window.first, window.last, window.count) == (1, 50, 1)


def test_windows_cover_every_line_overlap_and_keep_to_the_room() -> None:
    long = document(*(f"{number} {TEXT}" for number in range(1_000)), headings=(400, 700))
    made = windows(long, 20_000, beside=500)
    covered = {number for window in made for number in range(window.first, window.last + 1)}
    assert covered == set(range(1, 1_001))
    assert all(after.first <= before.last for before, after in pairwise(made))
    assert all(guessed_tokens(window.text) <= 12_000 for window in made)
    assert [(window.number, window.count) for window in made] == [(n, len(made)) for n in range(1, len(made) + 1)]


def test_a_window_ends_before_a_heading_where_it_can() -> None:
    long = document(*[TEXT] * 300, headings=(130,))
    assert windows(long, 8_000)[0].last == 130


def test_a_line_longer_than_a_window_is_cut_into_overlapping_pieces() -> None:
    line = " ".join(f"w{number}" for number in range(20_000))
    made = windows(document("before", line, "after"), 10_000)
    pieces = [window for window in made if window.first == window.last == 2]
    assert len(pieces) > 3
    said = {word for window in pieces for word in window.text.split()}
    # Words at a cut are whole in the next piece.
    assert {f"w{number}" for number in range(20_000)} <= said


def test_the_lines_around_an_error_are_shown_and_gaps_are_marked() -> None:
    text = around(document(*(f"line {number}" for number in range(1, 201))), [50, 150], 10_000, each=2)
    assert text.splitlines() == [
        *(f"{n}| line {n}" for n in range(48, 53)),
        "…",
        *(f"{n}| line {n}" for n in range(148, 153)),
    ]


GROUP = Group((Field("n", type="integer"), Field("t")))
SHAPES: list[tuple[str, Any, bool]] = [
    ('{"n": {"value": 3, "status": "found", "quote": "q", "line": 4}}', (3, "found", "q", 4), False),
    (
        'Here it is:\n```json\n{"n": {"value": 3, "status": "found", "quote": "q", "line": "4"}}\n```',
        (3, "found", "q", 4),
        False,
    ),
    ('{"n": {"value": 3, "status": "sure", "quote": null, "line": -1}}', (3, "found", "", None), False),
    ('{"n": 3}', (3, "found", "", None), False),
    ('{"n": null}', (None, "not_found", "", None), False),
    (
        '{"n": {"value": 3, "status": "found", "quote": "he said "yes"", "line": 4}}',
        (3, "found", 'he said "yes"', 4),
        True,
    ),
]


@pytest.mark.parametrize(("text", "expected", "repaired"), SHAPES)
def test_answers_of_every_shape_are_read(text: str, expected: Any, repaired: bool) -> None:
    answered = read(check_json(text), GROUP)
    said = answered.objects[0]["n"]
    assert ((said.value, said.status, said.quote, said.line), answered.repaired) == (expected, repaired)
    assert not answered.objects[0]["t"].is_answered


@pytest.mark.parametrize("text", ["I could not find any values.", "[1, 2]", '"text"', "12", "{}}{{"])
def test_prose_is_not_an_answer(text: str) -> None:
    with pytest.raises(BadAnswer):
        check_json(text)


PAPER = document(
    "We enrolled 1,240 people in Sweden.", "The trial began in May 2017.", "See doi 10.1000/abc.12 for data."
)


@pytest.mark.parametrize(
    ("field", "said", "state"),
    [
        (Field("n", type="integer"), Envelope(1240, "found", "We enrolled 1,240 people", 1), "ok"),
        (Field("n", type="integer"), Envelope(1240, "unclear", "We enrolled 1,240 people", 1), "weak"),
        (Field("n", type="integer"), Envelope(1241, "found", "We enrolled 1,240 people", 1), "unsupported"),
        (Field("n", type="integer"), Envelope(1240, "found", "", None), "unsupported"),
        (Field("n", type="integer", evidence="wanted"), Envelope(1240, "found", "", None), "weak"),
        (Field("n", type="integer", evidence="none"), Envelope(99, "found", "", None), "ok"),
        (Field("n", type="integer"), Envelope(1240, "not_found", "We enrolled 1,240 people", 1), "absent"),
        (Field("n", type="integer"), Envelope("many", "found", "We enrolled 1,240 people", 1), "invalid"),
        (Field("d", normalise="date"), Envelope("May 2017", "found", "The trial began in May 2017", 2), "ok"),
        (Field("d", normalise="date"), Envelope("May 2018", "found", "The trial began in May 2017", 2), "unsupported"),
        (Field("d", normalise="doi"), Envelope("10.1000/ABC.12", "found", "See doi 10.1000/abc.12", 3), "ok"),
        (Field("d", normalise="doi"), Envelope("10.1000/xyz", "found", "See doi 10.1000/abc.12", 3), "unsupported"),
        (Field("c"), Envelope("Sweden", "found", "1,240 people in Sweden", 1), "ok"),
        (Field("c"), Envelope("Lower Saxony", "found", "1,240 people in Sweden", 1), "weak"),
        (Field("c"), Envelope("瑞典", "found", "1,240 people in Sweden", 1), "ok"),
        (Field("t"), Envelope(is_answered=False), "invalid"),
    ],
)
def test_what_is_said_is_judged_by_the_document(field: Field, said: Envelope, state: str) -> None:
    assert judged(field, said, PAPER)["state"] == state


def cell(field: Field, value: Any, quote: str) -> dict[str, Any]:
    return judged(field, Envelope(value, "found", quote), TWO)


TWO = document(
    "We enrolled 100 people here.", "In all, 200 people were seen.", "Sites: Umeå and Lund.", "Sites: Lund and Malmö."
)
ENROLLED, SEEN = (100, "We enrolled 100 people here"), (200, "In all, 200 people were seen")


@pytest.mark.parametrize(
    ("reduce", "value", "state", "others"),
    [("first", 100, "ok", [200]), ("best", 100, "conflict", [200]), ("sum", 300, "ok", [])],
)
def test_parts_of_a_document_become_one_value_by_the_rule_of_the_field(
    reduce: str, value: int, state: str, others: list[int]
) -> None:
    field = Field("n", type="integer", reduce=reduce)
    made = reduced(field, [cell(field, *ENROLLED), cell(field, *SEEN), cell(field, *ENROLLED)])
    assert (made["value"], made["state"], [one["value"] for one in made["alternatives"]]) == (value, state, others)


def test_the_best_supported_value_wins_and_the_others_are_kept() -> None:
    field = Field("n", type="integer")
    made = reduced(field, [cell(field, 300, "There were 300 people nobody mentioned"), cell(field, *SEEN)])
    assert (made["value"], made["state"]) == (200, "ok")
    assert [(one["value"], one["state"]) for one in made["alternatives"]] == [(300, "unsupported")]


def test_a_union_has_every_member_once_and_all_evidence() -> None:
    field = Field("l", type="list", reduce="union")
    made = reduced(
        field,
        [
            cell(field, ["Umeå", "Lund"], "Sites: Umeå and Lund"),
            cell(field, ["lund", "Malmö"], "Sites: Lund and Malmö"),
        ],
    )
    assert (made["value"], len(made["evidence"])) == (["Umeå", "Lund", "Malmö"], 2)


def test_a_model_chooses_among_the_values_of_parts_if_the_field_says_so(engine: Engine) -> None:
    filler = "\n".join(f"Line {number} says nothing about the number of people." for number in range(400))
    paper = f"We enrolled 100 people here.\n{filler}\n# End\nIn all, 200 people were seen.\n{filler}"

    def answer(request: Any) -> str:
        if "Parts of one document" in request.prompt:
            return '{"field_1": 2}'
        there = "".join(lines(request).values())
        return str(honest({"n": SEEN if SEEN[1] in there else ENROLLED})(request))

    engine.answer(answer)
    task = submitted(engine, paper, template="n: {type: integer, reduce: ask}", context=10_000)
    assert values(engine, task) == {"n": (200, "ok")}
    assert [one["value"] for one in record(engine, task)["fields"]["n"]["alternatives"]] == [100]


def test_invalid_cells_of_rows_are_repaired_without_touching_the_others(engine: Engine) -> None:
    def answer(request: Any) -> str:
        again = "These values cannot be used" in request.prompt
        first = found(request, 100, "We enrolled 100 people here")
        second = found(request, 200 if again else "two hundred or so", "In all, 200 people were seen")
        return json.dumps({"rows": [{"n": first}, {"n": second}]})

    engine.answer(answer)
    task = submitted(engine, TWO.text, template="n: {type: integer, scope: row}")
    cells = [row["fields"]["n"] for row in record(engine, task)["rows"]]
    assert [(one["value"], one["state"], one["attempts"]) for one in cells] == [(100, "ok", 1), (200, "ok", 2)]
    assert "rows[1].n: 'two hundred or so' is not one number" in engine.requests[1].prompt


def test_a_field_that_the_answer_leaves_out_is_asked_once_more_and_never_looks_absent(engine: Engine) -> None:
    engine.answer(json.dumps({"a": ABSENT}))
    task = submitted(engine, TWO.text, template="a: What?\nb: What else?")
    assert [asked(request) for request in engine.requests] == [["a", "b"], ["b"]]
    assert values(engine, task) == {"a": (None, "absent"), "b": (None, "invalid")}
    assert record(engine, task)["fields"]["b"]["reason"] == "the model did not answer this field"
    assert task.degraded == 1
