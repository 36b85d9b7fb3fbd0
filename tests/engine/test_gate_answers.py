"""Gates that carry data: the answer is checked before it is taken, stored with who and when, and read by the stage behind."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import fanfold as ff
from fanfold.model.pipelines.gates import Gate, asked_by
from tests.installation import HandClock, Installation

TONE = ff.Option("tone", "choice", choices=("formal", "plain"), help="How it should sound")
COPIES = ff.Option("copies", "number", default=1, at_least=1, at_most=9)
APPROVED = ff.Option("approved", "flag", help="Whether to print it")


def printing(*options: ff.Option, kind: str = "step") -> ff.Pipeline:
    """A draft, a gate that asks, and the stage behind it, which returns the answer."""
    made = ff.Pipeline("printing")

    @made.each
    def draft(item: Any) -> Any:
        return item.input

    gate = Gate(*(options or (TONE, COPIES, APPROVED)))
    if kind == "merge":

        @made.merge(gate=gate)
        def bind(task: Any, results: Any) -> Any:
            return [result.output for result in results], task.answer()

    else:

        @made.step(gate=gate)
        def issue(task: Any) -> Any:
            return task.answer()

    return made


def waiting(installation: Installation, pipeline: ff.Pipeline) -> ff.Task:
    installation.know(pipeline)
    task = installation.client.submit(pipeline, items=["page"])
    installation.work()
    return installation.client.get(task.id)


def test_the_stage_behind_a_gate_reads_the_answer(installation: Installation) -> None:
    task = waiting(installation, printing())
    assert task.state == "waiting"
    assert task.wait_reason == "waits for your answer before issue: Tone, Copies, Approved"
    assert task.asks is not None
    assert task.asks["required"] == ["tone", "approved"]
    assert task.asks["properties"]["tone"]["enum"] == ["formal", "plain"]
    installation.client.resume(task.id, {"tone": "plain", "approved": "no"})
    assert installation.completed(task) == {"tone": "plain", "copies": 1, "approved": False}
    (kept,) = installation.client.answers(task.id)
    assert (kept.stage, kept.answer["tone"], kept.actor) == ("issue", "plain", "person")
    last = [event for event in installation.client.events(task.id) if event.verb == "resume"][-1]
    assert last.reason is not None
    assert '"tone":"plain"' in last.reason.replace(" ", "")
    assert installation.client.get(task.id).asks is None


REFUSED: list[tuple[Any, str]] = [
    (None, "needs an answer to tone, approved"),
    ({"tone": "", "approved": True}, "needs an answer to tone"),
    ({"tone": "loud", "approved": True}, "formal"),
    ({"tone": "plain", "approved": True, "copies": 10}, "from 1 to 9"),
    ({"tone": "plain", "approved": True, "colour": 1}, "colour"),
    ({"tone": "plain", "approved": "perhaps"}, "approved"),
    (["plain"], "answer"),
]


def test_an_answer_that_does_not_fit_changes_nothing(installation: Installation) -> None:
    task = waiting(installation, printing())
    before = installation.rows()
    for answer, said in REFUSED:
        with pytest.raises(ff.BadInput, match=said):
            installation.client.resume(task.id, answer)
        assert installation.rows() == before


def test_an_answer_that_nobody_asked_for_is_refused(installation: Installation) -> None:
    """A paused task is not at a gate: taking the answer would lose it silently."""
    installation.know(printing())
    task = installation.client.submit(installation.pipelines[0], items=["page"])
    installation.client.pause(task.id)
    with pytest.raises(ff.BadInput, match="does not wait for an answer"):
        installation.client.resume(task.id, {"tone": "plain"})
    assert installation.client.resume(task.id).state == "active"


def test_only_resume_passes_a_gate_that_asks_and_a_rerun_asks_again(installation: Installation) -> None:
    """`merge` would pass it without an answer. After a rerun, the new answer counts and the old one is kept."""
    task = waiting(installation, printing(TONE, kind="merge"))
    assert "merge" not in task.available_commands
    with pytest.raises(ff.IllegalMove, match="needs an answer"):
        installation.client.merge(task.id)
    installation.client.resume(task.id, {"tone": "plain"})
    assert installation.completed(task) == [["page"], {"tone": "plain"}]
    installation.client.rerun(task.id)
    installation.work()
    installation.client.resume(task.id, {"tone": "formal"})
    assert installation.completed(task) == [["page"], {"tone": "formal"}]
    assert [one.answer["tone"] for one in installation.client.answers(task.id)] == ["plain", "formal"]


def test_a_partial_task_that_is_merged_still_stops_at_a_gate_that_asks(installation: Installation) -> None:
    """Merging without the failed items is no answer."""
    made = printing(TONE, kind="merge")
    made.stages["draft"] = made.stages["draft"].__class__(made.stages["draft"].planned, _fails, retry=ff.Retry(limit=0))
    installation.know(made)
    task = installation.client.submit(made, items=["good", "bad"])
    installation.work()
    assert installation.client.get(task.id).state == "partial"
    assert installation.client.merge(task.id).state == "waiting"
    installation.client.resume(task.id, {"tone": "plain"})
    assert installation.completed(task)[1] == {"tone": "plain"}


@pytest.mark.parametrize("redo", ["item", "merge", "decision"])
def test_what_was_made_again_is_not_passed_by_the_answer_given_before(
    installation: Installation, clock: HandClock, redo: str
) -> None:
    """The answer was given to the old result. A redo of the stage behind the gate needs none: it sees the same result."""
    task = waiting(installation, printing_twice())
    installation.client.resume(task.id, {"tone": "plain"})
    assert installation.completed(task) == ["draft of page, 1", "plain"]
    if redo == "item":
        installation.client.retry(task.id, ["1"], stage="draft")
    elif redo == "merge":
        installation.client.merge(task.id)
    else:
        installation.client.decide(task.id, "1", "part", "reject", stage="draft")
        clock.advance(60)
    installation.work()
    assert installation.client.get(task.id).state == "waiting", "a person has not seen what was made again"
    installation.client.resume(task.id, {"tone": "formal"})
    assert installation.completed(task)[1] == "formal"
    installation.client.retry(task.id, ["1"], stage="publish")
    assert installation.completed(task)[1] == "formal"


def printing_twice() -> ff.Pipeline:
    """A draft with a number that grows, a merge, a gate that asks, and the stage behind it."""
    made, times = ff.Pipeline("press"), itertools.count(1)

    @made.each
    def draft(item: Any) -> Any:
        return f"draft of {item.input}, {next(times)}"

    @made.merge
    def bind(task: Any, results: Any) -> Any:
        return "; ".join(result.output for result in results)

    @made.step(gate=Gate(TONE))
    def publish(task: Any) -> Any:
        return [task.previous, task.answer()["tone"]]

    return made


def _fails(item: Any) -> Any:
    if item.input == "bad":
        raise ff.Permanent("bad")
    return item.input


def test_going_straight_through_needs_defaults(installation: Installation) -> None:
    made = installation.know(printing())
    with pytest.raises(ff.BadInput, match="needs an answer to tone, approved"):
        installation.client.submit(made, items=["page"], straight_through=True)
    made = installation.know(printing(COPIES))
    task = installation.client.submit(made, items=["page"], straight_through=True)
    assert installation.completed(task) == {"copies": 1}


@pytest.mark.one_database
def test_a_gate_asks_with_plain_data_only() -> None:
    """Any process must be able to check an answer without the code of the pipeline."""
    for option in (
        ff.Option("a", "secret", apply=_fails),
        ff.Option("a", check=lambda text: None),
        ff.Option("a", hidden=True),
    ):
        with pytest.raises(ff.BadPipeline, match="cannot be secret"):
            Gate(option)
    with pytest.raises(ff.BadPipeline, match="asks with options"):
        Gate("tone")  # type: ignore[arg-type]
    many = ff.Option("kinds", "choice", choices=("a", "b"), many=True, default=("a",))
    assert asked_by(Gate(many, TONE).stored()) == {"kinds": many, "tone": TONE}


def test_the_answer_of_a_second_person_does_not_pass_the_next_gate(installation: Installation) -> None:
    """Both saw the first gate, and the task has come to the next one before the second person answered."""
    twice = ff.Pipeline("twice")
    ask = ff.Gate(ff.Option("fine", "flag"))
    twice.step(name="draft")(lambda task: 1)
    twice.step(name="print", gate=ask)(lambda task: 2)
    twice.step(name="send", gate=ask)(lambda task: 3)
    client = installation.client
    task = client.submit(installation.know(twice))
    installation.work()
    client.resume(task.id, {"fine": True}, stage="print")
    with pytest.raises(ff.IllegalMove):
        client.resume(task.id, {"fine": True}, stage="print")
    installation.work()
    assert client.get(task.id).stage == "send"
    with pytest.raises(ff.IllegalMove, match="no longer waits before print"):
        client.resume(task.id, {"fine": True}, stage="print")
    assert (client.get(task.id).state, len(client.answers(task.id))) == ("waiting", 1)
    client.resume(task.id, {"fine": False}, stage="send")
    installation.work()
    assert client.get(task.id).state == "completed"
