"""Codes and parameters of sentences are stored beside their texts, in every table, clean, and only with their own text."""

import json
from typing import Any

import pytest
import sqlalchemy as sa

import fanfold as ff
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.engine.worker.attempt.attempt_result import MESSAGE_LENGTH, clean
from fanfold.model.text.sentences import Catalogue, Sentence, kept, say
from fanfold.store.schema import tables
from tests.engine.pipelines import batch, one_step
from tests.installation import HandClock, Installation

KEY = "sk-live-9f8e7d6c5b4a/+x"
own = Catalogue("own", {"refused": "{service} refused {what}", "half": "only half of {what}"})
odd = ff.Pipeline("odd")


@odd.each(retry=ff.Retry(limit=0))
def convert(item: ff.ItemWork) -> str:
    """Ends as its key says, with a sentence of its own that has something odd in its parameters."""
    if item.key == "failed":
        raise ff.Permanent(own("refused", service="fake", what=item.input))
    if item.key == "held":
        raise ff.HoldItem(own("refused", service="fake", what=item.input))
    if item.key == "retried":
        raise ff.Temporary(own("refused", service="fake", what=item.input), after=3600, counts=False)
    item.degraded(own("half", what=item.input))
    return "done"


KINDS = ("failed", "held", "retried", "degraded")


def worked(installation: Installation, what: str = "it") -> ff.Task:
    task = installation.client.submit(installation.know(odd), items=[ff.NewItem(key=key, input=what) for key in KINDS])
    installation.work()
    return task


def code_of(text: str | None) -> str | None:
    return text.code if isinstance(text, Sentence) else None


def test_every_text_of_an_item_comes_back_with_its_code(installation: Installation) -> None:
    task = worked(installation)
    client = installation.client
    found = {item.key: item for item in client.items(task.id)}
    assert code_of(found["failed"].error_message) == "own.refused"
    assert code_of(found["retried"].error_message) == "own.refused"
    assert code_of(found["held"].held) == "own.refused"
    assert code_of(found["degraded"].degraded) == "own.half"
    assert found["failed"].error_message == "fake refused it"
    assert [code_of(one.error_message) for one in client.item(task.id, "failed").attempts] == ["own.refused"]
    assert [code_of(message) for _, _, message, _ in client.failures(task.id)] == ["own.refused"]
    assert [code_of(reason) for _, reason, _ in WebQueries(client.lookup).shortfalls(task.id)] == ["own.half"]
    reasons = [event.reason for event in client.events(task.id) if event.item]
    assert [code_of(reason) for reason in reasons] == ["own.refused"] * 3
    waiting = client.get(task.id).wait_reason
    assert isinstance(waiting, Sentence)
    assert (waiting.code, waiting.parameters["why"]["code"]) == ("items_held", "own.refused")


def test_the_error_of_a_task_has_the_sentence_of_its_item_in_it(installation: Installation) -> None:
    def only(_task: ff.TaskWork) -> None:
        raise ff.Permanent(own("refused", service="fake", what="it"))

    task = installation.client.submit(installation.know(one_step(only)))
    installation.work()
    found = installation.client.get(task.id)
    assert (found.state, found.error_message) == ("failed", "only failed: fake refused it")
    for text in (found.error_message, installation.client.events(task.id)[-1].reason):
        assert isinstance(text, Sentence)
        assert (text.code, text.parameters["why"]["code"]) == ("stage_failed", "own.refused")


def test_why_a_task_is_paused_is_kept_with_its_code(installation: Installation) -> None:
    pausing = ff.Pipeline("pausing")

    @pausing.each
    def ask(_item: ff.ItemWork) -> None:
        raise ff.PauseTask(own("refused", service="fake", what="the key"))

    task = installation.client.submit(installation.know(pausing), items=[1])
    installation.work()
    found = installation.client.get(task.id).wait_reason
    assert isinstance(found, Sentence)
    assert found == "paused: fake refused the key"
    assert found.parameters["why"]["code"] == "own.refused"
    installation.client.resume(task.id)
    installation.client.pause(task.id, "a person's own words")
    assert installation.client.get(task.id).wait_reason == "paused: a person's own words"


@pytest.mark.parametrize(
    "what", [f"Bearer {KEY}", "a\0b", "\ud800 half", "long " * 2_000], ids=["key", "NUL", "surrogate", "long"]
)
def test_what_is_odd_in_a_parameter_is_kept_as_it_is_in_the_text(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setenv("MY_API_KEY", KEY)
    said = own("refused", service="fake", what=what)
    cleaned = clean(said, MESSAGE_LENGTH)
    stored = kept(cleaned) or ""
    assert KEY not in stored
    assert "\\u0000" not in stored
    assert "\\ud800" not in stored
    assert len(stored) < 3_000
    pipeline = ff.Pipeline("quoting")

    @pipeline.each(retry=ff.Retry(limit=0))
    def ask(item: ff.ItemWork) -> str:
        item.degraded(said)
        if item.key == "2":
            raise ff.Permanent(said)
        return "done"

    task = installation.client.submit(installation.know(pipeline), items=[1, 2])
    installation.work()
    assert "9f8e7d6c5b4a" not in repr(installation.rows())
    found = installation.client.items(task.id)
    assert [code_of(found[0].degraded), code_of(found[1].error_message)] == ["own.refused"] * 2


def test_a_text_that_an_older_version_wrote_over_a_sentence_is_shown_as_it_is(installation: Installation) -> None:
    task = worked(installation)
    changed: list[tuple[sa.Table, dict[str, Any]]] = [
        (tables.item_data, {"error_message": "RuntimeError", "hold": "wait"}),
        (tables.items, {"degraded": "less"}),
        (tables.tasks, {"reason": None}),
    ]
    with installation.client.store.write() as tx:
        for table, values in changed:
            tx.connection.execute(sa.update(table).values(values))
    found = {item.key: item for item in installation.client.items(task.id)}
    assert (found["failed"].error_message, code_of(found["failed"].error_message)) == ("RuntimeError", None)
    assert (found["held"].held, code_of(found["held"].held)) == ("wait", None)


def test_what_a_handler_says_itself_has_no_code(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch("small")), items=["bad"])
    installation.work()
    message = installation.client.items(task.id)[0].error_message
    assert message
    assert not isinstance(message, Sentence)


def test_a_lost_worker_is_told_of_with_codes(installation: Installation, clock: HandClock) -> None:
    task = installation.client.submit(installation.know(batch("small")), items=["a"])
    worker = installation.worker("gone")
    for _ in range(3):
        assert worker.claim()
        clock.advance(60)
        installation.sweep()
    item = installation.client.items(task.id)[0]
    assert (item.state, code_of(item.error_message)) == ("failed", "poison")
    assert "fanfold retry" in (item.error_message or "")
    reasons = [code_of(event.reason) for event in installation.client.events(task.id) if event.verb == "reclaim"]
    assert reasons == ["worker_died", "worker_died", "poison"]


def test_the_parameters_of_an_event_are_kept_though_its_text_is_cut(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch("small")), items=["a"])
    with installation.client.store.write() as tx:
        reason = say("goes_on_without", why="x" * 2_000)
        tx.events.add([{"task": tx.tasks.resolve(task.id).number, "actor": "me", "verb": "fail", "reason": reason}])
    event = installation.client.events(task.id)[-1]
    assert isinstance(event.reason, Sentence)
    assert (len(event.reason), len(event.reason.parameters["why"])) == (1_000, 2_000)
    assert json.loads(kept(event.reason) or "")["code"] == "goes_on_without"


def test_an_error_gives_the_sentence_it_was_raised_with(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch("small")), items=["a"])
    with pytest.raises(ff.IllegalMove, match="fanfold pause") as caught:
        installation.client.resume(task.id)
    assert caught.value.sentence.code == "refused"
    assert caught.value.sentence.parameters["task"] == task.id
    assert str(caught.value) == caught.value.message == caught.value.sentence
    assert ff.BadInput("said by hand").sentence is None
