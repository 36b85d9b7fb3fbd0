"""A loopback service that starts external jobs, counts the starts, and finishes each job after a few polls."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

LOOKS = 3


class Service:
    """Jobs by number; every start is counted under the key it was asked with."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.starts: Counter[str] = Counter()
        self.looks: Counter[str] = Counter()
        self.jobs: dict[str, str] = {}
        self.answer_seconds = 0.0
        """How long the answer to a start takes after the job was begun."""
        self._lock = threading.Lock()

    def start(self, key: str) -> str:
        """A new job, even for a known key: a second request costs a second time."""
        with self._lock:
            self.starts[key] += 1
            job = self.jobs[key] = f"job-{sum(self.starts.values())}"
        time.sleep(self.answer_seconds)
        return job

    def find(self, key: str) -> str | None:
        """The job that was started with a key."""
        with self._lock:
            return self.jobs.get(key)

    def look(self, job: str) -> str:
        """`busy` until it was polled a few times."""
        with self._lock:
            self.looks[job] += 1
            return "busy" if self.looks[job] < LOOKS else f"result of {job}"


@contextmanager
def service() -> Iterator[Service]:
    """The service, on a port of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            values = {name: found[0] for name, found in parse_qs(asked.query).items()}
            verbs = {"/start": made.start, "/look": made.look, "/find": made.find}
            answer = verbs[asked.path](*values.values())
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with suppress(ConnectionError):  # The client may have been killed meanwhile.
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Silence."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Service(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join(60)
