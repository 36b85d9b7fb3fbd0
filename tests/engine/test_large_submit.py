"""Many items given at submit are written in short transactions, all or none, without user code inside one."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.many_items import new_items as spooling
from fanfold.engine.tasks.many_items.draft import write_items
from fanfold.store.items.large.drafts import CHUNK
from tests.engine.pipelines import batch
from tests.installation import HandClock, Installation
from tests.rows import rows_counted

ITEMS = 20_000
MOST_ROWS = 2 * CHUNK + 50
"""An item is a row with its state and one with its input; then there are the draft, the task and the event."""


class PulledPlug(Exception):
    """The process died here."""


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> int:
    """Allow few items per transaction, so that ten are many."""
    monkeypatch.setattr(spooling, "CHUNK", 4)
    return 4


def keys(installation: Installation) -> list[tuple[int, Any]]:
    """(position, input) of all items, hidden ones too."""
    rows = installation.sql(
        "SELECT items.seq, item_data.input FROM items LEFT JOIN item_data ON item_data.item = items.id ORDER BY items.id"
    )
    return [(row.seq, row.input) for row in rows]


def test_no_transaction_of_a_large_submit_writes_more_than_a_bounded_number_of_rows(
    installation: Installation,
) -> None:
    with rows_counted(installation.store) as meter:
        task = installation.client.submit(batch(), items=({"number": n} for n in range(ITEMS)), key="k")
    assert meter.most <= MOST_ROWS
    assert meter.commits >= ITEMS / CHUNK
    assert task.total == ITEMS
    assert keys(installation) == [(n + 1, f'{{"number":{n}}}') for n in range(ITEMS)]
    assert installation.rows()["drafts"] == []
    assert list(installation.store.scratch.glob("*")) == []


def test_the_users_iterable_is_used_up_before_any_transaction(installation: Installation, small_chunks: int) -> None:
    """Others write while the items arrive: on SQLite an open transaction would block them."""

    def items() -> Iterator[int]:
        for number in range(10):
            other = threading.Thread(target=installation.client.submit, args=(batch(),), kwargs={"items": [number]})
            other.start()
            other.join(60)
            assert not other.is_alive()
            yield number

    task = installation.client.submit(batch(), items=items())
    assert task.total == 10
    assert len(installation.client.list()) == 11


def test_an_iterable_that_fails_half_way_leaves_nothing(installation: Installation, small_chunks: int) -> None:
    def items() -> Iterator[Any]:
        yield from range(10)
        yield "x" * 2_000_000
        raise PulledPlug

    before = installation.rows()
    with pytest.raises(PulledPlug):
        installation.client.submit(batch(), items=items(), key="k")
    assert installation.rows() == before
    assert installation.blobs() == []
    assert list(installation.store.scratch.glob("*")) == []


@pytest.mark.parametrize("commit", range(6))
def test_a_large_submit_that_dies_between_chunks_shows_nothing_and_is_swept(
    installation: Installation, small_chunks: int, clock: HandClock, monkeypatch: pytest.MonkeyPatch, commit: int
) -> None:
    """Commits are: the number and the draft, three chunks, the statistics (PostgreSQL), the task."""
    pipeline = installation.know(batch())
    monkeypatch.setattr("fanfold.engine.tasks.submitting.submit.Making._give_up", lambda *_: None)
    items = [*range(9), "x" * 1_500_000]

    def die(number: int) -> None:
        if number == commit:
            raise PulledPlug

    with rows_counted(installation.store) as meter:
        meter.before_commit = die
        try:
            installation.client.submit(pipeline, items=items, key="k")
        except PulledPlug:
            assert installation.client.list() == []
        else:
            assert commit >= 5
            return
    # The next attempt creates exactly the items, once; the leftovers of the dead one are removed when they are old.
    task = installation.client.submit(pipeline, items=items, key="k")
    assert len(installation.client.items(task.id, limit=100)) == 10
    installation.sweep()
    clock.advance(3600)
    installation.sweep()
    assert [seq for seq, _ in keys(installation)] == list(range(1, 11))
    assert installation.rows()["drafts"] == []
    assert [row[1] for row in installation.rows()["blobs"]] == [installation.sql("SELECT number FROM tasks")[0].number]


def test_a_large_submit_that_is_refused_removes_what_it_wrote(installation: Installation, small_chunks: int) -> None:
    items = [ff.NewItem(f"k{n}", "x" * 1_100_000 if n == 2 else n) for n in range(9)] + [ff.NewItem("k1", 0)]
    before = installation.rows()
    with pytest.raises(ff.BadInput, match="have the key"):
        installation.client.submit(batch(), items=items)
    assert installation.rows() == before
    assert installation.blobs() == []


def test_a_large_submit_that_loses_the_race_for_its_key_removes_what_it_wrote(
    installation: Installation, small_chunks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    winner: list[ff.Task] = []

    def overtaken(*arguments: Any, **named: Any) -> bool:
        if not winner:
            winner.append(installation.client.submit(batch(), items=[1, 2, 3], key="k"))
        return write_items(*arguments, **named)

    monkeypatch.setattr("fanfold.engine.tasks.submitting.submit.write_items", overtaken)
    with pytest.raises(ff.FanfoldError, match=r"belongs to task"):
        installation.client.submit(batch(), items=range(10), key="k")
    assert len(installation.client.list()) == 1
    assert [seq for seq, _ in keys(installation)] == [1, 2, 3]
    assert installation.rows()["drafts"] == []


def test_a_submit_that_slept_too_long_begins_again_and_gives_each_item_once(
    installation: Installation, small_chunks: int, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[bool] = []

    def sleepy(*arguments: Any, **named: Any) -> bool:
        written = write_items(*arguments, **named)
        if not slept:
            slept.append(True)
            clock.advance(7200)
            installation.sweep()
        return written

    monkeypatch.setattr("fanfold.engine.tasks.submitting.submit.write_items", sleepy)
    task = installation.client.submit(batch(), items=range(10))
    assert task.total == 10
    assert [seq for seq, _ in keys(installation)] == list(range(1, 11))


@pytest.mark.parametrize("many", [False, True])
@pytest.mark.parametrize(
    "items",
    [
        pytest.param([0, ff.NewItem("3", 0), 0, 0, 0, 0], id="a key that is a later position"),
        pytest.param([0, 0, 0, 0, 0, ff.NewItem("1", 0)], id="a key that is an earlier position"),
    ],
)
def test_a_key_that_is_the_position_of_an_item_without_one_is_refused(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, many: bool, items: list[Any]
) -> None:
    monkeypatch.setattr(spooling, "CHUNK", 2 if many else 100)
    before = installation.rows()
    with pytest.raises(ff.BadInput, match=r"Item \d has the key '(\d)', and item \1 has no key"):
        installation.client.submit(batch(), items=items)
    assert installation.rows() == before


def test_numbers_as_keys_are_fine_where_no_item_without_a_key_stands_there(installation: Installation) -> None:
    pipeline = installation.know(batch())
    items = [ff.NewItem("1", "a"), ff.NewItem("9", "b"), "c", ff.NewItem("03", "d"), ff.NewItem("٣", "e")]
    task = installation.client.submit(pipeline, items=items)
    installation.work()
    for key in ("1", "9", "3", "03", "٣"):
        assert [item.key for item in installation.client.items(task.id, keys=[key])] == [key]
    installation.client.retry(task.id, ["3"])
    assert installation.states(task).split().count("pending") == 1
