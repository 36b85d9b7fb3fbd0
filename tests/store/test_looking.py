"""The search for work finds every task that has some, in pages of bounded size."""

from collections.abc import Iterator

import pytest

from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import Task
from fanfold.store.items.find_work import TOP, Pair, Position, Ready, Served
from tests.installation import HandClock, Installation, number_of

PAGES, BIND = ("book", "pages"), ("book", "bind")
SERVED = Served([PAGES, BIND])


def work(_work: object, *_more: object) -> None:
    """A handler."""


@pytest.fixture(autouse=True)
def book(installation: Installation) -> Pipeline:
    made = Pipeline("book")
    made.each(name="pages")(work)
    made.merge(name="bind")(work)
    return installation.know(made)


def submit(installation: Installation, count: int = 1, **how: object) -> int:
    """A new task, by its number."""
    task: Task = installation.client.submit(installation.pipelines[0], items=range(count), **how)  # type: ignore[arg-type]
    return number_of(installation, task)


def claim(installation: Installation, number: int, count: int = 100) -> list[dict[str, int]]:
    with installation.store.write() as tx:
        found = tx.claiming.claim(Ready(number, *PAGES, 0), "w", count, timeout=60)
    return [{"id": one.id, "lease": one.lease} for one in found]


def pages(installation: Installation, size: int, served: Served = SERVED) -> Iterator[list[int]]:
    """What each page of one lap finds."""
    starts: dict[Pair, Position] = dict.fromkeys(served.pairs, TOP)
    while starts:
        with installation.store.read() as tx:
            page = tx.looking.walk(served, starts, size)
        yield [ready.task for ready in sorted(page.found, key=lambda ready: (-ready.priority, ready.task))]
        starts = page.ends


def test_tasks_are_found_by_priority_and_then_by_age(installation: Installation) -> None:
    low, high, middle, also_high = (submit(installation, priority=priority) for priority in (-1, 5, 0, 5))
    assert list(pages(installation, 10)) == [[high, also_high, middle, low]]
    assert list(pages(installation, 3)) == [[high, also_high, middle], [low]]
    assert list(pages(installation, 2)) == [[high, also_high], [middle, low], []]
    assert list(pages(installation, 1)) == [[high], [also_high], [middle], [low], []]


def test_a_task_knows_its_owner(installation: Installation) -> None:
    submit(installation, owner="alice", priority=3)
    with installation.store.read() as tx:
        assert tx.looking.walk(SERVED, {PAGES: TOP}, 10).found == [Ready(1, *PAGES, 3, "alice")]


def test_tasks_without_work_are_passed_and_do_not_hide_the_others(installation: Installation) -> None:
    for _ in range(5):
        claim(installation, submit(installation, priority=9))
    last = submit(installation)
    assert [found for page in pages(installation, 2) for found in page] == [last]


@pytest.mark.parametrize("command", ["pause", "cancel"])
def test_tasks_that_are_not_active_are_not_walked(installation: Installation, command: str) -> None:
    for _ in range(3):
        task = installation.client.submit(installation.pipelines[0], items=[1])
        getattr(installation.client, command)(task.id)
    assert list(pages(installation, 1)) == [[]]


def test_stages_have_their_own_pages(installation: Installation) -> None:
    first, second, third = (submit(installation) for _ in range(3))
    installation.sql("UPDATE tasks SET stage = 'bind' WHERE number = 2")
    installation.sql("UPDATE items SET stage = 'bind' WHERE task = 2")
    with installation.store.read() as tx:
        page = tx.looking.walk(SERVED, {PAGES: TOP, BIND: TOP}, 1)
        assert {ready.task for ready in page.found} == {first, second}
        assert page.ends == {PAGES: Position(0, first), BIND: Position(0, second)}
        page = tx.looking.walk(SERVED, {PAGES: page.ends[PAGES]}, 5)
        assert [ready.task for ready in page.found] == [third]
        assert page.ends == {}


def test_only_served_stages_are_looked_for(installation: Installation) -> None:
    submit(installation)
    for served in (Served([BIND, ("other", "pages")]), Served([])):
        assert [found for page in pages(installation, 10, served) for found in page] == []
        with installation.store.read() as tx:
            assert tx.looking.news(served, 0, [], 10) == ([], 1)


def test_known_tasks_are_left_out_in_their_stage_only(installation: Installation) -> None:
    known, new = submit(installation), submit(installation)
    with installation.store.read() as tx:
        for stage, expected in (("pages", [new]), ("bind", [known, new])):
            found = tx.looking.walk(SERVED, {PAGES: TOP}, 10, [Ready(known, "book", stage, 0)]).found
            assert sorted(ready.task for ready in found) == expected


def test_more_stages_than_fit_into_one_statement_are_walked(installation: Installation) -> None:
    served = Served([("book", f"a{number}") for number in range(120)] + [PAGES])
    number = submit(installation)
    assert list(pages(installation, 10, served)) == [[number]]


def test_news_are_what_was_submitted_or_moved_since(installation: Installation) -> None:
    old, moved = submit(installation), submit(installation)
    with installation.store.read() as tx:
        newest = tx.looking.newest()
        assert tx.looking.news(SERVED, newest, [], 10) == ([], newest)
    new = submit(installation, priority=2, owner="bob")
    busy = submit(installation)
    claim(installation, busy)
    with installation.store.read() as tx:
        found, newest = tx.looking.news(SERVED, newest, [moved], 10)
        assert sorted(found) == [Ready(moved, *PAGES, 0), Ready(new, *PAGES, 2, "bob")]
        assert newest == busy
        assert tx.looking.news(SERVED, old, [], 1)[1] == moved, "no more than asked for"


def back_off(installation: Installation, number: int) -> None:
    rows = [row | {"delay": 1, "counted": 1} for row in claim(installation, number)]
    with installation.store.write() as tx:
        assert tx.settling.back_off(rows)


def test_paused_tasks_with_overdue_items_do_not_hide_an_active_one(
    installation: Installation, clock: HandClock
) -> None:
    numbers = [submit(installation, 3) for _ in range(4)]
    for number in numbers:
        back_off(installation, number)
        clock.advance(1)
    installation.sql("UPDATE tasks SET state = 'paused' WHERE number < 4")
    end, found = None, []
    for _ in range(7):
        with installation.store.read() as tx:
            page = tx.looking.due(SERVED, 2, end)
        found += [ready.task for ready in page.found]
        end = page.end
        if end is None:
            break
    assert found == numbers[3:]
    assert end is None


def test_many_items_due_at_the_same_moment_are_walked_to_the_end(installation: Installation, clock: HandClock) -> None:
    numbers = [submit(installation, 5) for _ in range(3)]
    for number in numbers:
        back_off(installation, number)
    with installation.store.read() as tx:
        assert tx.looking.due(SERVED, 100).found == []
        assert tx.looking.seconds_to_next() == pytest.approx(1)
    clock.advance(2)
    found, end = set(), None
    for _ in range(20):
        with installation.store.read() as tx:
            page = tx.looking.due(SERVED, 2, end)
        found |= {ready.task for ready in page.found}
        end = page.end
        if end is None:
            break
    assert found == set(numbers)
    assert end is None
