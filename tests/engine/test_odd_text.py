"""Text that no database can store is refused with a reason, or matches nothing."""

from collections.abc import Callable
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine import tokens
from fanfold.engine.client import Client
from fanfold.engine.queries.web_queries import WebQueries
from tests.engine.pipelines import batch
from tests.installation import Installation

ODD = ("a\0b", "\ud800", "\udcff")


@pytest.fixture(params=ODD, ids=["NUL", "high surrogate", "byte of a command line"])
def odd(request: pytest.FixtureRequest) -> str:
    """Text that cannot be kept."""
    return str(request.param)


def submitted(installation: Installation) -> ff.Task:
    return installation.client.submit(installation.know(batch()), items=["a", "bad"])


REFUSED: dict[str, Callable[[Client, str, str], Any]] = {
    "reason of a pause": lambda client, task, odd: client.pause(task, odd),
    "reason of a cancel": lambda client, task, odd: client.cancel(task, odd),
    "reason of a decision": lambda client, task, odd: client.external(task, "lost", reason=odd),
    "value of an option": lambda client, task, odd: client.retry(task, options={"x": odd}),
    "name of an option": lambda client, task, odd: client.retry(task, options={odd: 1}),
    "actor": lambda client, task, odd: Client(store=client.store, actor=odd),
    "owner": lambda client, task, odd: Client(store=client.store, owner=odd),
    "owner of a token": lambda client, task, odd: tokens.create(client.store, "ann", owner=odd),
}


@pytest.mark.parametrize("what", REFUSED)
def test_text_that_cannot_be_kept_is_refused(installation: Installation, what: str, odd: str) -> None:
    task = submitted(installation)
    installation.work()
    before = installation.rows()
    with pytest.raises(ff.BadInput, match=r"NUL|surrogate"):
        REFUSED[what](installation.client, task.id, odd)
    assert installation.rows() == before


UNKNOWN: dict[str, Callable[[Client, str, str], Any]] = {
    "a task": lambda client, task, odd: client.get(odd),
    "the beginning of an id": lambda client, task, odd: client.get(task[:6] + odd),
    "an item to retry": lambda client, task, odd: client.retry(task, [odd]),
    "a stage to retry": lambda client, task, odd: client.retry(task, stage=odd),
    "an item to decide about": lambda client, task, odd: client.external(task, "lost", [odd]),
    "an output": lambda client, task, odd: client.output(task, odd),
    "an item": lambda client, task, odd: client.item(task, odd),
    "the last item seen": lambda client, task, odd: client.items(task, after=odd),
    "the last task seen": lambda client, task, odd: client.list(after=odd),
    "a stage": lambda client, task, odd: client.items(task, stage=odd),
    "calls of an item": lambda client, task, odd: client.calls(task, odd),
    "a file": lambda client, task, odd: WebQueries(client.lookup).file(task, odd),
    "a token": lambda client, task, odd: tokens.revoke(client.store, odd),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_text_that_cannot_be_kept_names_nothing(installation: Installation, what: str, odd: str) -> None:
    task = submitted(installation)
    installation.work()
    with pytest.raises(ff.NotFound):
        UNKNOWN[what](installation.client, task.id, odd)


def test_a_search_for_text_that_cannot_be_kept_finds_nothing(installation: Installation, odd: str) -> None:
    task = submitted(installation)
    client = installation.client
    for name in ("pipeline", "owner", "tag", "text"):
        wanted: dict[str, Any] = {name: odd}
        assert client.list(**wanted) == [], name
    assert client.items(task.id, keys=[odd, "2"])[0].key == "2"
    assert client.by_key(odd) is None


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda client, task: client.get(5), "The id of a task must be text, not 5"),
        (lambda client, task: client.retry(task, "12"), "`items` must be a list of keys, not '12'"),
        (lambda client, task: client.retry(task, [2]), "and 2 is not text"),
        (lambda client, task: client.retry(task, options="x"), "`options` must be a dict, not 'x'"),
        (lambda client, task: client.items(task, keys="12"), "`keys` must be a list of keys, not '12'"),
        (lambda client, task: client.external(task, "lost", "12"), "`items` must be a list of keys"),
        (lambda client, task: client.external(task, "nope"), "Unknown command nope for external jobs"),
        (lambda client, task: client.cancel(task, 5), "The reason must be text, not 5"),
        (lambda client, task: Client(store=client.store, actor="a" * 101), "The actor must have 1 to 100 characters"),
    ],
)
def test_values_of_the_wrong_kind_are_refused_in_a_sentence(
    installation: Installation, act: Callable[[Client, str], Any], said: str
) -> None:
    task = submitted(installation)
    with pytest.raises(ff.BadInput, match=said):
        act(installation.client, task.id)


def test_events_behind_any_number_can_be_asked_for(installation: Installation) -> None:
    task = submitted(installation)
    assert installation.client.events(task.id, after=10**30) == []
    assert len(installation.client.events(task.id, after=-(10**30))) == 1
