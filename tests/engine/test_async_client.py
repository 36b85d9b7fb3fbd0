"""The client for `async def` has every method of the client, blocks nothing, and can be cancelled anywhere."""

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from typing import Any, assert_type

import pytest

import fanfold as ff
from fanfold.engine.async_calls import BATCH, public_methods
from fanfold.engine.queries.pauses import Pause
from tests.async_stub import STUB, formatted, stub
from tests.engine.live import Live, Switch
from tests.engine.pipelines import batch, book
from tests.installation import Installation

Test = Callable[..., Coroutine[Any, Any, None]]
PATIENCE_SECONDS = 60.0


def in_loop(test: Test) -> Callable[..., None]:
    """Run an `async def` test in an event loop, for at most a minute."""

    @wraps(test)
    def run(*given: Any, **named: Any) -> None:
        asyncio.run(asyncio.wait_for(test(*given, **named), PATIENCE_SECONDS))

    return run


async def typed(client: ff.AsyncClient) -> None:
    """Never called: only the type checker reads it, and must find the marked mistakes."""
    assert_type(await client.get("t-1"), ff.Task)
    async for result in client.results("t-1"):
        assert_type(result, ff.Result)
    await client.get(5)  # type: ignore[arg-type]
    await client.got("t-1")  # type: ignore[attr-defined]
    await client.wait("t-1", polls=1)  # type: ignore[call-arg]


def test_the_signatures_for_type_checkers_are_those_of_the_client() -> None:
    assert STUB.read_text(encoding="utf-8") == formatted(stub()), "to write them again: make docs"


def test_every_method_of_the_client_can_be_awaited_or_iterated() -> None:
    theirs, ours = public_methods(ff.Client), public_methods(ff.AsyncClient)
    assert set(theirs) == set(ours)
    iterated = {name for name, method in ours.items() if not inspect.iscoroutinefunction(method)}
    assert iterated == {"follow", "missing", "results", "stream"}
    for name in set(theirs) - {"close"}:
        assert inspect.signature(ours[name]).parameters == inspect.signature(theirs[name]).parameters, name


@in_loop
async def test_a_task_is_submitted_followed_and_read(live: Live) -> None:
    async def convert(item: ff.ItemWork) -> str:
        item.emit(f"{item.key} begins")
        if item.input == "bad":
            raise ff.Permanent("bad page")
        return str(item.input).upper()

    pages = live.know(book(convert=convert))
    async with ff.AsyncClient(store=live.store, pipelines=live.pipelines) as client:
        task = await client.submit(pages, options={"texts": ["a", "bad", "c"]})
        worker = live.working()
        await asyncio.to_thread(worker.__enter__)
        try:
            seen = [one async for one in client.follow(task.id)]
        finally:
            await asyncio.to_thread(worker.__exit__, None, None, None)
        assert isinstance(seen[-1], ff.Task)
        assert next(one.verb for one in seen if isinstance(one, ff.Event)) == "submit"
        assert (await client.wait(task.id)).state == seen[-1].state == "partial"
        assert [result.output async for result in client.results(task.id, "convert")] == ["A", "C"]
        assert [gap.key async for gap in client.missing(task.id)] == ["p2"]
        pieces = [piece async for piece in client.stream(task.id, follow=False)]
        assert ("p1", "p1 begins") in pieces
        assert (await client.item(task.id, "p1")).output == "A"


@in_loop
async def test_waiting_and_following_hold_no_thread(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a"])
    async with ff.AsyncClient(store=installation.store, threads=1) as client:
        waiting = [asyncio.create_task(client.wait(task.id, poll=0.01)) for _ in range(3)]
        following = [asyncio.create_task(anext(client.follow(task.id, poll=600))) for _ in range(3)]
        await asyncio.gather(*following)
        assert (await client.cancel(task.id)).state == "cancelled"
        assert {one.state for one in await asyncio.gather(*waiting)} == {"cancelled"}


@in_loop
async def test_a_cancelled_wait_is_over_at_once_and_the_client_goes_on(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a"])
    async with ff.AsyncClient(store=installation.store, threads=1) as client:
        for start in (lambda: client.wait(task.id, poll=600), lambda: exhausted(client.follow(task.id, poll=600))):
            waiting = asyncio.create_task(start())
            await asyncio.sleep(0)
            await client.get(
                task.id
            )  # With one thread, what must be done before it waits is done by now, or comes later.
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        assert (await client.get(task.id)).state == "active"
        with pytest.raises(TimeoutError):
            await client.wait(task.id, timeout=0)


@in_loop
async def test_a_call_cancelled_before_it_has_a_thread_never_runs(installation: Installation) -> None:
    pages, gate = installation.know(batch()), Switch()
    async with ff.AsyncClient(store=installation.store, threads=1) as client:
        before = asyncio.create_task(client._call(lambda _: gate.wait()))  # type: ignore[attr-defined]
        await asyncio.to_thread(gate.check)
        waiting = asyncio.create_task(client.submit(pages, items=["a"]))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        gate.free.set()
        await before
        assert await client.counts() == installation.client.counts()
        assert await client.list() == []


@in_loop
async def test_a_call_cancelled_while_it_runs_ends_by_itself_and_holds_nothing(installation: Installation) -> None:
    pages, gate = installation.know(batch()), Switch()

    def slowly() -> Iterator[str]:
        yield "a"
        gate.wait()
        yield "b"

    async with ff.AsyncClient(store=installation.store, threads=1) as client:
        submitting = asyncio.create_task(client.submit(pages, items=slowly()))
        await asyncio.to_thread(gate.check)
        submitting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await submitting
        await asyncio.to_thread(installation.client.submit, pages, items=["other"])  # Nothing is locked meanwhile.
        gate.free.set()
        assert sorted([task.total for task in await client.list()]) == [1, 2]  # In the same thread, so after it.


@in_loop
async def test_what_a_cancelled_call_opened_is_closed() -> None:
    gate, closed = Switch(), threading.Event()

    class Opened:
        def close(self) -> None:
            closed.set()

    def make(_client: Any) -> Opened:
        gate.wait()
        return Opened()

    client = ff.AsyncClient("sqlite://")
    client._opened = lambda: None  # type: ignore[attr-defined]
    making = asyncio.create_task(client._call(make))  # type: ignore[attr-defined]
    await asyncio.to_thread(gate.check)
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    gate.free.set()
    await client.close()
    assert closed.is_set()


@in_loop
async def test_an_iterator_reads_ahead_no_more_than_a_batch(installation: Installation) -> None:
    read = 0

    def steps(_client: Any) -> Iterator[int | Pause]:
        nonlocal read
        while True:
            read += 1
            yield read

    async with ff.AsyncClient(store=installation.store) as client:
        numbers = client._iterate(steps)  # type: ignore[attr-defined]
        for number in range(1, 3 * BATCH):
            assert await anext(numbers) == number
            assert number <= read <= number + BATCH
        await numbers.aclose()


@in_loop
async def test_closing_waits_for_what_runs_and_then_refuses(sqlite_url: str) -> None:
    gate = Switch()
    client = ff.AsyncClient(sqlite_url)
    running = asyncio.create_task(client._call(lambda _: gate.wait()))  # type: ignore[attr-defined]
    await asyncio.to_thread(gate.check)
    closing = asyncio.create_task(client.close())
    await asyncio.sleep(0)
    assert not closing.done()
    gate.free.set()
    await closing
    assert gate.left.is_set()
    await running
    with pytest.raises(ff.BadInput, match="closed"):
        await client.counts()


@in_loop
async def test_the_database_is_opened_with_the_first_call_and_not_in_the_loop(sqlite_url: str) -> None:
    client = ff.AsyncClient("nonsense://nowhere")
    with pytest.raises(ff.FanfoldError):
        await client.counts()
    await client.close()
    async with ff.AsyncClient(sqlite_url, actor="somebody") as opened:
        assert await opened.list() == []


async def exhausted(stream: Any) -> None:
    """Read a stream to its end."""
    async for _ in stream:
        pass
