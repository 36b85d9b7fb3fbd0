"""Values keep their types on the way through submit, split, each, merge and result, in every process."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from fanfold.engine.client import Client
from tests.engine import typed
from tests.engine.live import Live
from tests.engine.typed import CHAPTERS, Book, Kind, page_of
from tests.installation import Installation


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
