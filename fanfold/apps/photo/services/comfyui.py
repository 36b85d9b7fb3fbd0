"""ComfyUI servers: a queue in memory that a restart forgets. Nothing is billed, so a forgotten job is started again.

Ids of a restarted server may belong to somebody else's job. The key travels with the prompt and is compared at every look.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import fanfold as ff
from fanfold.apps.photo.sentences import say_of_photo
from fanfold.apps.photo.services.requests import ServiceTrouble, UnknownOutcome, multipart
from fanfold.apps.photo.services.service import InputImage, Job, Order, Pictures, Service, noted

MARK = "fanfold"
"""Name under which the key travels with a prompt, in its `extra_data`."""


class ComfyUI(Service):
    """The server lists its queue and its history with the key of each job."""

    can_list = True

    def start(self, order: Order, key: str, wake: str | None) -> Job:
        """Upload the pictures and POST the workflow."""
        names = [self._uploaded(image, f"{_plain(key)}-{number}") for number, image in enumerate(order.images)]
        workflow = filled(self._workflow(), order, names)
        body = {"prompt": workflow, "client_id": MARK, "extra_data": {MARK: key}}
        answer = self.requests.start("/prompt", body, key=key)
        if not isinstance(answer, dict) or not answer.get("prompt_id"):
            raise UnknownOutcome(say_of_photo("no_id", service=self.settings.name))
        return noted({"id": str(answer["prompt_id"]), "key": key})

    def _workflow(self) -> Any:
        path = Path(self.settings.workflow)
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as problem:
            raise ff.Permanent(
                say_of_photo("bad_workflow", path=str(path), why=str(problem)), code="workflow"
            ) from None

    def _uploaded(self, image: InputImage, name: str) -> str:
        """Upload an input picture; its name on the server. Nothing is started by it."""
        full = f"{name}{Path(image.name).suffix}"
        fields = {"type": "input", "overwrite": "true"}
        body, kind = multipart(fields, [("image", full, image.read(), image.media_type)])
        try:
            answer = self.requests.post("/upload/image", body, {"Content-Type": kind})
        except ServiceTrouble as trouble:
            raise ff.Temporary(str(trouble), by=self.settings.name) from trouble
        return str((answer or {}).get("name") or full)

    def look(self, job: Job) -> Pictures | None:
        """GET the history, and the queue if the job is not in it."""
        entry = self._ended(job)
        if entry is None:
            if any(_key_of(one) == job["key"] for one in self._queued()):
                return None
            entry = self._ended(job)  # It may have ended between the two requests.
        if entry is None:
            raise ff.JobFailed(say_of_photo("forgotten", service=self.settings.name, job=job["id"]), code="forgotten")
        status = entry.get("status") or {}
        if status.get("status_str") == "error":
            raise self.failed(status.get("messages"))
        return self._pictures(entry)

    def _ended(self, job: Job) -> dict[str, Any] | None:
        """The entry of a job in the history; None if it has none, or if the id belongs to another job by now."""
        known = self.requests.get(f"/history/{quote(str(job['id']), safe='')}") or {}
        entry = known.get(job["id"])
        is_ours = isinstance(entry, dict) and _key_of(entry.get("prompt")) == job["key"]
        return entry if is_ours else None

    def _pictures(self, entry: dict[str, Any]) -> Pictures:
        found = [image for node in (entry.get("outputs") or {}).values() for image in node.get("images", ())]
        kept = [image for image in found if image.get("type") == "output"] or found
        if not kept:
            raise self.failed(say_of_photo("no_pictures"))
        return Pictures(tuple("/view?" + urlencode(image) for image in kept))

    def _queued(self) -> list[Any]:
        queue = self.requests.get("/queue") or {}
        return [*queue.get("queue_running", ()), *queue.get("queue_pending", ())]

    def cancel(self, job: Job) -> None:
        """Take it out of the queue; a job that runs is interrupted."""
        self.requests.post("/queue", {"delete": [job["id"]]})
        self.requests.post("/interrupt", {"prompt_id": job["id"]})

    def find(self, order: Order, key: str, since: float) -> Job | None:
        """Look for the key in the queue and in the history."""
        for one in self._queued():
            if _key_of(one) == key:
                return noted({"id": str(one[1]), "key": key})
        for name, entry in (self.requests.get("/history") or {}).items():
            if isinstance(entry, dict) and _key_of(entry.get("prompt")) == key:
                return noted({"id": name, "key": key})
        return None


def filled(workflow: Any, order: Order, names: list[str]) -> Any:
    """The workflow with the prompt, the seed and the names of the input pictures in their places."""
    values: dict[str, Any] = {f"%{name}%": value for name, value in order.parameters.items()}
    values |= {"%prompt%": order.prompt, "%negative%": order.negative, "%seed%": order.seed}
    values |= {f"%image{'' if number == 0 else number + 1}%": name for number, name in enumerate(names)}
    if isinstance(workflow, dict):
        return {name: filled(value, order, names) for name, value in workflow.items()}
    if isinstance(workflow, list):
        return [filled(value, order, names) for value in workflow]
    if not isinstance(workflow, str):
        return workflow
    if workflow in values:
        return values[workflow]
    for mark, value in values.items():
        workflow = workflow.replace(mark, str(value))
    return workflow


def _key_of(entry: Any) -> str | None:
    """The key of an entry of queue or history: number, id, prompt, extra data, outputs."""
    extra = entry[3] if isinstance(entry, list) and len(entry) > 3 else None
    return extra.get(MARK) if isinstance(extra, dict) else None


def _plain(key: str) -> str:
    return "".join(one if one.isalnum() or one in "-_" else "-" for one in key)
