"""The batches of the loopback service: OpenAI's files and batches, and Anthropic's message batches, with faults on request."""

import json
import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tests.ai_protocol import ANTHROPIC_PATH, Answer, Call, Json, Reply, content_for, understood

PREFIXES = ("/v1/files", "/v1/batches", "/v1/messages/batches")
RESET = "reset"
"""The fault that does what was asked and then cuts the connection, so that the client cannot know."""
HALF = "half"
"""The fault that cuts the connection in the middle of the reply."""


@dataclass
class UploadedFile:
    """A file as the service stores it."""

    id: str
    name: str
    content: bytes


@dataclass
class FakeBatch:
    """A batch as the service stores it."""

    id: str
    requests: list[Json]
    metadata: Json
    is_anthropic: bool
    input_file: str = ""
    endpoint: str = ""
    status: str = "in_progress"
    errors: list[Json] = field(default_factory=list)
    results: list[Json] = field(default_factory=list)
    answered: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    """How many requests came to which end."""
    output_file: str | None = None
    error_file: str | None = None
    created_at: float = field(default_factory=time.time)


class FakeBatches:
    """Stores files and batches; the test says when they end and what goes wrong."""

    def __init__(self, answer: Callable[[], Answer]) -> None:
        self._answer = answer
        self.held = False
        """Whether batches stay in progress until the test says otherwise."""
        self.expires: Callable[[str], bool] = lambda prompt: False
        """Which questions expire, unanswered and not charged."""
        self.refuses: Callable[[str], Json | None] = lambda prompt: None
        """The error of a question, if it has one."""
        self.token_limit: int | None = None
        """Most characters of all requests of a batch; a larger batch fails as a whole."""
        self.faults: deque[tuple[str, str]] = deque()
        """(method and path prefix, fault) for the next fitting request: a status, `reset` or `half`."""
        self.files: dict[str, UploadedFile] = {}
        self.batches: dict[str, FakeBatch] = {}
        self.paid: Counter[str] = Counter()
        """How often each question was answered in a batch."""

    def handles(self, path: str) -> bool:
        """Whether a request is about files or batches."""
        return path.startswith(PREFIXES)

    def handle(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes, float]:
        """Status and body of the reply, and which part of it is sent before the connection is cut; 1 for a whole reply."""
        fault = self._fault(f"{method} {path}")
        if fault not in ("", RESET, HALF):
            return int(fault), json.dumps({"error": {"message": "told to fail", "code": None}}).encode(), 1.0
        status, said = self._done(method, path, headers, body)
        content = said if isinstance(said, bytes) else json.dumps(said).encode()
        return status, content, {RESET: 0.0, HALF: 0.5}.get(fault, 1.0)

    def _fault(self, request: str) -> str:
        if self.faults and request.startswith(self.faults[0][0]):
            return self.faults.popleft()[1]
        return ""

    def _done(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        parts = path.strip("/").split("/")
        if path.startswith("/v1/files"):
            return self._file(method, parts[2:], headers, body)
        is_anthropic = path.startswith("/v1/messages")
        rest = parts[3:] if is_anthropic else parts[2:]
        if method == "POST" and not rest:
            if not is_anthropic and json.loads(body)["input_file_id"] not in self.files:
                return 400, {"error": {"message": "no such input file", "code": "invalid_value"}}
            return 200, self._shown(self._create(json.loads(body), is_anthropic))
        if not rest:
            mine = [batch for batch in reversed(self.batches.values()) if batch.is_anthropic is is_anthropic]
            found = [self._shown(self._now(batch)) for batch in mine]
            return 200, {"object": "list", "data": found, "has_more": False, "first_id": None, "last_id": None}
        batch = self.batches.get(rest[0])
        if batch is None:
            return 404, {"error": {"message": "no such batch", "code": "not_found"}}
        return self._of_batch(method, batch, rest[1:])

    def _of_batch(self, method: str, batch: FakeBatch, rest: list[str]) -> tuple[int, Any]:
        if rest == ["cancel"]:
            if batch.status == "in_progress":
                self._finish(batch, "cancelled", is_cut=True)
            return 200, self._shown(batch)
        if rest == ["results"]:
            return 200, _lines(batch.results)
        if method == "DELETE":
            del self.batches[batch.id]
            return 200, {"id": batch.id, "type": "message_batch_deleted"}
        return 200, self._shown(self._now(batch))

    def _now(self, batch: FakeBatch) -> FakeBatch:
        """The batch, over by now if the test does not hold it."""
        if batch.status == "in_progress" and not self.held:
            self.finish(batch)
        return batch

    def _file(self, method: str, rest: list[str], headers: Mapping[str, str], body: bytes) -> tuple[int, Any]:
        if method == "POST":
            name, content = _uploaded(headers["content-type"], body)
            return 200, self._file_shown(self._keep_file(name, content))
        if not rest:
            return 200, {
                "object": "list",
                "data": [self._file_shown(file) for file in self.files.values()],
                "has_more": False,
            }
        file = self.files.get(rest[0])
        if file is None:
            return 404, {"error": {"message": "no such file", "code": "not_found"}}
        if rest[1:] == ["content"]:
            return 200, file.content
        if method == "DELETE":
            del self.files[file.id]
            return 200, {"id": file.id, "object": "file", "deleted": True}
        return 200, self._file_shown(file)

    def _keep_file(self, name: str, content: bytes) -> UploadedFile:
        file = UploadedFile(f"file-{secrets.token_hex(4)}", name, content)
        self.files[file.id] = file
        return file

    def _create(self, body: Json, is_anthropic: bool) -> FakeBatch:
        id_ = f"batch_{secrets.token_hex(4)}"
        if is_anthropic:
            batch = FakeBatch(id_, body["requests"], {}, True)
        else:
            content = self.files[body["input_file_id"]].content
            requests = [json.loads(line) for line in content.splitlines() if line]
            batch = FakeBatch(id_, requests, body.get("metadata") or {}, False, body["input_file_id"], body["endpoint"])
            if any(request["url"] != batch.endpoint for request in requests):
                batch.status, batch.errors = "failed", [{"code": "mismatched_endpoint", "message": "Another endpoint"}]
            if self.token_limit is not None and len(content) > self.token_limit:
                batch.status = "failed"
                batch.errors = [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}]
        self.batches[id_] = batch
        return batch

    def finish(self, batch: FakeBatch) -> None:
        """Answer the questions of a batch that do not expire."""
        self._finish(batch, "completed")

    def _finish(self, batch: FakeBatch, status: str, *, is_cut: bool = False) -> None:
        for request in batch.requests:
            call = self._call(batch, request)
            if is_cut or self.expires(call.prompt):
                batch.counts["canceled" if is_cut else "expired"] += 1
                batch.results.append(self._unanswered(batch, request["custom_id"], status))
            elif (error := self.refuses(call.prompt)) is not None:
                batch.counts["errored"] += 1
                batch.results.append(self._refused(batch, request["custom_id"], error))
            else:
                batch.results.append(self._answered(batch, request["custom_id"], call))
        batch.status = status if not any(map(self._expired, batch.results)) or is_cut else "expired"
        if not batch.is_anthropic:
            good = [line for line in batch.results if line.get("response") and not line.get("error")]
            batch.output_file = self._keep_file("output.jsonl", _lines(good)).id
            bad = [line for line in batch.results if line not in good]
            batch.error_file = self._keep_file("errors.jsonl", _lines(bad)).id if bad else None

    def _expired(self, line: Json) -> bool:
        return (line.get("error") or {}).get("code") == "batch_expired"

    def _call(self, batch: FakeBatch, request: Json) -> Call:
        path, body = (ANTHROPIC_PATH, request["params"]) if batch.is_anthropic else (batch.endpoint, request["body"])
        return understood(0, path, {}, body)

    def _answered(self, batch: FakeBatch, name: str, call: Call) -> Json:
        good = self._answer()(call)
        reply = good if isinstance(good, Reply) else Reply(text=good)
        self.paid[call.prompt] += 1
        batch.answered += 1
        content = content_for(call, reply, [])
        if batch.is_anthropic:
            return {"custom_id": name, "result": {"type": "succeeded", "message": content}}
        return {"id": name, "custom_id": name, "response": {"status_code": 200, "body": content}, "error": None}

    def _refused(self, batch: FakeBatch, name: str, error: Json) -> Json:
        if batch.is_anthropic:
            return {"custom_id": name, "result": {"type": "errored", "error": {"type": "error", "error": error}}}
        response = {"status_code": error.get("status", 400), "body": {"error": error}}
        return {"id": name, "custom_id": name, "response": response, "error": {"code": "failed", "message": ""}}

    def _unanswered(self, batch: FakeBatch, name: str, status: str) -> Json:
        kind = "cancelled" if status == "cancelled" else "expired"
        if batch.is_anthropic:
            return {"custom_id": name, "result": {"type": kind.replace("cancelled", "canceled")}}
        return {"id": name, "custom_id": name, "response": None, "error": {"code": f"batch_{kind}", "message": kind}}

    def _shown(self, batch: FakeBatch) -> Json:
        done = batch.status != "in_progress"
        if batch.is_anthropic:
            ended = {name: batch.counts[name] for name in ("errored", "canceled", "expired")}
            counts = {"processing": 0 if done else len(batch.requests), "succeeded": batch.answered, **ended}
            made = datetime.fromtimestamp(batch.created_at, UTC).isoformat()
            return {
                "id": batch.id, "type": "message_batch", "processing_status": "ended" if done else "in_progress",
                "request_counts": counts, "created_at": made, "expires_at": made, "ended_at": made if done else None,
                "archived_at": None, "cancel_initiated_at": None,
                "results_url": f"/v1/messages/batches/{batch.id}/results" if done else None,
            }  # fmt: skip
        counts = {"total": len(batch.requests), "completed": batch.answered, "failed": 0}
        return {
            "id": batch.id, "object": "batch", "endpoint": batch.endpoint, "completion_window": "24h",
            "input_file_id": batch.input_file, "status": batch.status, "created_at": int(batch.created_at),
            "output_file_id": batch.output_file, "error_file_id": batch.error_file, "metadata": batch.metadata,
            "request_counts": counts, "errors": {"object": "list", "data": batch.errors} if batch.errors else None,
        }  # fmt: skip

    def _file_shown(self, file: UploadedFile) -> Json:
        return {
            "id": file.id, "object": "file", "bytes": len(file.content), "created_at": 0, "filename": file.name,
            "purpose": "batch", "status": "processed",
        }  # fmt: skip


def _lines(rows: list[Json]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _uploaded(content_type: str, body: bytes) -> tuple[str, bytes]:
    """The name and the content of the file in a multipart body."""
    boundary = b"--" + content_type.partition("boundary=")[2].strip('"').encode()
    for part in body.split(boundary):
        head, _, content = part.partition(b"\r\n\r\n")
        if b'name="file"' in head:
            return head.partition(b'filename="')[2].partition(b'"')[0].decode(), content.removesuffix(b"\r\n")
    raise ValueError("no file in the upload")
