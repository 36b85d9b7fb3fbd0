"""A loopback image service that speaks the protocols of Replicate, fal, ComfyUI and OpenAI's images, with scripted faults.

It counts what it has accepted: a job that is accepted is a job that somebody pays for.
"""

import base64
import io
import json
import socket
import struct
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from PIL import Image

Json = dict[str, Any]
FAULTS = {
    "good": "answers as it should",
    "reset": "accepts the job, then cuts the connection",
    "slow": "accepts the job, and answers only after ``slow_seconds``",
    "gateway": "accepts the job, then a gateway answers 502",
    "busy": "answers 429 and accepts nothing",
    "refused": "answers 400 and accepts nothing",
    "moderated": "accepts the job; its moderation then withholds the picture",
    "failed": "accepts the job, which then fails",
    "late": "accepts the job, and needs ``late_seconds``",
    "expired": "makes the picture; the first link to it is dead",
    "forgotten": "accepts the job, and no longer knows it when it is asked",
    "not_listed": "as reset, and the job is not listed for ``late_seconds``",
}


@dataclass
class ImageJob:
    """A job that was accepted."""

    number: int
    prompt: str
    seed: int
    fault: str
    webhook: str | None = None
    key: str | None = None
    """The idempotency key, or ComfyUI's extra data."""
    images: int = 0
    at: float = field(default_factory=time.monotonic)
    created_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat())
    fetches: int = 0
    cancelled: bool = False
    body: Json = field(default_factory=dict)
    is_free: bool = False
    """ComfyUI: nobody pays for a job that a restart has forgotten."""

    @property
    def id(self) -> str:
        """The service's id of it."""
        return f"job-{self.number}"


Chooser = Callable[[str, int], str]


class ImageServer:
    """The state of the service. ``choose`` gets prompt and seed of a request and names a fault."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.jobs: dict[str, ImageJob] = {}
        self.scripted: list[str] = []
        self.choose: Chooser = lambda prompt, seed: "good"
        self.late_seconds = 1.0
        self.slow_seconds = 1.0
        self.work_seconds = 0.0
        self.page = 100
        """Predictions on one page of the list."""
        self.webhooks = 0
        """How often the service calls back at the end of a job. One more call comes before the answer to its start, and a
        forged one with it."""
        self.called_back: Counter[str] = Counter()
        """The answers to these calls: `early 204`, `forged 404`, `done 204` …"""
        self.looks = 0
        self.asked: list[Json] = []
        self.honours_keys = False
        self.size = (64, 48)
        self.lock = threading.Lock()

    @property
    def accepted(self) -> Counter[tuple[str, int]]:
        """How many jobs were accepted for each prompt and seed."""
        with self.lock:
            return Counter((job.prompt, job.seed) for job in self.jobs.values())

    @property
    def paid(self) -> Counter[tuple[str, int]]:
        """The same, without those that nobody pays for because a server of one's own has forgotten them."""
        with self.lock:
            jobs = [job for job in self.jobs.values() if not (job.is_free and job.fault == "forgotten")]
        return Counter((job.prompt, job.seed) for job in jobs)

    def fault_of(self, prompt: str, seed: int) -> str:
        """The next scripted fault, or the one that is chosen."""
        with self.lock:
            return self.scripted.pop(0) if self.scripted else self.choose(prompt, seed)

    def accept(self, prompt: str, seed: int, fault: str, **known: Any) -> ImageJob:
        """A new job; with the key of an earlier one, that one, if the service honours keys."""
        with self.lock:
            for job in self.jobs.values():
                if self.honours_keys and known.get("key") and job.key == known["key"]:
                    return job
            job = ImageJob(len(self.jobs) + 1, prompt, seed, fault, **known)
            self.jobs[job.id] = job
            return job

    def known(self, id: str) -> ImageJob | None:
        """A job that the service admits to know."""
        job = self.jobs.get(id)
        return None if job is None or job.fault == "forgotten" else job

    def is_done(self, job: ImageJob) -> bool:
        """Whether a job has ended, well or badly."""
        needs = self.late_seconds if job.fault == "late" else self.work_seconds
        return time.monotonic() - job.at >= needs

    def is_listed(self, job: ImageJob) -> bool:
        """Whether the list of jobs has it."""
        return job.fault != "not_listed" or time.monotonic() - job.at >= self.late_seconds

    def call_back_early(self, job: ImageJob) -> None:
        """Call back before the start is answered, also with a forged address; the other calls follow at the job's end."""
        if job.webhook is None or not self.webhooks:
            return
        self._call("early", job.webhook)
        self.forge(job)
        needs = self.late_seconds if job.fault == "late" else self.work_seconds
        timer = threading.Timer(needs, self.call_back, [job])
        timer.daemon = True
        timer.start()

    def call_back(self, job: ImageJob) -> None:
        """Say that a job has ended, as often as scripted."""
        for _ in range(self.webhooks):
            self._call("done", str(job.webhook))

    def forge(self, job: ImageJob) -> None:
        """Call back with a token that nobody has."""
        self._call("forged", str(job.webhook).rpartition("/")[0] + "/forged")

    def _call(self, name: str, url: str) -> None:
        try:
            with urllib.request.urlopen(urllib.request.Request(url, b"{}", method="POST"), timeout=30) as answer:
                status = str(answer.status)
        except urllib.error.HTTPError as refusal:
            status = str(refusal.code)
        except OSError:
            status = "unreachable"
        with self.lock:
            self.called_back[f"{name} {status}"] += 1

    def forget(self) -> None:
        """Restart: what was in memory is gone."""
        with self.lock:
            for job in self.jobs.values():
                if not self.is_done(job):
                    job.fault = "forgotten"


@lru_cache(maxsize=16)
def picture_bytes(shade: int, kind: str = "PNG", size: tuple[int, int] = (64, 48)) -> bytes:
    """A small picture."""
    sink = io.BytesIO()
    Image.new("RGB", size, (shade % 256, 120, 60)).save(sink, kind)
    return sink.getvalue()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server_version = "images"

    @property
    def images(self) -> ImageServer:
        return self.server.images  # type: ignore[attr-defined, no-any-return]

    def log_message(self, *_arguments: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        parts = path.strip("/").split("/")
        if path.startswith("/files/"):
            self._file(parts[1])
        elif path == "/view":
            self._file(query["filename"][0])
        elif path == "/v1/predictions":
            self._predictions(query)
        elif path.startswith("/v1/predictions"):
            self._prediction(parts)
        elif "requests" in parts:
            self._fal(parts)
        elif parts[0] in ("history", "queue"):
            self._comfyui(parts)
        else:
            self._answer(404, {})

    def do_PUT(self) -> None:
        self._read()
        self._cancelled()

    def do_POST(self) -> None:
        raw = self._read()
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        if path == "/upload/image":
            self._answer(200, {"name": f"uploaded-{len(raw)}.png"})
        elif path.endswith("/cancel") or path in ("/queue", "/interrupt"):
            self._cancelled(raw.decode())
        else:
            self._start(path, query, raw)

    def _start(self, path: str, query: dict[str, list[str]], raw: bytes) -> None:
        is_form = not raw.startswith(b"{")
        body: Json = _form(raw) if is_form else json.loads(raw)
        self.images.asked.append(body)
        prompt, seed, known = _order(path, body)
        known["webhook"] = known.get("webhook") or next(iter(query.get("fal_webhook", [])), None)
        known["key"] = known.get("key") or self.headers.get("Idempotency-Key")
        fault = self.images.fault_of(prompt, seed)
        if fault in ("busy", "refused"):
            self._answer(429 if fault == "busy" else 400, {"detail": fault}, {"Retry-After": "0"})
            return
        job = self.images.accept(prompt, seed, fault, body=body, **known)
        self.images.call_back_early(job)
        if fault == "slow":
            time.sleep(self.images.slow_seconds)
        if fault in ("reset", "not_listed"):
            self._cut()
        elif fault == "gateway":
            self._answer(502, {"detail": "bad gateway"})
        else:
            self._answer(201, self._accepted(path, job))

    def _accepted(self, path: str, job: ImageJob) -> Json:
        if path.startswith("/v1/images"):
            time.sleep(self.images.work_seconds)
            content = base64.b64encode(picture_bytes(job.seed, "PNG", self.images.size)).decode()
            return {"created": job.number, "data": [{"b64_json": content}]}
        if path == "/prompt":
            return {"prompt_id": job.id, "number": job.number, "node_errors": {}}
        if "predictions" in path:
            return {"id": job.id, "status": "starting", "urls": {}}
        base = f"{self.images.url}{path}/requests/{job.id}"
        links = {"status_url": f"{base}/status", "response_url": base, "cancel_url": f"{base}/cancel"}
        return {"request_id": job.id, "gateway_request_id": "other", **links}

    def _predictions(self, query: dict[str, list[str]]) -> None:
        """One page of the list, newest first; the next one begins after the named job."""
        before = int(query.get("cursor", ["1000000000"])[0])
        jobs = [job for job in list(self.images.jobs.values()) if job.number < before and self.images.is_listed(job)]
        shown = [job for job in reversed(jobs) if not job.is_free]
        page = shown[: self.images.page]
        listed = [
            {"id": job.id, "created_at": job.created_at, "input": {"prompt": job.prompt, "seed": job.seed}}
            for job in page
        ]
        more = f"{self.images.url}/v1/predictions?cursor={page[-1].number}" if len(shown) > len(page) else None
        self._answer(200, {"next": more, "results": listed})

    def _prediction(self, parts: list[str]) -> None:
        self.images.looks += 1
        job = self.images.known(parts[2])
        if job is None:
            self._answer(404, {"detail": "not found"})
        elif not self.images.is_done(job):
            self._answer(200, {"id": job.id, "status": "processing"})
        elif error := _error(job):
            self._answer(200, {"id": job.id, "status": "failed", "error": error})
        else:
            self._answer(200, {"id": job.id, "status": "succeeded", "output": [self._link(job)]})

    def _fal(self, parts: list[str]) -> None:
        at = parts.index("requests")
        job = self.images.known(parts[at + 1])
        self.images.looks += 1
        if job is None:
            self._answer(404, {"detail": "not found"})
        elif not self.images.is_done(job):
            self._answer(200, {"status": "IN_PROGRESS", "logs": []})
        elif parts[-1] == "status":
            self._answer(200, {"status": "COMPLETED"})
        elif error := _error(job):
            self._answer(422, {"detail": [{"msg": error}]})
        else:
            self._answer(200, {"images": [{"url": self._link(job)}], "seed": job.seed})

    def _comfyui(self, parts: list[str]) -> None:
        self.images.looks += 1
        jobs = [job for job in list(self.images.jobs.values()) if job.is_free and job.fault != "forgotten"]
        if parts[0] == "queue":
            open_jobs = [self._entry(job) for job in jobs if not self.images.is_done(job)]
            self._answer(200, {"queue_running": open_jobs[:1], "queue_pending": open_jobs[1:]})
            return
        wanted = parts[1] if len(parts) > 1 else ""
        found = {job.id: self._history(job) for job in jobs if self.images.is_done(job) and wanted in ("", job.id)}
        self._answer(200, found)

    def _entry(self, job: ImageJob) -> list[Any]:
        return [job.number, job.id, job.body["prompt"], job.body.get("extra_data", {}), []]

    def _history(self, job: ImageJob) -> Json:
        if error := _error(job):
            return {"prompt": self._entry(job), "status": {"status_str": "error", "messages": [error]}, "outputs": {}}
        image = {"filename": job.id, "subfolder": "", "type": "output"}
        return {"prompt": self._entry(job), "status": {"status_str": "success"}, "outputs": {"9": {"images": [image]}}}

    def _link(self, job: ImageJob) -> str:
        return f"{self.images.url}/files/{job.id}"

    def _file(self, id: str) -> None:
        job = self.images.jobs[id]
        job.fetches += 1
        if job.fault == "expired" and job.fetches == 1:
            self._answer(404, {"detail": "expired"})
            return
        content = picture_bytes(job.seed, "PNG", self.images.size)
        self.send_response(200)
        self.send_header("Content-Type", "image/png")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _cancelled(self, body: str = "") -> None:
        """Cancel the job that the path or the body names."""
        for job in list(self.images.jobs.values()):
            if f"/{job.id}/" in self.path or f'"{job.id}"' in body:
                job.cancelled = True
        self._answer(200, {})

    def _read(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _answer(self, status: int, body: Json, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def _cut(self) -> None:
        """Reset the connection."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()


def _order(path: str, body: Json) -> tuple[str, int, Json]:
    """Prompt and seed of a request in any protocol."""
    if path == "/prompt":
        node = body["prompt"]["1"]["inputs"]
        return (
            node["text"],
            node["seed"],
            {
                "key": body.get("extra_data", {}).get("fanfold"),
                "images": int("image" in node),
                "is_free": True,
            },
        )
    if path.startswith("/v1/images"):
        return str(body["prompt"]), len(str(body)), {"images": int("image[]" in body)}
    given = body.get("input", body)
    return given["prompt"], given["seed"], {"webhook": body.get("webhook"), "images": int("image" in str(given.keys()))}


def _error(job: ImageJob) -> str:
    return {"moderated": "NSFW content detected", "failed": "out of memory"}.get(job.fault, "")


def _form(raw: bytes) -> Json:
    """The fields of a form; of files only their names."""
    mark = raw.partition(b"\r\n")[0]
    found: Json = {}
    for part in raw.split(mark)[1:-1]:
        head, _, value = part.strip(b"\r\n").partition(b"\r\n\r\n")
        name = head.split(b'name="')[1].split(b'"')[0].decode()
        found[name] = f"{len(value)} bytes" if b"filename" in head else value.decode()
    return found


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is no error of the service."""


@contextmanager
def running() -> Iterator[ImageServer]:
    """The service, on a free port, until the block ends."""
    server = _Server(("127.0.0.1", 0), Handler)
    images = ImageServer(server.server_address[1])
    server.images = images  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield images
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
