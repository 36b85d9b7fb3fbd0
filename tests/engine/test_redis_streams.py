"""Streamed output goes through Redis where there is one. The database stays the truth, whatever happens to Redis."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.handlers import streamed_output
from fanfold.engine.queries import doctor
from fanfold.engine.queries.results import output_stream
from fanfold.engine.queries.results.output_stream import OutputStream
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.store.store import Store
from fanfold.store.streams import in_redis as live_streams
from fanfold.store.streams.in_redis import LivePiece, LiveStreams, check_url
from tests.engine.pipelines import batch
from tests.installation import HandClock, Installation
from tests.redis_server import RedisServer


@pytest.fixture
def streaming(
    database_url: str, tmp_path: Path, clock: HandClock, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Installation]:
    """An installation with Redis. The database is written only when a test flushes, and read only when Redis is no help."""
    monkeypatch.setattr(streamed_output, "EMIT_SECONDS", 3_600.0)
    monkeypatch.setattr(output_stream, "LOOK_SECONDS", 3_600.0)
    made = Installation(database_url, tmp_path / "data", clock, streams=redis_server.url)
    yield made
    made.store.close()


def run(installation: Installation, handler: Callable[[Any, OutputStream], None], items: int = 1) -> list[Any]:
    """Run a handler that can read along, and return everything a follower has seen at the end."""
    followers: list[OutputStream] = []
    seen: list[Any] = []

    def wrapped(item: Any) -> None:
        follower = followers[0]
        follower.seen = seen  # type: ignore[attr-defined]
        handler(item, follower)

    pipeline = installation.know(batch(handler=wrapped, retry=ff.Retry(limit=1)))
    task = installation.client.submit(pipeline, items=[str(number) for number in range(items)])
    followers.append(WebQueries(installation.client.lookup).emitted(task.id))
    installation.completed(task)
    while not followers[0].over:
        seen += [value for _, value in followers[0].next()]
    return seen


def read(follower: OutputStream) -> list[Any]:
    """What the follower gets now, in two steps: the first may be needed to learn which attempt runs."""
    new = [value for _ in range(2) for _, value in follower.next()]
    follower.seen.extend(new)  # type: ignore[attr-defined]
    return new


def in_database(installation: Installation) -> int:
    return len(installation.sql("SELECT * FROM emissions"))


def test_a_piece_is_seen_before_the_database_has_it(streaming: Installation) -> None:
    def handler(item: Any, follower: OutputStream) -> None:
        for number in range(5):
            item.emit(number)
        assert in_database(streaming) == 1, "the first is written at once, the others later"
        assert read(follower) == [0, 1, 2, 3, 4]

    assert run(streaming, handler) == [0, 1, 2, 3, 4]
    assert in_database(streaming) == 5


def test_a_reader_goes_on_where_another_one_stopped(streaming: Installation) -> None:
    places: list[str] = []

    def handler(item: Any, follower: OutputStream) -> None:
        item.emit("one")
        item.emit("two")
        follower.next()
        places.extend(piece.place for piece in follower.next_placed())
        item.emit("three")

    run(streaming, handler)
    task = streaming.client.list()[0].id
    after = WebQueries(streaming.client.lookup).emitted(task, after=places[-1])
    assert after.next() == [("1", "three")]
    with pytest.raises(ff.BadInput, match="is no place in the streamed output"):
        WebQueries(streaming.client.lookup).emitted(task, after="4.1")
    with pytest.raises(ff.BadInput, match="is no place in the streamed output"):
        WebQueries(streaming.client.lookup).emitted(task, after="999.1.1")


@pytest.mark.one_database
@pytest.mark.parametrize("fault", ["kill", "freeze", "flush", "fill", "demote"])
def test_nothing_is_lost_when_redis_fails_in_the_middle(
    streaming: Installation, redis_server: RedisServer, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Pieces before, during and after the fault arrive once, in order."""
    caplog.set_level(logging.INFO)

    def handler(item: Any, follower: OutputStream) -> None:
        item.emit("before")
        assert read(follower) == ["before"]
        getattr(redis_server, fault)()
        item.emit("during")
        item.emit("during too")
        read(follower)
        item.flush()
        streaming.store.live_streams._silent_until = 0.0  # type: ignore[union-attr]
        if fault == "kill":
            redis_server.start()
        elif fault == "freeze":
            redis_server.thaw()
        elif fault in ("fill", "demote"):
            redis_server.recover()
        item.emit("after")
        read(follower)

    assert run(streaming, handler) == ["before", "during", "during too", "after"]
    assert in_database(streaming) == 4
    warned = [record.getMessage() for record in caplog.records if record.name == "fanfold.streams"]
    assert (warned == []) == (fault == "flush")
    assert redis_server.password not in caplog.text


def test_what_a_zombie_still_emits_is_refused_and_never_read(streaming: Installation) -> None:
    """A later attempt has written: Redis refuses the earlier one, and the database says that its lease is lost."""
    task = streaming.client.submit(streaming.know(batch(handler=lambda item: None)), items=["a"])
    worker = streaming.worker()
    [(row, first)] = worker.turn().claimed
    zombie = worker_item(streaming, row, first)
    zombie.emit("old")
    streaming.sql("UPDATE items SET state = 'pending', worker = NULL, deadline_at = NULL, started_at = NULL")
    other = streaming.worker("other")
    [(row, second)] = other.turn().claimed
    new = worker_item(streaming, row, second)
    new.emit("new")
    follower = WebQueries(streaming.client.lookup).emitted(task.id)
    assert [*follower.next(), *follower.next()] == [("1", "new")]
    with pytest.raises(ff.LeaseLost):
        zombie.emit("of the zombie")
    new.emit("newer")
    assert follower.next() == [("1", "newer")]


def worker_item(installation: Installation, row: Any, claimed: Any) -> Any:
    from fanfold.engine.handlers.task_and_item import ItemWork

    return ItemWork(installation.store, row, claimed)


@pytest.mark.one_database
def test_a_restored_database_is_not_shown_pieces_of_its_other_life(streaming: Installation) -> None:
    """Redis still has entries of the same item and lease, from an attempt that the database does not know."""
    live = streaming.store.live_streams
    assert live is not None
    for position in range(3):
        live.add(1, LivePiece(1, position, '"from another life"', "2020-01-01T00:00:00+00:00"))
    assert run(streaming, lambda item, follower: (item.emit("true"), read(follower))[0]) == ["true"]


@pytest.mark.one_database
def test_an_entry_that_is_sent_twice_is_there_once(redis_server: RedisServer) -> None:
    """The answer to the first one may have got lost."""
    live = LiveStreams(redis_server.url, "test")
    piece = LivePiece(3, 0, '"x"', "now")
    assert live.add(1, piece)
    assert live.add(1, piece)
    assert live.read(1, 3, -1) == [piece]
    assert live.add(1, LivePiece(4, 0, None, "now"))
    assert not live.add(1, LivePiece(3, 1, '"late"', "now")), "a later attempt is ahead"
    with redis_server.client() as client:
        [key] = client.keys("*")
        assert 0 < int(client.ttl(key)) <= live_streams.KEPT_SECONDS
    live.close()


@pytest.mark.one_database
def test_the_doctor_and_errors_never_show_the_password(
    sqlite_url: str, tmp_path: Path, redis_server: RedisServer
) -> None:
    settings = ff.Client(database=sqlite_url, data=str(tmp_path)).store.settings
    from dataclasses import replace

    settings = replace(settings, streams=redis_server.url)
    [good] = [check for check in doctor.examine(settings) if check.name == "streams"]
    redis_server.kill()
    [bad] = [check for check in doctor.examine(settings) if check.name == "streams"]
    assert (good.status, bad.status) == (doctor.OK, doctor.WARNING)
    assert f"127.0.0.1:{redis_server.port}" in good.fact
    assert redis_server.password not in f"{good} {bad}"
    for wrong in ("redis://:pass:word@host:port/0", "http://:password@host", "password"):
        with pytest.raises(ff.BadInput) as refused:
            check_url(wrong)
        assert "pass" not in str(refused.value)
        with pytest.raises(ff.BadInput):
            Store.open(replace(settings, streams=wrong))
