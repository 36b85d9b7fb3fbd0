"""An S3 service for tests: moto in a process of its own, and a proxy before it that can fail in the ways real services do."""

import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from tests.servers import ServerUnavailable
from tests.waiting import eventually

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "testing-key-id",
    "AWS_SECRET_ACCESS_KEY": "testing-secret",
    "AWS_REGION": "us-east-1",
}
BUCKET = "fanfold-tests"
STARTED: list[subprocess.Popen[bytes]] = []
"""Kept until the end: the server outlives the test process that started it."""


class S3Server:
    """A moto server. Everything it knows is on disk, so any process may make an object for the same server."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def endpoint(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{(self.directory / 'port').read_text()}"

    def start(self) -> None:
        """Start the server and create the bucket; nothing if it runs already."""
        self.directory.mkdir(exist_ok=True)
        if (self.directory / "pid").exists():
            return
        port = free_port()
        with (self.directory / "log").open("wb") as log:
            command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
            process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        (self.directory / "port").write_text(str(port))
        eventually(lambda: self._makes_bucket() or process.poll() is not None)
        if process.poll() is not None:
            raise ServerUnavailable((self.directory / "log").read_text()[-500:])
        (self.directory / "pid").write_text(str(process.pid))
        STARTED.append(process)

    def _makes_bucket(self) -> bool:
        asked = urllib.request.Request(f"{self.endpoint}/{BUCKET}", method="PUT", data=b"")
        with suppress(OSError):
            urllib.request.urlopen(asked, timeout=60).close()
            return True
        return False

    def remove(self) -> None:
        """End the server, if it runs."""
        with suppress(OSError, ValueError):
            os.kill(int((self.directory / "pid").read_text()), signal.SIGKILL)

    def address(self, prefix: str, endpoint: str | None = None) -> str:
        """The setting for files below a prefix of the bucket."""
        return f"s3://{BUCKET}/{prefix}?endpoint={endpoint or self.endpoint}"


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


Fault = Callable[[str, str], str | None]
"""What goes wrong with a request (method, path): a status of `REFUSALS`, `cut` (the body ends early), `short` (half of the body,
with headers that agree), `empty` (200 without a body), `reset`, `lost` (reset when it is done), `forgotten` (404
when it is done), `unconditional`, or None."""
REFUSALS = {
    "403": b"<Error><Code>SignatureDoesNotMatch</Code><AWSAccessKeyId>testing-key-id</AWSAccessKeyId></Error>",
    "404": b"<html>default backend - 404</html>",
    "500": b"",
    "501": b"<Error><Code>NotImplemented</Code></Error>",
    "503": b"<Error><Code>SlowDown</Code></Error>",
}
"""Answers that do not come from the service, or only from its door."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    target = ""
    fault: Fault = staticmethod(lambda method, path: None)

    def _pass(self) -> None:
        fault = type(self).fault(self.command, self.path)
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        if fault == "reset":
            self.connection.close()
            self.close_connection = True
            return
        if fault == "empty":
            self._answer(200, b"", [("ETag", '"0"'), ("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")])
            return
        if fault in REFUSALS:
            self._answer(int(fault), REFUSALS[fault], [])
            return
        dropped = {"host", "content-length"} | ({"if-none-match"} if fault == "unconditional" else set())
        headers = {name: value for name, value in self.headers.items() if name.lower() not in dropped}
        parts = urlsplit(self.target)
        connection = HTTPConnection(parts.hostname or "", parts.port or 80, timeout=60)
        connection.request(self.command, self.path, body, {**headers, "Content-Length": str(len(body))})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if fault == "forgotten":
            self._answer(404, b"<Error><Code>NoSuchUpload</Code></Error>", [])
            return
        if fault == "lost":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
            return
        headers_back = answer.getheaders()
        if fault == "short":
            content = content[: len(content) // 2]
            told = {"content-range": f"bytes 0-{len(content) - 1}/{len(content)}", "content-length": str(len(content))}
            headers_back = [(name, told.get(name.lower(), value)) for name, value in headers_back]
        self._answer(answer.status, content, headers_back, cut=fault == "cut")

    def _answer(self, status: int, content: bytes, headers: list[tuple[str, str]], *, cut: bool = False) -> None:
        self.send_response_only(status)
        own = {"content-length", "transfer-encoding", "connection"}
        length = next((value for name, value in headers if name.lower() == "content-length"), str(len(content)))
        for name, value in headers:
            if name.lower() not in own:
                self.send_header(name, value)
        self.send_header("Content-Length", length if self.command == "HEAD" else str(len(content)))
        self.end_headers()
        with suppress(OSError):
            if cut:
                self.wfile.write(content[: len(content) // 2])
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
            elif self.command != "HEAD":
                self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _pass

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def failing(endpoint: str, fault: Fault) -> Iterator[str]:
    """The URL of a proxy before a service, with faults."""
    handler = type("Handler", (_Handler,), {"target": endpoint, "fault": staticmethod(fault)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
