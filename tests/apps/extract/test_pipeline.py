"""What the pipeline makes of documents and of every kind of answer, on the engine for tests."""

import json
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.apps.extract import extract
from fanfold.testing import Engine, busy, cut_off
from tests.apps.extract.answering import ABSENT, asked, found, honest

PAPER = """# Statins in Sweden
We enrolled 1,240 people in a randomised controlled trial.
Of these, 620 were treated with 20 mg of atorvastatin.
The trial began on 12 March 2019 and was funded by nobody in particular."""
TEMPLATE = """
title: What is the title?
sample_size: integer — How many people took part?
design: {enum: {RCT: [randomised controlled trial], cohort: []}, question: Which design}
funder: Who paid for it?
"""
KNOWN = {
    "title": ("Statins in Sweden", "Statins in Sweden"),
    "sample_size": (1240, "We enrolled 1,240 people"),
    "design": ("randomised controlled trial", "in a randomised controlled trial"),
}


def submitted(engine: Engine, *papers: str, template: str = TEMPLATE, **options: Any) -> ff.Task:
    """The task of some papers given as text, with all done that can be."""
    items = [
        ff.NewItem(f"paper-{number}", {"name": f"{number}.txt", "text": text}) for number, text in enumerate(papers)
    ]
    task = engine.submit(extract, items=items, options={"template": template, "model": "openai:large", **options})
    engine.run()
    return engine.task(task)


def record(engine: Engine, task: ff.Task, key: str = "paper-0") -> dict[str, Any]:
    output = engine.item(task, key, "extract").output
    assert isinstance(output, dict)
    return output


def values(engine: Engine, task: ff.Task, key: str = "paper-0") -> dict[str, tuple[Any, str]]:
    cells = record(engine, task, key)["fields"]
    return {name: (cell["value"], cell["state"]) for name, cell in cells.items()}


def rows(engine: Engine, task: ff.Task) -> list[dict[str, Any]]:
    return [json.loads(line) for line in engine.result(task)["file"].read_text().splitlines()]


def test_values_with_evidence_become_cells_and_absent_ones_stay_absent(engine: Engine) -> None:
    engine.answer(honest(KNOWN))
    task = submitted(engine, PAPER)
    assert (task.state, task.degraded) == ("completed", 0)
    assert values(engine, task) == {
        "title": ("Statins in Sweden", "ok"),
        "sample_size": (1240, "ok"),
        "design": ("RCT", "ok"),
        "funder": (None, "absent"),
    }
    cell = record(engine, task)["fields"]["sample_size"]
    assert (cell["evidence"][0]["line"], cell["evidence"][0]["text"]) == (2, "We enrolled 1,240 people")
    assert (cell["model"], cell["attempts"], cell["repaired"]) == ("openai:large", 1, False)
    assert float(cell["cost"]) == pytest.approx(0.0025)
    assert engine.result(task)["cells"] == {"absent": 1, "ok": 3}
    assert len(engine.requests) == 1


def test_an_invented_quote_is_unsupported_and_the_record_is_degraded(engine: Engine) -> None:
    lie = {
        "value": "Acme Ltd",
        "status": "found",
        "quote": "This work was supported by Acme Ltd, Stockholm.",
        "line": 4,
    }
    engine.answer(lambda request: json.dumps({name: lie if name == "funder" else ABSENT for name in asked(request)}))
    task = submitted(engine, PAPER)
    assert values(engine, task)["funder"] == ("Acme Ltd", "unsupported")
    assert task.degraded == 1
    assert "1 unsupported" in str(engine.items(task, "extract")[0].degraded)


def test_a_number_whose_digits_are_not_in_its_quote_is_unsupported(engine: Engine) -> None:
    engine.answer(honest(KNOWN | {"sample_size": (1340, "We enrolled 1,240 people")}))
    assert values(engine, submitted(engine, PAPER))["sample_size"] == (1340, "unsupported")


def test_an_invalid_value_is_asked_once_more_with_the_exact_error(engine: Engine) -> None:
    template = "n: {type: integer, question: How many, maximum: 1000}"
    engine.answers(
        honest({"n": (1240, "We enrolled 1,240 people")}), honest({"n": (620, "620 were treated with 20 mg")})
    )
    task = submitted(engine, PAPER, template=template)
    assert values(engine, task) == {"n": (620, "ok")}
    assert record(engine, task)["fields"]["n"]["attempts"] == 2
    assert "1240 is greater than the maximum of 1000" in engine.requests[1].prompt


def test_a_value_that_stays_invalid_is_left_out_and_listed(engine: Engine) -> None:
    template = "n: {type: integer, question: How many, maximum: 1000}"
    engine.answer(honest({"n": (1240, "We enrolled 1,240 people")}))
    task = submitted(engine, PAPER, template=template)
    cell = record(engine, task)["fields"]["n"]
    assert (cell["value"], cell["raw"], cell["state"]) == (None, 1240, "invalid")
    assert (len(engine.requests), task.degraded) == (2, 1)


def test_an_absent_value_is_never_asked_for_again(engine: Engine) -> None:
    engine.answer(honest({}))
    task = submitted(engine, PAPER)
    assert (len(engine.requests), task.degraded) == (1, 0)


def test_an_answer_that_is_cut_off_is_asked_in_halves_and_never_repaired(engine: Engine) -> None:
    names = [f"f{number}" for number in range(10)]
    whole = honest(dict.fromkeys(names, ("Statins in Sweden", "Statins in Sweden")))

    def answer(request: Any) -> Any:
        return cut_off(whole(request)[:200]) if len(asked(request)) > 5 else whole(request)

    engine.answer(answer)
    task = submitted(engine, PAPER, template="\n".join(f"{name}: What?" for name in names))
    assert {state for _, state in values(engine, task).values()} == {"ok"}
    assert [len(asked(request)) for request in engine.requests] == [10, 10, 5, 5]


def test_json_that_ended_by_itself_is_repaired_and_marked(engine: Engine) -> None:
    good = '{"title": {"value": "Statins in Sweden", "status": "found", "quote": "Statins in Sweden", "line": 1}'
    engine.answer(good)
    task = submitted(engine, PAPER, template="title: What is the title?")
    cell = record(engine, task)["fields"]["title"]
    assert (cell["value"], cell["repaired"]) == ("Statins in Sweden", True)


def test_a_document_about_which_no_model_answers_is_a_row_with_its_reason(engine: Engine) -> None:
    engine.answer("I like this paper very much.", to="Statins in Sweden")
    engine.answer(honest(KNOWN))
    task = submitted(engine, PAPER, "Another paper\nWe enrolled 1,240 people")
    assert task.state == "completed"
    failed, good = rows(engine, task)
    assert (failed["document"], failed["state"], failed["fields"]) == ("0.txt", "failed", {})
    assert "is not JSON" in failed["error"]
    assert good["fields"]["sample_size"]["value"] == 1240


def test_a_broken_rule_marks_its_cells_and_keeps_their_values(engine: Engine) -> None:
    template = "n: integer - How many\ntreated: integer - How many were treated\nrules: [n >= treated]"
    engine.answer(honest({"n": (620, "620 were treated"), "treated": (1240, "We enrolled 1,240 people")}))
    task = submitted(engine, PAPER, template=template)
    assert values(engine, task) == {"n": (620, "invalid"), "treated": (1240, "invalid")}
    assert "n >= treated" in record(engine, task)["fields"]["n"]["reason"]


def test_rows_inside_a_document_become_rows_of_the_table(engine: Engine) -> None:
    template = "title: What?\narm: {scope: row}\npeople: {type: integer, scope: row}"

    def answer(request: Any) -> str:
        if "arm" not in asked(request):
            return str(honest(KNOWN)(request))
        arms = [("treated", 620), ("in all", 1240)]
        quotes = {620: "Of these, 620 were treated", 1240: "We enrolled 1,240 people in all"}
        return json.dumps(
            {
                "rows": [
                    {"arm": found(request, arm, quotes[n]), "people": found(request, n, quotes[n])} for arm, n in arms
                ]
            }
        )

    engine.answer(answer)
    task = submitted(engine, PAPER, template=template)
    made = rows(engine, task)
    assert [(row["row"], row["fields"]["people"]["value"]) for row in made] == [(1, 620), (2, 1240)]
    assert [row["fields"]["title"]["value"] for row in made] == ["Statins in Sweden"] * 2


def test_a_long_document_is_asked_in_parts_and_conflicts_keep_their_alternatives(engine: Engine) -> None:
    filler = "\n".join(f"Line {number} says nothing about the number of people in this trial." for number in range(400))
    paper = f"# Methods\nWe enrolled 1,240 people\n{filler}\n# Results\nIn all, 1,238 people were analysed\n{filler}"

    def answer(request: Any) -> str:
        known = {"n": (1240, "We enrolled 1,240 people")}
        if "1,238" in request.prompt:
            known = {"n": (1238, "In all, 1,238 people were analysed")}
        return str(honest(known)(request))

    engine.answer(answer)
    task = submitted(engine, paper, template="n: integer — How many?", context=10_000)
    cell = record(engine, task)["fields"]["n"]
    assert len(engine.requests) > 2
    assert "part 1 of" in engine.requests[0].prompt
    assert cell["state"] == "conflict"
    assert {cell["value"], *(one["value"] for one in cell["alternatives"])} == {1240, 1238}


def test_a_model_that_always_fails_never_looks_like_an_empty_table(engine: Engine) -> None:
    engine.answer(busy())
    task = submitted(engine, PAPER)
    assert (task.state, task.failed) == ("completed", 1)
    assert rows(engine, task)[0]["error"]


def test_a_template_with_a_mistake_is_refused_before_anything_is_kept(engine: Engine) -> None:
    with pytest.raises(ff.BadInput, match="Did you mean minimum"):
        submitted(engine, PAPER, template="n: {minimun: 1}")
    with pytest.raises(ff.BadInput, match="needs a template"):
        engine.submit(extract, items=["text"], options={"model": "openai:large"})
    assert engine.client.list() == []


def test_text_files_are_read_and_identical_ones_are_one_item_and_two_rows(engine: Engine, tmp_path: Path) -> None:
    pytest.importorskip("fanfold.apps.extract.documents.read_document")
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(PAPER)
    engine.answer(honest(KNOWN))
    task = engine.submit(
        extract, tmp_path / "a.txt", tmp_path / "b.txt", options={"template": TEMPLATE, "model": "openai:large"}
    )
    engine.run()
    assert [row["document"] for row in rows(engine, task)] == ["a.txt", "b.txt"]
    assert len(engine.requests) == 1


@pytest.mark.parametrize(
    "odd",
    [
        {"text": "x", "rows": "a"},
        {"text": "x", "rows": [{"a": 1}]},
        {"name": ["a"], "text": 5},
        {"nothing": 1},
        5,
        None,
    ],
)
def test_an_odd_item_is_a_row_and_does_not_take_the_table_from_the_others(engine: Engine, odd: Any) -> None:
    engine.answer(honest(KNOWN))
    items = [ff.NewItem("odd", odd), ff.NewItem("good", {"name": "good.txt", "text": PAPER})]
    task = engine.submit(extract, items=items, options={"template": TEMPLATE, "model": "openai:large"})
    engine.run()
    assert engine.task(task).state == "completed"
    strange, good = rows(engine, task)
    assert strange["document"]
    assert good["fields"]["sample_size"]["value"] == 1240
