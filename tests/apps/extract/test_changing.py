"""What it costs to change a finished table: columns, individual cells, another model, a second opinion, known values."""

import json
from typing import Any

import pytest

import fanfold as ff
from fanfold.apps.extract import extract
from fanfold.testing import Engine
from tests.apps.extract.answering import asked, found, honest
from tests.apps.extract.test_pipeline import KNOWN, PAPER, TEMPLATE, record, rows, submitted, values

MORE = TEMPLATE + "treated: integer — How many were treated?\n"
TREATED = {"treated": (620, "Of these, 620 were treated")}


def finished(engine: Engine, count: int = 3) -> ff.Task:
    """A finished task about some papers; the questions that it took are forgotten."""
    engine.answer(honest(KNOWN | TREATED))
    return submitted(engine, *(f"{PAPER}\nNumber {number}" for number in range(count)))


def done(engine: Engine, task: ff.Task, action: str, **options: Any) -> tuple[str, list[Any]]:
    """What an action said, and the questions that it led to."""
    before = len(engine.requests)
    message = engine.client.do(task.id, action, options).message
    engine.run()
    return message, list(engine.requests[before:])


def test_an_added_column_is_the_only_thing_that_is_asked(engine: Engine) -> None:
    task = finished(engine)
    cells = record(engine, task)["fields"]
    message, requests = done(engine, task, "columns", template=MORE)
    assert [asked(request) for request in requests] == [["treated"]] * 3
    assert values(engine, task)["treated"] == (620, "ok")
    assert record(engine, task)["fields"] == cells | {"treated": record(engine, task)["fields"]["treated"]}
    assert engine.task(task).state == "completed"
    assert list(rows(engine, task)[0]["fields"]) == ["title", "sample_size", "design", "funder", "treated"]
    assert "treated" in message


def test_a_changed_question_is_asked_again_and_a_removed_column_costs_nothing(engine: Engine) -> None:
    task = finished(engine)
    _, requests = done(engine, task, "columns", template=TEMPLATE.replace("Who paid for it?", "Who paid for the work?"))
    assert [asked(request) for request in requests] == [["funder"]] * 3
    _, requests = done(engine, task, "columns", template="title: What is the title?")
    assert (requests, list(rows(engine, task)[0]["fields"])) == ([], ["title"])


def test_a_column_that_comes_back_is_not_paid_for_again(engine: Engine) -> None:
    task = finished(engine)
    done(engine, task, "columns", template="title: What is the title?")
    _, requests = done(engine, task, "columns", template=TEMPLATE)
    assert requests == []
    assert values(engine, task)["sample_size"] == (1240, "ok")


def test_a_worker_that_dies_while_a_column_is_added_pays_for_nothing_twice(engine: Engine) -> None:
    task = finished(engine)
    engine.before_settle(stage="extract", count=2).crash()
    _, requests = done(engine, task, "columns", template=MORE)
    assert [asked(request) for request in requests] == [["treated"]] * 3
    assert engine.task(task).state == "completed"
    assert max(item.crashes for item in engine.items(task, "extract")) == 1


def test_one_cell_is_asked_again_with_another_model_and_the_others_stay(engine: Engine) -> None:
    task = finished(engine)
    _, requests = done(engine, task, "redo", columns=["funder"], items=["1.txt"], model="openai:small")
    assert [(asked(request), request.model) for request in requests] == [(["funder"], "small")]
    cells = record(engine, task, "paper-1")["fields"]
    assert (cells["funder"]["model"], cells["title"]["model"]) == ("openai:small", "openai:large")


def test_all_cells_of_a_state_are_asked_again(engine: Engine) -> None:
    lie = {"value": "Acme", "status": "found", "quote": "paid for by the Acme company of Stockholm", "line": 1}

    def answer(request: Any) -> str:
        said = json.loads(honest(KNOWN)(request))
        return json.dumps(said | ({"funder": lie} if "funder" in said and "Number 1" in request.prompt else {}))

    engine.answer(answer, model="large")
    engine.answer(honest({"funder": ("nobody", "funded by nobody in particular")}), model="small")
    task = submitted(engine, *(f"{PAPER}\nNumber {number}" for number in range(3)))
    assert values(engine, task, "paper-1")["funder"] == ("Acme", "unsupported")
    message, requests = done(engine, task, "redo", state="unsupported", model="openai:small")
    assert len(requests) == 1
    assert values(engine, task, "paper-1")["funder"] == ("nobody", "ok")
    assert engine.task(task).degraded == 0
    assert message == "1 cell of 1 document will be asked for again"


def test_a_second_opinion_agrees_or_makes_a_conflict(engine: Engine) -> None:
    engine.answer(honest(KNOWN), model="large")
    other = KNOWN | {"sample_size": (620, "Of these, 620 were treated")}
    engine.answer(honest(other), model="small")
    task = submitted(engine, PAPER)
    _, requests = done(engine, task, "second_opinion", columns=["title", "sample_size"], model="openai:small")
    assert [asked(request) for request in requests] == [["title", "sample_size"]]
    assert values(engine, task) == {
        "title": ("Statins in Sweden", "ok"),
        "sample_size": (1240, "conflict"),
        "design": ("RCT", "ok"),
        "funder": (None, "absent"),
    }
    cell = record(engine, task)["fields"]["sample_size"]
    assert [(one["value"], one["model"]) for one in cell["alternatives"]] == [(620, "openai:small")]
    assert record(engine, task)["fields"]["title"]["agreed"] == ["openai:small"]


ARMS = """# Statins in Sweden
In the statin arm there were 620 people.
In the placebo arm there were 615 people.
In the third arm there were 5 people."""
ARM_TEMPLATE = "title: What is the title?\narm: {scope: row}\npeople: {type: integer, scope: row}"


def of_arms(*arms: tuple[str, int]) -> Any:
    """A model that gives these rows."""

    def answer(request: Any) -> str:
        if "arm" not in asked(request):
            return str(honest(KNOWN)(request))
        given = [{"arm": found(request, arm, f"In the {arm} arm"), "people": people_of(arm, n)} for arm, n in arms]
        return json.dumps({"rows": given})

    def people_of(arm: str, number: int) -> dict[str, Any]:
        return {"value": number, "status": "found", "quote": f"In the {arm} arm there were {number} people", "line": 2}

    return answer


def cells_of_rows(engine: Engine, task: ff.Task) -> list[tuple[Any, ...]]:
    """Value and state of each cell of each row in the table."""
    names = ("arm", "people")
    return [
        tuple((row["fields"][name]["value"], row["fields"][name]["state"]) for name in names)
        for row in rows(engine, task)
    ]


def test_a_second_opinion_on_rows_compares_rows_about_the_same_thing(engine: Engine) -> None:
    engine.answer(of_arms(("statin", 620), ("placebo", 615)), model="large")
    engine.answer(of_arms(("placebo", 615), ("third", 5), ("statin", 615)), model="small")
    task = submitted(engine, ARMS, template=ARM_TEMPLATE)
    message, requests = done(engine, task, "second_opinion", columns=["people"], model="openai:small")
    assert [asked(request) for request in requests] == [["arm", "people"]]
    assert message == "openai:small is asked about 2 cells of 1 document"
    assert cells_of_rows(engine, task) == [
        (("statin", "ok"), (620, "conflict")),
        (("placebo", "ok"), (615, "ok")),
        (("third", "conflict"), (5, "conflict")),
    ]
    first, second, third = (row["fields"]["people"] for row in rows(engine, task))
    assert [one["value"] for one in first["alternatives"]] == [615]
    assert second["agreed"] == ["openai:small"]
    assert third["reason"] == "only openai:small gives this row"


def test_a_row_that_the_second_model_does_not_give_is_a_conflict_and_goes_when_it_is_emptied(engine: Engine) -> None:
    engine.answer(of_arms(("statin", 620), ("placebo", 615)), model="large")
    engine.answer(of_arms(("statin", 620)), model="small")
    task = submitted(engine, ARMS, template=ARM_TEMPLATE)
    done(engine, task, "second_opinion", model="openai:small")
    assert cells_of_rows(engine, task)[1] == (("placebo", "conflict"), (615, "conflict"))
    for cell in record(engine, task)["rows"][1]["fields"].values():
        engine.client.decide(task.id, "paper-0", cell["part"], "replace", None, stage="extract")
    engine.run()
    assert cells_of_rows(engine, task) == [(("statin", "ok"), (620, "ok"))]


def test_a_second_model_that_does_not_answer_changes_no_cell_and_is_said(engine: Engine) -> None:
    engine.answer(of_arms(("statin", 620)), model="large")
    engine.answer("no JSON at all", model="small")
    task = submitted(engine, ARMS, template=ARM_TEMPLATE)
    done(engine, task, "second_opinion", model="openai:small")
    assert cells_of_rows(engine, task) == [(("statin", "ok"), (620, "ok"))]
    assert values(engine, task)["title"] == ("Statins in Sweden", "ok")
    [item] = engine.items(task, "extract")
    assert "no second opinion from openai:small" in str(item.degraded)


def test_a_retry_by_a_person_asks_everything_about_the_document_again(engine: Engine) -> None:
    task = finished(engine, 1)
    done(engine, task, "columns", template=MORE)
    before = len(engine.requests)
    engine.client.retry(task.id, ["paper-0"], stage="extract")
    engine.run()
    assert [asked(request) for request in engine.requests[before:]] == [[*KNOWN, "funder", "treated"]]


def test_decisions_survive_a_new_column_and_reach_the_table(engine: Engine) -> None:
    task = finished(engine, 1)
    part = record(engine, task)["fields"]["sample_size"]["part"]
    engine.client.decide(task.id, "paper-0", part, "replace", 1241, stage="extract")
    engine.run()
    done(engine, task, "columns", template=MORE)
    cell = rows(engine, task)[0]["fields"]["sample_size"]
    assert (cell["value"], cell["state"]) == (1241, "edited")


def test_known_values_give_accuracy_missing_and_invented_per_column(engine: Engine) -> None:
    task = finished(engine, 2)
    gold = "document,sample_size,funder\n0.txt,1240,Acme\n1.txt,1250,\n"
    message, _ = done(engine, task, "gold", gold=gold)
    assert "sample_size: 50 % right (1 of 2), 1 wrong, 0 missing, 0 invented" in message
    assert "funder: 50 % right (1 of 2), 0 wrong, 1 missing, 0 invented" in message


@pytest.mark.parametrize(
    ("action", "options", "said"),
    [
        ("columns", {"template": "n: {minimun: 1}"}, "Did you mean minimum"),
        ("columns", {"template": ""}, "has no fields"),
        ("redo", {}, "Say which cells"),
        ("redo", {"columns": ["fundr"]}, "There is no column fundr"),
        ("redo", {"state": "weak"}, "There are no such cells"),
        ("second_opinion", {"columns": ["title"]}, "Name the model"),
        ("gold", {"gold": "title\nx\n"}, "has no column `document`"),
    ],
)
def test_an_action_that_makes_no_sense_says_so_and_asks_nothing(
    engine: Engine, action: str, options: dict[str, Any], said: str
) -> None:
    task = finished(engine, 1)
    before = len(engine.requests)
    with pytest.raises(ff.ActionFailed, match=said):
        engine.client.do(task.id, action, options)
    assert (len(engine.requests), engine.task(task).state) == (before, "completed")


def test_the_table_so_far_can_be_had_while_the_task_runs(engine: Engine) -> None:
    engine.answer(honest(KNOWN))
    items = [ff.NewItem(f"paper-{n}", {"name": f"{n}.txt", "text": f"{PAPER} {n}"}) for n in range(3)]
    task = engine.submit(extract, items=items, options={"template": TEMPLATE, "model": "openai:large"})
    engine.run(advance_clock=False)
    client = engine.client
    client.retry(task.id, ["paper-1"], stage="extract")
    with client.make_form(task.id, "csv", partial=True) as made:
        lines = str(made.content()).splitlines()
    assert len(lines) == 4
    assert lines[1].startswith("0.txt,Statins in Sweden,1240,RCT")
    assert lines[2].startswith("1.txt,,,,,pending")
