"""A stream reports everything, ends when it should, and costs the database the same for 200 readers as for one."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from fanfold.engine.client import Client
from fanfold.errors import DatabaseProblem
from fanfold.model.task import Task
from fanfold.server.api import streams
from fanfold.server.watching import live
from fanfold.store.store import Store
from tests.cli.samples import words
from tests.databases import upgrade
from tests.installation import Installation
from tests.server.asking import served
from tests.servers import PostgresServer
from tests.waiting import eventually

Message = tuple[str, Any, str | None]
PATIENCE = httpx2.Timeout(20)
WATCHERS = 200


def messages(lines: Iterator[str]) -> Iterator[Message]:
    """(event, data, id) of a stream of server-sent events."""
    found: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if not line and "event" in found:
            yield found["event"], json.loads(found["data"]), found.get("id")
        found = found | {name: value} if line else {}


@contextmanager
def stream(url: str, **headers: str) -> Iterator[Iterator[Message]]:
    """The messages of an open stream."""
    with httpx2.stream("GET", url, headers=headers, timeout=PATIENCE) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield messages(answer.iter_lines())


def events(installation: Installation, task: Task) -> list[int]:
    """The ids of all events of a task."""
    return [event.id for event in installation.client.events(task.id)]


def test_a_stream_tells_of_a_task_until_it_ends(installation: Installation) -> None:
    task = installation.client.submit(words, items=["a", "bad"])
    with served(installation) as (url, place):
        with stream(f"{url}/api/v1/tasks/{task.id[:8]}/stream") as told:
            first = next(told)
            assert (first[0], first[1]["id"], first[1]["state"]) == ("task", task.id, "active")
            known = events(installation, task)
            installation.work()
            rest = list(told)
        eventually(lambda: place.live.watchers == 0)
    assert [data["id"] for name, data, _ in rest if name == "event"] == events(installation, task)[len(known) :]
    assert [data["state"] for name, data, _ in rest if name == "task"][-1] == "partial"
    assert rest[-1][:2] == ("end", {"state": "partial"})


def test_a_stream_of_a_finished_task_ends_at_once(installation: Installation) -> None:
    task = installation.client.submit(words, items=["a"])
    installation.work()
    with served(installation) as (url, _), stream(f"{url}/api/v1/tasks/{task.id}/stream") as told:
        assert [name for name, _, _ in told] == ["task", "end"]


def test_a_stream_goes_on_where_it_broke_off(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "SETTLED_SECONDS", 0)
    task = installation.client.submit(words, items=["a"])
    with served(installation) as (url, _):
        address = f"{url}/api/v1/tasks/{task.id}/stream"
        with stream(address) as told:
            next(told)
            installation.client.pause(task.id)
            seen = [next(told), next(told)]
        last = next(id_ for name, _, id_ in seen if name == "event")
        installation.client.resume(task.id)
        with stream(address, **{"Last-Event-ID": str(last)}) as told:
            missed = [next(told)]
            installation.client.cancel(task.id)
            missed += list(told)
    assert [data["verb"] for name, data, _ in seen + missed if name == "event"] == ["pause", "resume", "cancel"]


def test_a_stream_that_was_away_for_long_misses_nothing(installation: Installation) -> None:
    task = installation.client.submit(words, items=["a"])
    with installation.store.write() as tx:
        number = tx.tasks.resolve(task.id).number
        tx.events.add([{"task": number, "actor": "x", "verb": "y"}] * 2_500)
    installation.client.cancel(task.id)
    from_the_start = {"Last-Event-ID": "0"}
    with served(installation) as (url, _), stream(f"{url}/api/v1/tasks/{task.id}/stream", **from_the_start) as told:
        found = [data["id"] for name, data, _ in told if name == "event"]
    assert found == events_in_pages(installation, task)


def events_in_pages(installation: Installation, task: Task) -> list[int]:
    """The ids of more events than are read at once."""
    found: list[int] = []
    while some := installation.client.events(task.id, found[-1] if found else 0):
        found += [event.id for event in some]
    return found


def test_an_event_between_the_watching_and_the_first_look_is_not_lost(
    sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader who comes back gets what happened before the shared reader's first poll."""
    task = sqlite_installation.client.submit(words, items=["a"])
    with served(sqlite_installation) as (url, place):
        watch = place.live.watch

        def watch_and_move(task_id: str, *rest: Any) -> Any:
            watcher = watch(task_id, *rest)
            sqlite_installation.client.pause(task_id)
            return watcher

        monkeypatch.setattr(place.live, "watch", watch_and_move)
        with stream(f"{url}/api/v1/tasks/{task.id}/stream", **{"Last-Event-ID": "0"}) as told:
            found = [next(told) for _ in range(2)]
    assert [data["verb"] for name, data, _ in found] == ["submit", "pause"]


def test_a_last_event_id_that_is_none_does_no_harm(sqlite_installation: Installation) -> None:
    task = sqlite_installation.client.submit(words, items=["a"])
    sqlite_installation.client.cancel(task.id)
    with served(sqlite_installation) as (url, _):
        for odd in ("", "abc", "-1", "9" * 30, "1.5"):
            with stream(f"{url}/api/v1/tasks/{task.id}/stream", **{"Last-Event-ID": odd}) as told:
                assert [name for name, _, _ in told][-1] == "end"
        answer = httpx2.get(f"{url}/api/v1/tasks/{task.id}/stream", headers={"Last-Event-ID": "9" * 31})
        assert answer.status_code == 422


def test_a_stream_of_nothing_is_not_found(sqlite_installation: Installation) -> None:
    with served(sqlite_installation) as (url, _):
        answer = httpx2.get(f"{url}/api/v1/tasks/t-nothing/stream")
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


def test_a_stream_says_that_its_task_was_deleted(installation: Installation) -> None:
    task = installation.client.submit(words, items=["a"])
    installation.client.pause(task.id)
    with served(installation) as (url, _), stream(f"{url}/api/v1/tasks/{task.id}/stream") as told:
        next(told)
        installation.client.delete(task.id)
        assert list(told)[-1][:2] == ("deleted", {"id": task.id})


def test_the_list_tells_of_new_changed_and_deleted_tasks(installation: Installation) -> None:
    done = installation.client.submit(words, items=["a"], title="old")
    installation.work()
    with served(installation) as (url, _), stream(f"{url}/api/v1/stream") as told:
        assert next(told)[:2][1]["id"] == done.id
        task = installation.client.submit(words, items=["a"], title="new")
        assert until(told, "task", task.id)["title"] == "new"
        installation.client.pause(task.id)
        assert until(told, "task", task.id)["state"] == "paused"
        for gone in (task, done):
            installation.client.delete(gone.id)
            assert until(told, "deleted", gone.id) == {"id": gone.id}


def until(told: Iterator[Message], name: str, id_: str) -> Any:
    """The next message of that name about that task."""
    return next(data for found, data, _ in told if (found, data["id"]) == (name, id_))


def test_the_list_goes_on_where_it_broke_off(installation: Installation) -> None:
    one, two = (installation.client.submit(words, items=["a"]) for _ in range(2))
    last = max(events(installation, two))
    installation.client.pause(one.id)
    with served(installation) as (url, _), stream(f"{url}/api/v1/stream", **{"Last-Event-ID": str(last)}) as told:
        name, data, _ = next(told)
    assert (name, data["id"], data["state"]) == ("task", one.id, "paused")


def test_the_list_goes_on_from_the_beginning_with_the_tasks_that_have_changed_last(
    sqlite_installation: Installation,
) -> None:
    tasks = [sqlite_installation.client.submit(words, items=["a"]) for _ in range(250)]
    sqlite_installation.client.pause(tasks[0].id)
    from_the_start = {"Last-Event-ID": "0"}
    with served(sqlite_installation) as (url, _), stream(f"{url}/api/v1/stream", **from_the_start) as told:
        found = [next(told)[1]["id"] for _ in range(200)]
    assert set(found) == {task.id for task in [tasks[0], *tasks[51:]]}


def test_streams_end_when_the_server_stops(installation: Installation) -> None:
    task = installation.client.submit(words, items=["a"])
    ended: list[str] = []
    opened = threading.Barrier(3)

    def watch(address: str) -> None:
        with stream(address) as told:
            next(told)
            opened.wait()
            for _ in told:
                pass
        ended.append(address)

    with served(installation) as (url, _):
        addresses = [f"{url}/api/v1/tasks/{task.id}/stream", f"{url}/api/v1/stream"]
        threads = [threading.Thread(target=watch, args=(address,)) for address in addresses]
        for thread in threads:
            thread.start()
        opened.wait(60)
    for thread in threads:
        thread.join(60)
    assert sorted(ended) == sorted(addresses)


async def watch_together(port: int, path: str, count: int, meanwhile: Any) -> list[bytes]:
    """What the watchers got, each over its own socket; ``meanwhile`` runs once all of them have got something."""
    gate = asyncio.Semaphore(0)

    async def watch() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        got = await reader.readuntil(b"event: task")
        gate.release()
        got += await reader.read()
        writer.close()
        return got

    watching = [asyncio.create_task(watch()) for _ in range(count)]
    for _ in range(count):
        await asyncio.wait_for(gate.acquire(), 60)
    await asyncio.to_thread(meanwhile)
    return await asyncio.wait_for(asyncio.gather(*watching), 60)


def cost(installation: Installation, watchers: int) -> tuple[int, int]:
    """Reads and statements while this many watch a task for a second, counted from when all of them are connected."""
    task = installation.client.submit(words, items=["a"])
    found: list[int] = []
    with served(installation) as (url, place):

        def meanwhile() -> None:
            looks = place.live.looks
            with installation.statements() as sent:
                installation.client.pause(task.id)
                eventually(lambda: place.live.looks > looks)
                installation.client.cancel(task.id)
                eventually(lambda: place.live.watchers == 0)
            found.extend([place.live.looks - looks, len(sent)])

        port = int(url.rpartition(":")[2])
        got = asyncio.run(watch_together(port, f"/api/v1/tasks/{task.id}/stream", watchers, meanwhile))
    assert all(b"event: end" in one for one in got)
    assert all(one.count(b'"verb":"cancel"') == 1 for one in got)
    return found[0], found[1]


def test_two_hundred_watchers_cost_no_more_than_one(
    sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One shared reader: not one statement more, and everybody is told of the end."""
    monkeypatch.setattr(live, "INTERVAL_SECONDS", 0.5)
    looks, statements = cost(sqlite_installation, 1)
    many_looks, many_statements = cost(sqlite_installation, WATCHERS)
    # One poll more or less, depending on timing; if each watcher polled, there would be hundreds.
    assert many_looks <= looks + 2
    assert many_statements / many_looks <= 1.5 * statements / looks


def away(*_given: Any) -> Any:
    raise DatabaseProblem("Cannot use the database postgresql://db.internal: it is away.", code="unreachable")


def of(told: Iterator[Message], name: str) -> Any:
    """The data of the next message of that name."""
    return next(data for kind, data, _ in told if kind == name)


@pytest.mark.parametrize("path", ["/tasks/{id}/stream", "/stream"])
def test_a_stream_tells_that_the_database_is_lost_and_goes_on_without_a_gap(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    task = installation.client.submit(words, items=["a"])
    elsewhere = Client(store=Store.open(installation.settings))
    known = events(installation, task)
    with served(installation) as (url, _), stream(f"{url}/api/v1{path.format(id=task.id)}") as told:
        assert of(told, "task")["id"] == task.id
        before = datetime.now(UTC)
        with monkeypatch.context() as broken:
            broken.setattr(installation.store, "read", away)
            lost = of(told, "database")
            assert datetime.fromisoformat(lost["lost_since"]) <= datetime.now(UTC)
            assert before - datetime.fromisoformat(lost["lost_since"]) < timedelta(seconds=30)
            elsewhere.pause(task.id, "lunch")
            elsewhere.resume(task.id)
            elsewhere.cancel(task.id)
        assert of(told, "database") == {"lost_since": None}
        if path == "/stream":
            assert of(told, "task")["state"] == "cancelled"
        else:
            rest = list(told)
            assert [data["id"] for name, data, _ in rest if name == "event"] == events(installation, task)[len(known) :]
            assert [name for name, _, _ in rest][-2:] == ["task", "end"]
    elsewhere.store.close()


@pytest.mark.parametrize("times", [1, 4])
def test_a_stream_that_resumes_while_the_database_is_lost_misses_nothing(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    task = installation.client.submit(words, items=["a"])
    installation.client.cancel(task.id)
    read, tries = streams.events_since, iter(range(times))

    def troubled(*given: Any) -> list[Any]:
        return away() if next(tries, None) is not None else read(*given)

    monkeypatch.setattr(streams, "events_since", troubled)
    monkeypatch.setattr(streams, "TRY_SECONDS", 0.01)
    with (
        served(installation) as (url, _),
        stream(f"{url}/api/v1/tasks/{task.id}/stream", **{"last-event-id": "0"}) as told,
    ):
        found = list(told)
    assert [data["id"] for name, data, _ in found if name == "event"] == events(installation, task)
    assert found[-1][0] == "end"


def test_a_stream_outlives_a_server_that_is_stopped_and_started(own_postgres: PostgresServer, tmp_path: Path) -> None:
    url = own_postgres.create_database("fanfold")
    upgrade(url)
    here = Installation(url, tmp_path / "data", None)
    task = here.client.submit(words, items=["a"])
    with served(here) as (address, _), stream(f"{address}/api/v1/tasks/{task.id}/stream") as told:
        assert of(told, "task")["state"] == "active"
        own_postgres.stop("immediate")
        assert of(told, "database")["lost_since"] is not None
        own_postgres.start()
        assert of(told, "database") == {"lost_since": None}
        here.client.cancel(task.id)
        assert of(told, "event")["verb"] == "cancel"
        assert of(told, "end") == {"state": "cancelled"}
    here.store.close()
