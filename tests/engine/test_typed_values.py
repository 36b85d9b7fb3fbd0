"""Values keep their types on the way through submit, split, each, merge and result, in every process."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.client import Client
from tests.engine import typed
from tests.engine.live import Live
from tests.engine.typed import CHAPTERS, Book, Kind, page_of
from tests.installation import HandClock, Installation


def test_types_come_back_in_every_stage_and_in_the_result(installation: Installation) -> None:
    client = installation.client
    task = client.submit(installation.know(typed.book))
    installation.work()
    found = client.result(task.id)
    assert type(found) is Book
    assert found.pages == [page_of(chapter) for chapter in CHAPTERS]
    assert found.loan.microseconds == 1
    first = next(iter(client.results(task.id, "translate")))
    assert (first.input, first.output) == (CHAPTERS[0], page_of(CHAPTERS[0]))
    assert client.output(task.id, "Two", "translate") == page_of(CHAPTERS[1])
    assert client.item(task.id, "Two", "translate").input == CHAPTERS[1]


def test_a_program_that_does_not_know_the_types_gets_readable_json(installation: Installation) -> None:
    task = installation.client.submit(installation.know(typed.book))
    installation.work()
    stranger = Client(store=installation.store)
    found = stranger.output(task.id, "One", "translate")
    assert found["title"] == "One"
    assert found["price"] == Decimal("1.10"), "built-in types are known everywhere"
    plain = Client(store=installation.store, pipelines=[typed.book], plain=True)
    shown = plain.output(task.id, "One", "translate")
    assert shown["price"] == "1.10"
    assert shown["footnotes"] == [{"text": "seven", "added": "2026-11-17T12:00:00Z"}]


@pytest.mark.slow
@pytest.mark.one_database
def test_types_come_back_in_child_processes(live: Live) -> None:
    task = live.client.submit(live.know(typed.isolated_book))
    with live.working():
        live.until(task, "completed", 90)
    found = live.client.result(task.id)
    assert [page.title for page in found.pages] == ["One", "Two"]
    assert all(page.pid not in (0, os.getpid()) for page in found.pages)
    assert found.pages[0].price == Decimal("1.10")


def test_a_function_gets_its_arguments_typed_from_objects_and_from_json(installation: Installation) -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    client = installation.client
    known = installation.know(typed.stamp)
    objects = client.submit(known, CHAPTERS[0], at, Decimal("1.5"), options={"kind": Kind.VERSE, "note": at})
    written = {"title": "One", "written": "1890-01-02", "kind": "verse", "tags": ["a", "b"], "notes": {"7": "seven"}}
    plain = client.submit(known, written, at.isoformat(), "1.5", options={"kind": "verse", "note": "x"})
    installation.work()
    expected = {"chapter": CHAPTERS[0], "at": at, "more": [Decimal("1.5")], "kind": Kind.VERSE}
    assert client.result(objects.id) == {**expected, "note": at}
    assert client.result(plain.id) == {**expected, "note": "x"}


def changed(translate: Any, **named: Any) -> ff.Pipeline:
    """The pipeline with its code changed: the same stages, and other types."""
    book = ff.Pipeline("typed_book", **named)
    book.split(name="chapters")(lambda task: [])
    book.each(name="translate")(translate)
    book.each(name="proofread")(translate)
    book.merge(name="bind")(lambda task, results: None)
    return book


@dataclass(frozen=True)
class Chapter:
    """The class of the same name, as it looks after a change that nobody thought through."""

    title: str
    written: date
    kind: Kind
    tags: frozenset[str]
    notes: dict[int, str]
    language: str


def read_changed(item: ff.ItemWork[Chapter]) -> str:
    """A handler that must not run."""
    raise AssertionError(item)


def read_blindly(item: Any) -> str:
    """A handler that says nothing about its input."""
    return type(item.input).__name__


def split_off(installation: Installation) -> ff.Task:
    """A task whose items are kept, and not yet begun."""
    task = installation.client.submit(installation.know(typed.book))
    worker = installation.worker()
    [split] = worker.claim()
    [row] = [installation.client.lookup.row(task.id)]
    worker.settle(worker.call(row, split))
    return task


def test_an_item_whose_class_has_changed_is_held_and_goes_on_when_the_code_fits_again(
    installation: Installation,
) -> None:
    task = split_off(installation)
    installation.know(changed(read_changed))
    installation.work()
    [one, two] = installation.client.items(task.id, stage="translate")
    assert one.held is not None
    said = "Chapter needs a field `language`, which the value does not have. Give the field a default"
    assert one.held.startswith(f"The input of item One cannot be read back: {said}")
    assert f"fanfold retry {task.id}" in one.held
    assert (two.state, two.failures) == ("waiting", 0)
    installation.know(typed.book)
    installation.client.retry(task.id)
    installation.work()
    assert installation.client.get(task.id).state == "completed"


def test_an_item_of_a_type_that_the_code_does_not_name_is_held(installation: Installation) -> None:
    task = split_off(installation)
    installation.know(changed(read_blindly))
    installation.work()
    held = installation.client.items(task.id, stage="translate")[0].held
    assert held is not None
    assert "it is a Chapter, which is not known here" in held
    installation.know(changed(read_blindly, types=[typed.Chapter]))
    installation.client.retry(task.id)
    installation.work()
    assert installation.client.output(task.id, "One", "translate") == "Chapter"


def test_an_input_that_no_handler_could_read_is_refused_at_submit(installation: Installation) -> None:
    blind = ff.Pipeline("blind")
    blind.each(read_blindly)
    installation.know(blind)
    before = installation.rows()
    with pytest.raises(ff.BadInput, match=r"The input of item 1 cannot be used: it is a Chapter, which is not known"):
        installation.client.submit(blind, items=[CHAPTERS[0]])
    with pytest.raises(ff.BadInput, match=r"The option chapter cannot be used: it is a Chapter"):
        installation.client.submit(blind, items=["x"], options={"chapter": CHAPTERS[0]})
    with pytest.raises(ff.BadInput, match=r"The argument kind cannot be used: 'novel' cannot be converted to Kind"):
        installation.client.submit(typed.stamp, CHAPTERS[0], date(2026, 1, 1), options={"kind": "novel"})
    with pytest.raises(ff.BadInput, match=r"The input cannot be used: Chapter.title: 5 cannot be converted to str"):
        installation.client.submit(typed.stamp, {"title": 5, "written": "2026-01-01"}, "2026-01-01")
    assert installation.rows() == before


def returns_text(item: ff.ItemWork[str, int]) -> str:
    """The annotations contradict each other."""
    return item.input


def test_annotations_that_contradict_each_other_are_refused_at_submit(installation: Installation) -> None:
    book = ff.Pipeline("contradiction")
    book.each(returns_text)
    with pytest.raises(ff.BadPipeline, match="Stage returns_text has an item with the output int and returns str"):
        installation.client.submit(installation.know(book), items=["x"])


def test_a_split_that_yields_what_the_next_stage_could_not_read_fails_before_any_item_runs(
    installation: Installation,
) -> None:
    blind = ff.Pipeline("blind")
    blind.split(name="cut")(lambda task: [CHAPTERS[0]])
    blind.each(read_blindly)
    task = installation.client.submit(installation.know(blind))
    installation.work()
    found = installation.client.get(task.id)
    assert found.state == "failed"
    assert "it is a Chapter" in str(found.error_message)


def test_a_large_typed_input_comes_back_from_its_file(installation: Installation) -> None:
    seen: list[Any] = []
    book = ff.Pipeline("large")

    @book.each
    def read(item: ff.ItemWork[typed.Chapter]) -> typed.Chapter:
        seen.append(item.input)
        return item.input

    chapter = typed.Chapter("x" * 300_000, date(2026, 1, 1))
    task = installation.client.submit(installation.know(book), items=[chapter])
    installation.work()
    assert seen == [chapter]
    assert installation.client.result(task.id) == [chapter]


def test_typed_options_stay_typed_when_a_retry_lays_others_over_them(installation: Installation) -> None:
    seen: list[Any] = []
    book = ff.Pipeline("step")

    @book.step(retry=ff.Retry(limit=0))
    def look(task: ff.TaskWork) -> None:
        seen.append(task.options)
        if len(seen) == 1:
            raise ff.Permanent("once")

    at = datetime(2026, 1, 2, tzinfo=UTC)
    task = installation.client.submit(installation.know(book), options={"at": at, "days": 1})
    installation.work()
    installation.client.retry(task.id, options={"days": Decimal(2)})
    installation.work()
    assert seen == [{"at": at, "days": 1}, {"at": at, "days": Decimal(2)}]
    assert installation.client.get(task.id).options == {"at": at.isoformat(), "days": "2"}


def test_a_decision_and_the_key_of_a_part_take_typed_values(installation: Installation, clock: HandClock) -> None:
    book = ff.Pipeline("decided")

    @book.each
    def read(item: ff.ItemWork[date]) -> date:
        return item.input

    @book.merge
    def join(task: ff.TaskWork, results: ff.Results[date, date]) -> list[date]:
        [one] = results
        decision = one.decisions.get(ff.part_key(one.output))
        return [one.output if decision is None else decision.value]

    client = installation.client
    task = client.submit(installation.know(book), items=[date(2026, 1, 2)])
    installation.work()
    assert client.result(task.id) == [date(2026, 1, 2)]
    assert ff.part_key(date(2026, 1, 2)) == ff.part_key("2026-01-02"), "the page knows the text only"
    client.decide(task.id, "1", ff.part_key("2026-01-02"), "replace", date(2026, 3, 4))
    clock.advance(1)
    installation.work()
    assert client.result(task.id) == [date(2026, 3, 4)]


def test_keys_of_items_that_are_the_same_as_text_are_refused(installation: Installation) -> None:
    same: Any = [ff.NewItem(key=1, input="a"), ff.NewItem(key="1", input="b")]  # type: ignore[arg-type]
    blind = ff.Pipeline("blind")
    blind.each(read_blindly)
    with pytest.raises(
        ff.BadInput, match="Two of the items have the key '1'; keys must be unique, even when converted to text"
    ):
        installation.client.submit(installation.know(blind), items=same)


def test_what_is_remembered_is_typed_in_the_next_attempt(installation: Installation, clock: HandClock) -> None:
    seen: list[dict[str, Any]] = []
    book = ff.Pipeline("remembering", types=[typed.Chapter])

    @book.each
    def read(item: ff.ItemWork[str]) -> None:
        seen.append(item.memory)
        if len(seen) == 1:
            item.remember(chapter=CHAPTERS[0], price=Decimal("1.10"))
            raise ff.Temporary("once more")

    task = installation.client.submit(installation.know(book), items=["x"])
    installation.work()
    clock.advance(60)
    installation.work()
    assert installation.client.get(task.id).state == "completed"
    assert seen == [{}, {"chapter": CHAPTERS[0], "price": Decimal("1.10")}]
