"""Items of a draft are hidden from every reader, and tokens decide whose draft it is."""

import pytest

import fanfold as ff
from fanfold.store.items.large.drafts import CHUNK, NEW, OLD, STALE_SECONDS
from fanfold.store.store import Transaction
from tests.installation import HandClock, Installation, number_of


@pytest.fixture
def book(installation: Installation) -> ff.Pipeline:
    """A stage of many items, and another behind it that is entered when none failed."""
    pipeline = ff.Pipeline("book")

    @pipeline.each
    def read(item: ff.ItemWork) -> str:
        item.emit(f"piece {item.key}")
        if item.input == "bad":
            raise ff.Permanent("unreadable")
        item.used(model="m", input_tokens=1)
        return "text"

    @pipeline.each
    def check(item: ff.ItemWork) -> str:
        return "checked"

    return installation.know(pipeline)


def begin(installation: Installation, number: int, stage: str, kind: str = OLD) -> None:
    """Hide a stage."""
    with installation.store.write() as tx:
        assert tx.drafts.begin(number, stage, kind, "me")


def everything_seen(tx: Transaction, number: int, stage: str) -> dict[str, object]:
    """What each reader tells of a stage."""
    reading, counting = tx.reading, tx.counting
    return {
        "counts": counting.counts([number]).get(number, {}).get(stage),
        "counts of many": counting.counts([number, number + 1]).get(number, {}).get(stage),
        "single": bool(reading.single([number], stage)),
        "page": [row.key for row in reading.page(number, stage=stage)],
        "page of all": [row.key for row in reading.page(number) if row.stage == stage],
        "results": [row.key for row in reading.results(number, stage, 0)],
        "kept": [row.key for row in reading.kept(number, stage, 0)],
        "ids": reading.ids(number, stage, ["1"]),
        "ids of all": reading.ids(number, None, ["1"]),
        "keys": reading.keys_at(number, stage, [1, 2], ["done", "failed"]),
        "emitted": tx.streams.read(number, (0, 0, -1)),
        "open": reading.first_open(number, stage, 0),
        "makers": counting.makers(number, stage),
        "neighbours": [key for key in reading.neighbours(number, stage, 2) if key],
        "cells": counting.cells(number, stage),
        "wide cells": counting.cells(number, stage, 2),
        "pace": counting.pace(number, 60.0),
        "lost attempts": reading.lost_attempts(number),
        "failed keys": reading.failed_keys(number, stage, "permanent", "unreadable", 10),
        "failed like": reading.failed_like(number, stage, "permanent", 10),
        "failures": reading.failures(number),
        "exist": tx.items.exist(number, stage),
        "begun": tx.items.have_begun(number, stage),
        "started": tx.items.first_started_at(number, stage),
    }


def test_no_reader_sees_an_item_of_a_hidden_stage(installation: Installation, book: ff.Pipeline) -> None:
    task = installation.client.submit(book, items=["a", "b", "bad"])
    installation.work()
    number = number_of(installation, task)
    with installation.store.read() as tx:
        before = everything_seen(tx, number, "read")
    begin(installation, number, "read")
    with installation.store.read() as tx:
        hidden = everything_seen(tx, number, "read")
    assert [name for name, seen in before.items() if not seen] == ["open"]
    assert [name for name, seen in hidden.items() if seen] == []


def test_hiding_one_stage_leaves_the_others_alone(installation: Installation, book: ff.Pipeline) -> None:
    task = installation.client.submit(book, items=["a", "b"])
    installation.work()
    number = number_of(installation, task)
    begin(installation, number, "read")
    with installation.store.read() as tx:
        assert [row.stage for row in tx.reading.page(number)] == ["check", "check"]
        assert tx.counting.counts([number])[number].keys() == {"check"}
        assert len(tx.reading.ids(number, None, ["1"])) == 1


def test_an_ended_draft_shows_its_items_again(installation: Installation, book: ff.Pipeline) -> None:
    task = installation.client.submit(book, items=["a", "b"])
    number = number_of(installation, task)
    begin(installation, number, "read", NEW)
    assert installation.client.items(task.id) == []
    with installation.store.write() as tx:
        tx.drafts.end(number, ["read"])
    assert len(installation.client.items(task.id)) == 2


def test_a_fresh_draft_of_somebody_else_is_left_to_them(installation: Installation, clock: HandClock) -> None:
    with installation.store.write() as tx:
        assert tx.drafts.begin(1, "read", NEW, "one", stale_seconds=STALE_SECONDS)
        assert not tx.drafts.begin(1, "read", NEW, "two", stale_seconds=STALE_SECONDS)
        assert tx.drafts.begin(1, "read", NEW, "one", stale_seconds=STALE_SECONDS)
        assert not tx.drafts.refresh(1, "read", "two")


def test_a_stale_draft_is_taken_over_and_its_owner_notices(installation: Installation, clock: HandClock) -> None:
    with installation.store.write() as tx:
        tx.drafts.begin(1, "read", NEW, "one")
    clock.advance(STALE_SECONDS - 1)
    with installation.store.write() as tx:
        assert tx.drafts.refresh(1, "read", "one")
    clock.advance(STALE_SECONDS - 1)
    with installation.store.write() as tx:
        assert not tx.drafts.begin(1, "read", NEW, "two", stale_seconds=STALE_SECONDS)
        assert tx.drafts.abandoned(STALE_SECONDS, 10) == []
    clock.advance(2)
    with installation.store.write() as tx:
        assert [draft.token for draft in tx.drafts.abandoned(STALE_SECONDS, 10)] == ["one"]
        assert tx.drafts.begin(1, "read", NEW, "two", stale_seconds=STALE_SECONDS)
        assert not tx.drafts.refresh(1, "read", "one")
        assert {draft.token for draft in tx.drafts.hidden(1).values()} == {"two"}


def test_items_are_removed_in_bounded_steps_with_all_that_hangs_on_them(
    installation: Installation, book: ff.Pipeline
) -> None:
    task = installation.client.submit(book, items=["bad", *"abcdefgh"])
    installation.work()
    number = number_of(installation, task)
    with installation.store.write() as tx:
        item = tx.reading.page(number, stage="read")[0]
        tx.streams.add(number, item.id, item.lease, 10, ["piece"] * 100)
    steps = 1
    while True:
        before = sum(len(rows) for rows in installation.rows().values())
        with installation.store.write() as tx:
            nothing_left = tx.drafts.remove_items(number, "read", limit=30)
        assert 0 < before - sum(len(rows) for rows in installation.rows().values()) <= 30
        if nothing_left:
            break
        steps += 1
    rows = installation.rows()
    assert steps > 4
    assert rows["items"] == rows["item_data"] == rows["emissions"] == rows["attempts"] == [], (
        "one of nine failed, so `check` has none"
    )


def test_a_chunk_is_small_enough_for_sqlite() -> None:
    assert CHUNK <= 2_000
