"""Lists of tasks are complete and in order, whatever they are restricted to."""

import importlib.util
import itertools

import pytest

import fanfold as ff
from fanfold.model.task import Task
from fanfold.store.items.awaited import subtasks
from tests.installation import HandClock, Installation

STATES = ("active", "paused", "cancelled")


def pages(client: ff.Client, sort: str, states: tuple[str, ...]) -> list[Task]:
    """All tasks in these states, read two at a time."""
    found: list[Task] = []
    while True:
        page = client.list(states=states, sort=sort, limit=2, after=found[-1].cursor if found else None)
        found += page
        if len(page) < 2:
            return found


def nothing(_item: object) -> None:
    """A handler."""


@pytest.fixture
def listed(installation: Installation, clock: HandClock) -> ff.Client:
    """Ten tasks, of which some were paused and some cancelled, each at a time of its own."""
    installation.know(ff.Pipeline("listed"))
    installation.pipelines[-1].each(name="one")(nothing)
    client = installation.client
    made = []
    for number in range(10):
        made.append(client.submit(installation.pipelines[-1], items=[1], title=f"{number}").id)
        clock.advance(1)
    for position in (7, 1, 4):
        client.pause(made[position])
        clock.advance(1)
    for position in (8, 2):
        client.cancel(made[position])
        clock.advance(1)
    return client


@pytest.mark.parametrize("sort", ["newest", "oldest", "updated"])
def test_tasks_in_several_states_are_listed_page_by_page_in_every_order(listed: ff.Client, sort: str) -> None:
    everything = [task for task in pages(listed, sort, ()) if task.state in STATES]
    assert len(everything) == 10
    for count in (1, 2, 3):
        for states in itertools.permutations(STATES, count):
            wanted = [task.id for task in everything if task.state in states]
            assert [task.id for task in pages(listed, sort, states)] == wanted


def test_the_columns_of_a_table_alias_exist_before_threads_use_it() -> None:
    """Two workers in one process that sweep for the first time would otherwise make different columns of one alias."""
    found = importlib.util.find_spec(subtasks.__name__)
    assert found is not None
    assert found.loader is not None
    fresh = importlib.util.module_from_spec(found)
    found.loader.exec_module(fresh)
    assert "_columns" in vars(fresh.PARENTS)
