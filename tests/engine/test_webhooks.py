"""Webhooks: told in the transaction of the move, delivered durably, signed, and never to a private address by accident."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest.mock import patch

import pytest
from standardwebhooks import Webhook as Verifier

import fanfold as ff
from fanfold.engine.tasks.moving.transitions import move
from fanfold.engine.webhooks import deliveries as delivering
from fanfold.engine.webhooks.deliveries import DELAYS, deliveries
from fanfold.model.lifecycle import TaskState
from fanfold.outside.addresses import Allowed, RequestRefused, checked
from fanfold.outside.guarded_request import send
from tests.engine.pipelines import batch, book, one_step
from tests.installation import HandClock, Installation

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
HERE = Allowed.parsed("127.0.0.0/8, ::1")


class Receiver:
    """A web server on this machine that does what a test says."""

    def __init__(self, answer: Callable[[BaseHTTPRequestHandler], None]) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                receiver.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
                answer(self)

            do_GET = do_POST

            def log_message(self, *_words: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"


@contextmanager
def receiving(answer: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[Receiver]:
    """A receiver, until the block ends."""
    receiver = Receiver(answer)
    thread = threading.Thread(target=receiver.server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.server.shutdown()
        receiver.server.server_close()
        thread.join(60)


def answers(status: int, body: bytes = b"", **headers: str) -> Callable[[BaseHTTPRequestHandler], None]:
    """A receiver that always answers the same."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in {"content-length": str(len(body)), **headers}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)

    return answer


@pytest.fixture
def told(database_url: str, tmp_path: Any, clock: HandClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Installation]:
    """An installation whose webhooks may be sent to this machine."""
    monkeypatch.setenv("FANFOLD_WEBHOOK_SECRET", SECRET)
    made = Installation(database_url, tmp_path / "data", clock, private_addresses="127.0.0.0/8")
    made.know(deliveries)
    yield made
    made.store.close()


def delivered(installation: Installation) -> list[tuple[str, str, str | None]]:
    """Key, state and error of every delivery."""
    tasks = installation.client.list(pipeline="webhooks")
    items = [item for task in reversed(tasks) for item in installation.client.items(task.id)]
    return [(item.key, str(item.state), item.error_message) for item in items]


def test_a_completed_task_is_told_once_and_signed(told: Installation) -> None:
    with receiving(answers(200, b"thanks")) as receiver:
        told.client.webhooks.add("ops", receiver.url)
        pipeline = told.know(batch())
        task = told.client.submit(pipeline, items=["a"], options={"private": "value"})
        told.work()
        [(headers, body)] = receiver.got
    found: Any = Verifier(SECRET).verify(body, headers)
    assert (found["type"], found["data"]["task"], found["data"]["state"]) == ("task.completed", task.id, "completed")
    assert b"private" not in body
    assert delivered(told) == [("ops", "done", None)]
    [delivery] = told.client.list(pipeline="webhooks")
    assert [one.id for one in told.client.list(deliveries=False)] == [task.id]
    assert told.client.result(delivery.id) == [{"status": 200, "answer": "thanks"}]
    assert SECRET.removeprefix("whsec_") not in repr(told.rows())


@pytest.mark.parametrize(
    ("pipeline", "steer", "event"),
    [
        (one_step(lambda task: 1 / 0), None, "failed"),
        (batch(tolerate=0), None, "failed"),
        (one_step(lambda task: 1), "pause", "paused"),
        (one_step(lambda task: 1, gate=True), None, "needs_you"),
    ],
)
def test_every_event_is_told(told: Installation, pipeline: ff.Pipeline, steer: str | None, event: str) -> None:
    with receiving(answers(204)) as receiver:
        told.client.webhooks.add("ops", receiver.url)
        starts_with_items = pipeline.name == "batch"
        task = told.client.submit(told.know(pipeline), items=["bad"] if starts_with_items else None)
        if steer is not None:
            getattr(told.client, steer)(task.id)
        told.work()
    types = [Verifier(SECRET).verify(body, headers)["type"] for headers, body in receiver.got]
    assert types == [f"task.{event}"]


def test_a_partial_task_is_told(told: Installation) -> None:
    with receiving(answers(204)) as receiver:
        told.client.webhooks.add("ops", receiver.url, events=["partial"])
        told.client.submit(told.know(book()), options={"texts": ["bad", "good"]})
        told.work()
    assert [Verifier(SECRET).verify(body, headers)["type"] for headers, body in receiver.got] == ["task.partial"]


def test_only_the_wanted_events_pipelines_and_owners_are_told(told: Installation) -> None:
    with receiving(answers(204)) as receiver:
        told.client.webhooks.add("failures", receiver.url, events=["failed"])
        told.client.webhooks.add("other", receiver.url, pipeline="other")
        told.client.webhooks.add("ann", receiver.url, owner="ann")
        told.client.submit(told.know(batch()), items=["a"], owner="bob")
        told.work()
    assert receiver.got == []
    assert delivered(told) == []


def test_a_task_names_its_own_receivers(told: Installation) -> None:
    with receiving(answers(204)) as receiver:
        told.client.webhooks.add("mine", receiver.url, events=["paused"])
        told.client.submit(told.know(batch()), items=["a"], notify=["mine", receiver.url])
        told.work()
    assert len(receiver.got) == 2
    assert [key for key, _, _ in delivered(told)] == ["mine", "notify-2"]


def test_a_move_that_is_rolled_back_tells_nothing(told: Installation) -> None:
    told.client.webhooks.add("ops", "https://example.com")
    task = told.client.submit(told.know(batch()), items=["a"])

    def roll_back() -> None:
        with told.store.write() as tx:
            move(tx, {}, tx.tasks.resolve(task.id), "pause", TaskState.PAUSED, actor="x")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        roll_back()
    assert told.client.list(pipeline="webhooks") == []


def test_items_that_wait_for_a_person_are_told_once(told: Installation) -> None:
    def hold(item: Any) -> None:
        raise ff.HoldItem("look at it")

    with receiving(answers(204)) as receiver:
        told.client.webhooks.add("ops", receiver.url)
        told.client.submit(told.know(batch(handler=hold)), items=["a", "b", "c"])
        for _ in range(3):
            told.worker().run(free=1)
    [(headers, body)] = receiver.got
    found: Any = Verifier(SECRET).verify(body, headers)
    assert (found["type"], found["data"]["reason"]) == ("task.needs_you", "look at it")


def test_a_receiver_that_fails_is_tried_again_at_growing_intervals(told: Installation, clock: HandClock) -> None:
    with receiving(answers(503, b"busy")) as receiver:
        told.client.webhooks.add("ops", receiver.url)
        told.client.submit(told.know(batch()), items=["a"])
        told.work()
        for count, seconds in enumerate(DELAYS, 1):
            assert len(receiver.got) == count
            clock.advance(seconds - 1)
            told.work()
            assert len(receiver.got) == count
            clock.advance(2)
            told.work()
    assert len(receiver.got) == 7
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
    assert delivered(told) == [("ops", "failed", "127.0.0.1 answered 503: busy")]
    [delivery] = told.client.list(pipeline="webhooks")
    assert len(told.client.item(delivery.id, "ops").attempts) == 7


def test_410_disables_the_webhook(told: Installation) -> None:
    with receiving(answers(410)) as receiver:
        told.client.webhooks.add("ops", receiver.url)
        for _ in range(2):
            told.client.submit(told.know(batch()), items=["a"])
            told.work()
    assert len(receiver.got) == 1
    assert told.client.webhooks.get("ops").disabled_because == "410 Gone"
    told.client.webhooks.add("ops", receiver.url)
    assert told.client.webhooks.get("ops").disabled_at is None


def test_a_redirect_is_not_followed(told: Installation) -> None:
    with receiving(answers(302, location="http://169.254.169.254/latest")) as receiver:
        told.client.webhooks.add("ops", receiver.url)
        told.client.submit(told.know(batch()), items=["a"])
        told.work()
    [(_, state, error)] = delivered(told)
    assert (state, len(receiver.got)) == ("retrying", 1)
    assert "302" in str(error)


def test_a_private_address_is_refused_unless_allowed(installation: Installation, monkeypatch: Any) -> None:
    monkeypatch.setenv("FANFOLD_WEBHOOK_SECRET", SECRET)
    installation.know(deliveries)
    with receiving(answers(200)) as receiver:
        installation.client.webhooks.add("ops", receiver.url)
        installation.client.webhooks.test("ops")
        installation.work()
    [(_, state, error)] = delivered(installation)
    assert (state, receiver.got) == ("failed", [])
    assert "not public" in str(error)
    [task] = installation.client.list(pipeline="webhooks")
    assert task.state == "failed", "nobody was told, so it is not called completed"


def test_without_a_secret_the_delivery_waits_for_a_person(told: Installation, monkeypatch: Any) -> None:
    monkeypatch.delenv("FANFOLD_WEBHOOK_SECRET")
    with receiving(answers(200)) as receiver:
        told.client.webhooks.add("ops", receiver.url)
        task = told.client.webhooks.test("ops")
        told.work()
        held = told.client.get(task.id)
        assert (held.held, receiver.got) == (1, [])
        assert "FANFOLD_WEBHOOK_SECRET_OPS" in str(held.wait_reason)
        monkeypatch.setenv("FANFOLD_WEBHOOK_SECRET_OPS", SECRET)
        told.client.retry(task.id)
        told.work()
        assert len(receiver.got) == 1


def test_a_removed_webhook_gets_nothing_any_more(told: Installation) -> None:
    with receiving(answers(200)) as receiver:
        told.client.webhooks.add("ops", receiver.url)
        told.client.webhooks.test("ops")
        told.client.webhooks.remove("ops")
        told.work()
    assert receiver.got == []


def test_a_task_that_starts_later_at_a_gate_needs_you_then(told: Installation, clock: HandClock) -> None:
    """Not before its time, when nobody can do anything about it."""
    with receiving(answers(200)) as receiver:
        told.client.webhooks.add("ops", receiver.url)
        told.client.submit(told.know(one_step(lambda task: 1, gate=True)), delay=60)
        told.work()
        assert receiver.got == []
        clock.advance(61)
        told.sweep()
        told.work()
    types = [Verifier(SECRET).verify(body, headers)["type"] for headers, body in receiver.got]
    assert types == ["task.needs_you"]


def test_an_owner_cannot_replace_the_webhook_of_somebody_else(told: Installation) -> None:
    told.client.webhooks.add("ops", "https://example.com/ops")
    ann = ff.Client(store=told.store, owner="ann")
    with pytest.raises(ff.BadInput, match="somebody else"):
        ann.webhooks.add("ops", "https://example.com/ann")
    assert told.client.webhooks.get("ops").url == "https://example.com/ops"
    ann.webhooks.add("mine", "https://example.com/1")
    assert ann.webhooks.add("mine", "https://example.com/2").url == "https://example.com/2"


@pytest.mark.parametrize(
    "wrong",
    ["ftp://x", "http://", "no url", "https://a b", "http://[::1", "https://x:99999", "https://:80", "https://u:p@x/"],
)
def test_a_wrong_address_is_refused(told: Installation, wrong: str) -> None:
    with pytest.raises(ff.BadInput):
        told.client.webhooks.add("ops", wrong)


def test_a_wrong_notify_is_refused(told: Installation) -> None:
    for wrong in ("text", ["ftp://x"], ["a b"], ["x"] * 11, [1]):
        with pytest.raises(ff.BadInput):
            told.client.submit(told.know(batch()), items=["a"], notify=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.0.1", "100.64.0.1", "0.0.0.0", "224.0.0.1", "::1", "fe80::1",
        "fd00::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1", "::7f00:1", "::",
    ],
)  # fmt: skip
def test_no_form_of_a_private_address_is_asked(address: str) -> None:
    """Whatever a name resolves to."""
    found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 443))]
    public = (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("93.184.215.14", 443))
    with patch.object(socket, "getaddrinfo", return_value=[public, *found]), pytest.raises(RequestRefused):
        checked("https://example.com/")


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "http://user:pw@example.com", "//x", "gopher://x", "http://[::1", "http://x:99999"]
)
def test_only_web_addresses_are_asked(url: str) -> None:
    with pytest.raises(RequestRefused):
        checked(url)


def test_the_connection_is_made_to_the_checked_address() -> None:
    """A name that resolves differently the second time gains nothing."""
    with receiving(answers(200, b"ok")) as receiver:
        port = receiver.server.server_port
        first = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port))]
        with patch.object(socket, "getaddrinfo", side_effect=[first]) as asked:
            asked.side_effect = lambda host, *rest, **named: first
            reply = send(f"http://rebinding.example:{port}/", allowed=Allowed.parsed("127.0.0.1"))
            hosts = [call.args[0] for call in asked.call_args_list]
    assert reply.status == 200
    assert hosts.count("rebinding.example") == 1
    assert receiver.got[0][0]["host"] == f"rebinding.example:{port}"


def test_a_redirect_to_a_private_address_is_refused() -> None:
    """Every hop is checked."""
    with receiving(answers(302, location="http://10.0.0.1/secret")) as receiver, pytest.raises(RequestRefused):
        send(receiver.url, redirects=3, allowed=HERE)
    with receiving(answers(302, location="/again")) as receiver, pytest.raises(RequestRefused, match="too often"):
        send(receiver.url, redirects=2, allowed=HERE)


def test_an_endless_body_is_cut() -> None:
    """A receiver that sends a gigabyte costs a few kilobytes."""
    sent = []

    def pour(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("content-length", str(10**9))
        request.end_headers()
        for _ in range(16_000):
            try:
                request.wfile.write(b"x" * 65_536)
            except OSError:
                return
            sent.append(65_536)

    with receiving(pour) as receiver:
        reply = send(receiver.url, allowed=HERE, most_bytes=4_096)
    assert (reply.status, len(reply.body)) == (200, 4_096)
    assert sum(sent) < 100_000_000


@pytest.mark.parametrize("says", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"])
def test_a_receiver_that_hangs_is_cut_off(says: bytes) -> None:
    """Before the headers, in them, or in the body; a byte now and then does not help."""
    over = threading.Event()

    def hang(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(says)
        while not over.wait(0.05):
            try:
                request.wfile.write(b"" if not says.endswith(b"OK\r\n") else b"X-A: 1\r\n")
            except OSError:
                return

    started = time.monotonic()
    with receiving(hang) as receiver:
        try:
            with pytest.raises((TimeoutError, ConnectionError)):
                send(receiver.url, method="POST", body=b"{}", seconds=0.5, allowed=HERE)
        finally:
            over.set()
    assert time.monotonic() - started < 60


def test_a_handshake_that_hangs_is_cut_off() -> None:
    """A byte now and then, before anything of HTTP is said."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"\x16\x03\x03\x40\x00")  # The head of a record of 16 kB.
                while not over.wait(0.05):
                    try:
                        connection.sendall(b"\x02")
                    except OSError:
                        return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        try:
            with pytest.raises(TimeoutError):
                send(f"https://127.0.0.1:{server.getsockname()[1]}/", seconds=0.5, allowed=HERE)
            assert not over.is_set()
        finally:
            over.set()
            thread.join(60)


def test_many_addresses_get_no_more_time_than_one() -> None:
    """A name can have fifty addresses that do not answer."""
    asked: list[float] = []

    def refuse(_address: Any, seconds: float) -> Any:
        asked.append(seconds)
        raise TimeoutError("silence")

    found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (f"93.184.215.{n}", 443)) for n in range(50)]
    with (
        patch.object(socket, "getaddrinfo", return_value=found),
        patch.object(socket, "create_connection", side_effect=refuse),
        pytest.raises(TimeoutError, match="silence"),
    ):
        send("https://example.com/", seconds=10.0)
    assert len(asked) == 50
    assert asked[0] <= 10.0 / 50


def test_a_receiver_that_speaks_no_http_is_a_failure() -> None:
    """As if it could not be reached."""

    def lie(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"SSH-2.0-OpenSSH\r\n\r\n")

    with receiving(lie) as receiver, pytest.raises(ConnectionError):
        send(receiver.url, allowed=HERE)


def test_the_pauses_are_those_that_are_documented() -> None:
    assert [*DELAYS] == [5, 300, 1800, 7200, 18000, 36000]
    assert delivering.deliveries.plan().stages[0].name == "deliver"
