"""Items that a handler adds while its stage runs."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import sqlalchemy as sa

import fanfold as ff
from fanfold.engine.tasks.recovery.sweep import clean_rows
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.model.endings import Ending
from fanfold.model.item import AddedItem, Claimed
from fanfold.store.schema.tables import items
from tests.engine.pipelines import batch
from tests.installation import Installation
from tests.rows import rows_counted

LINKS = {"a": ["b", "c"], "b": ["c", "d"], "c": ["a"], "d": []}


def crawl(links: dict[str, list[str]] | None = None, **rules: Any) -> ff.Pipeline:
    """Follow links from page to page, and list the pages."""
    pages = LINKS if links is None else links
    made = ff.Pipeline("crawl")

    @made.each(**{"name": "fetch", "retry": ff.Retry(limit=0), **rules})
    def fetch(item: Any) -> str:
        item.add(*(ff.NewItem(key=link, input=link) for link in pages[item.input]))
        return str(item.input).upper()

    @made.merge
    def bind(task: Any, results: Any) -> list[str]:
        return [result.output for result in results]

    return made


def fetched(one: Claimed, *keys: str) -> Settlement:
    """A page that is done, and what it links to."""
    return Settlement(one, Ending.FINISH, output='"done"', added=tuple(AddedItem(key, f'"{key}"') for key in keys))


def keys_of(installation: Installation, stage: str = "fetch") -> list[tuple[int, str, str]]:
    with installation.store.read() as tx:
        found = sa.select(items.c.seq, items.c.key, items.c.state).where(items.c.stage == stage).order_by(items.c.seq)
        return [tuple(row) for row in tx.connection.execute(found)]


def test_handlers_add_items_until_nothing_new_is_found(installation: Installation) -> None:
    """The stage ends once every page was fetched, each exactly once."""
    pipeline = installation.know(crawl())
    task = installation.client.submit(pipeline, items=[ff.NewItem(key="a", input="a")])
    installation.worker().run()
    done = installation.client.get(task.id)
    assert (done.state, installation.client.result(task.id)) == ("completed", ["A", "B", "C", "D"])
    assert keys_of(installation) == [(1, "a", "done"), (2, "b", "done"), (3, "c", "done"), (4, "d", "done")]


def test_added_items_appear_with_the_result_and_the_task_stays_in_its_stage(installation: Installation) -> None:
    """Progress counts them from that moment: the total grows, and the task does not move on."""
    task = installation.client.submit(installation.know(crawl()), items=[ff.NewItem(key="a", input="a")])
    worker = installation.worker()
    [one] = worker.claim()
    assert installation.client.get(task.id).stages[0].counts == {"running": 1}
    worker.settle(fetched(one, "b", "c"))
    seen = installation.client.get(task.id)
    assert (seen.state, seen.stage, seen.stages[0].counts) == ("active", "fetch", {"done": 1, "pending": 2})


def test_a_lost_lease_adds_nothing(installation: Installation) -> None:
    """The attempt that holds the item now adds what it finds."""
    installation.client.submit(installation.know(crawl()), items=[ff.NewItem(key="a", input="a")])
    worker = installation.worker()
    [late] = worker.claim()
    with installation.store.write() as tx:
        tx.settling.release([{"id": late.id, "lease": late.lease}])
    [now] = worker.claim()
    worker.settle(fetched(late, "stale"))
    assert [key for _, key, _ in keys_of(installation)] == ["a"]
    worker.settle(fetched(now, "b"))
    worker.settle(fetched(now, "b", "twice"))
    assert [key for _, key, _ in keys_of(installation)] == ["a", "b"]


def test_a_paused_task_takes_neither_the_result_nor_the_items(installation: Installation) -> None:
    """They come with the attempt after the resume."""
    task = installation.client.submit(installation.know(crawl()), items=[ff.NewItem(key="a", input="a")])
    worker = installation.worker()
    [one] = worker.claim()
    installation.client.pause(task.id)
    worker.settle(fetched(one, "b"))
    assert keys_of(installation) == [(1, "a", "pending")]


@pytest.mark.parametrize("ending", [Ending.FAIL, Ending.BACK_OFF, Ending.POSTPONE, Ending.RELEASE])
def test_only_a_finished_item_adds(installation: Installation, ending: Ending) -> None:
    """An attempt that failed or waits may add the same later."""
    installation.client.submit(installation.know(crawl(tolerate=1)), items=[ff.NewItem(key="a", input="a")])
    worker = installation.worker()
    [one] = worker.claim()
    worker.settle(fetched(one, "b")._replace(ending=ending, error_code="x", error_message="x", output=None))
    assert [key for _, key, _ in keys_of(installation)] == ["a"]


def test_a_key_that_the_stage_has_is_not_added_again(installation: Installation) -> None:
    """The first input counts. An item without a key answers to its position."""
    pipeline = installation.know(crawl())
    installation.client.submit(pipeline, items=[ff.NewItem(key="a", input="a"), "x", ff.NewItem(key="c", input="c")])
    worker = installation.worker()
    first, second, third = worker.claim()
    worker.settle(fetched(first, "b", "2", "3"), fetched(second, "b", "a"), fetched(third, "b", "7", "007"))
    assert [key for _, key, _ in keys_of(installation)] == ["a", None, "c", "b", "3", "7", "007"]


def test_redoing_an_item_keeps_what_it_added(installation: Installation) -> None:
    """Paid work is kept: the same keys stay done, new ones are added, and what it no longer adds stays too."""
    links = {"a": ["b", "c"], "b": [], "c": [], "d": []}
    pipeline = installation.know(crawl(links))
    task = installation.client.submit(pipeline, items=[ff.NewItem(key="a", input="a")])
    installation.worker().run()
    links["a"] = ["c", "d"]
    installation.client.retry(task.id, ["a"])
    begun = installation.sql("SELECT sum(lease) FROM items WHERE stage = 'fetch'")
    installation.worker().run()
    assert installation.client.result(task.id) == ["A", "B", "C", "D"]
    assert installation.sql("SELECT sum(lease) FROM items WHERE stage = 'fetch'")[0][0] == begun[0][0] + 2


def test_a_rerun_after_a_split_starts_without_the_added_items(installation: Installation) -> None:
    """They are found again by the handlers."""
    pipeline = ff.Pipeline("site")
    links = {"a": ["b"], "b": []}

    @pipeline.split
    def start(task: Any) -> Any:
        yield ff.NewItem(key="a", input="a")

    @pipeline.each
    def fetch(item: Any) -> str:
        item.add(*(ff.NewItem(key=link, input=link) for link in links[item.input]))
        return str(item.input)

    installation.know(pipeline)
    task = installation.client.submit(pipeline)
    installation.worker().run()
    assert [key for _, key, _ in keys_of(installation)] == ["a", "b"]
    links["a"] = []
    installation.client.rerun(task.id)
    installation.worker().run()
    assert [key for _, key, _ in keys_of(installation)] == ["a"]


def test_the_files_of_an_added_item_outlive_the_attempt_that_wrote_them(installation: Installation) -> None:
    """Redoing the item that added it makes its own blobs worthless, but not these."""
    pipeline = ff.Pipeline("pictures")

    @pipeline.each(retry=ff.Retry(limit=0))
    def look(item: Any) -> Any:
        if item.key == "a":
            picture = item.write("p.txt", "picture")
            item.add(ff.NewItem(key="b", input={"file": picture}), ff.NewItem(key="c", input={"text": "y" * 100_000}))
            return "done"
        return item.input["file"].read_text() if item.key == "b" else len(item.input["text"])

    installation.know(pipeline)
    task = installation.client.submit(pipeline, items=[ff.NewItem(key="a", input=0)])
    installation.worker().run()
    installation.client.retry(task.id, ["a"])
    installation.worker().run()
    clean_rows(installation.store)
    installation.client.retry(task.id, ["b", "c"])
    installation.worker().run()
    assert installation.client.result(task.id) == ["done", "picture", 100_000]


@pytest.mark.parametrize("wrong", ["text", ff.NewItem(input=1), ff.NewItem(key="x" * 201, input=1)])
def test_an_item_that_cannot_be_added_fails_its_adder_with_a_reason(installation: Installation, wrong: Any) -> None:
    """Nothing is half added."""

    def handler(item: Any) -> None:
        item.add(ff.NewItem(key="fine", input=1), wrong)

    pipeline = installation.know(batch(handler=handler))
    task = installation.client.submit(pipeline, items=["a"])
    installation.worker().run()
    assert installation.client.get(task.id).state == "failed"
    [item] = installation.client.items(task.id)
    assert "key" in (item.error_message or "")


def test_too_many_added_items_are_refused(installation: Installation) -> None:
    """More than one short transaction can write."""

    def handler(item: Any) -> None:
        item.add(*(ff.NewItem(key=f"k{number}") for number in range(2_001)))

    pipeline = installation.know(batch(handler=handler))
    task = installation.client.submit(pipeline, items=["a"])
    installation.worker().run()
    [item] = installation.client.items(task.id)
    assert "at most 2000" in (item.error_message or "").replace(",", "")


def test_a_second_each_stage_cannot_add(installation: Installation) -> None:
    """Its items are made from those of the stage before, so an added one would have no source."""
    pipeline = ff.Pipeline("chain")
    pipeline.each(name="one")(lambda item: item.input)

    @pipeline.each(name="two", retry=ff.Retry(limit=0))
    def two(item: Any) -> None:
        item.add(ff.NewItem(key="x"))

    installation.know(pipeline)
    task = installation.client.submit(pipeline, items=["a"])
    installation.worker().run()
    assert "made from those of one" in str(installation.client.get(task.id).error_message)


def test_items_added_in_the_first_stage_pass_through_the_next(installation: Installation) -> None:
    """Like all others."""
    pipeline = ff.Pipeline("chain")

    @pipeline.each(name="one")
    def one(item: Any) -> str:
        if item.key == "a":
            item.add(ff.NewItem(key="b", input="b"))
        return str(item.input)

    pipeline.each(name="two")(lambda item: item.input * 2)
    installation.know(pipeline)
    task = installation.client.submit(pipeline, items=[ff.NewItem(key="a", input="a")])
    installation.worker().run()
    assert installation.client.result(task.id) == ["aa", "bb"]


def test_one_transaction_writes_a_bounded_number_of_added_items(installation: Installation) -> None:
    """Twenty items that each add hundreds are settled in several transactions."""
    installation.client.submit(installation.know(crawl()), items=[f"p{number}" for number in range(20)])
    worker = installation.worker()
    added = [fetched(one, *(f"{one.key}-{number}" for number in range(300))) for one in worker.claim()]
    with rows_counted(installation.store) as meter:
        worker.settle(*added)
    assert len(keys_of(installation)) == 20 + 20 * 300
    assert meter.most <= 3_000


def test_two_workers_that_add_at_the_same_time_wait_for_each_other(installation: Installation) -> None:
    """On PostgreSQL the task's lock orders them; without it both would choose the same position."""
    pages = [ff.NewItem(key=key, input=key) for key in ("a", "b")]
    installation.client.submit(installation.know(crawl()), items=pages)
    one, two = installation.worker("one"), installation.worker("two")
    [first], [second] = one.claim(free=1), two.claim(free=1)
    threads = [
        threading.Thread(target=one.settle, args=(fetched(first, *(f"x{n}" for n in range(200))),)),
        threading.Thread(target=two.settle, args=(fetched(second, *(f"x{n}" for n in range(100, 300))),)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    found = keys_of(installation)
    assert [seq for seq, _, _ in found] == list(range(1, 303))
    assert len({key for _, key, _ in found}) == 302
    assert {state for _, _, state in found[:2]} == {"done"}
