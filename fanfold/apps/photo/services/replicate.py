"""Services with the protocol of Replicate: predictions that are created, polled, listed and cancelled."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import fanfold as ff
from fanfold.apps.photo.sentences import say_of_photo
from fanfold.apps.photo.services.requests import ServiceTrouble, UnknownOutcome
from fanfold.apps.photo.services.service import Job, Order, Pictures, Service, noted

PAGES = 500
"""Pages of the list of predictions, of a hundred each, that are searched for a job. A busy account makes thousands an hour."""
CLOCKS_SECONDS = 3_600.0
"""How far the clock of the service may be behind."""


class Replicate(Service):
    """The service has no idempotency key, but it lists predictions with their inputs: prompt and seed identify a job."""

    can_list = True

    def start(self, order: Order, key: str, wake: str | None) -> Job:
        """POST a prediction. With ``wake``, the service calls back once, at its end."""
        owner, _, version = self.settings.model.partition(":")
        body: dict[str, Any] = {"input": self._input(order)}
        if version:
            body["version"] = version
        if wake:
            body |= {"webhook": wake, "webhook_events_filter": ["completed"]}
        path = "/v1/predictions" if version else f"/v1/models/{owner}/predictions"
        return self._job(self.requests.start(path, body, key=key))

    def _input(self, order: Order) -> dict[str, Any]:
        given = {**order.parameters, **self.settings.parameters, "prompt": order.prompt, "seed": order.seed}
        if order.negative:
            given["negative_prompt"] = order.negative
        if order.images:
            given[self.settings.image_field or "image"] = order.images[0].data_uri()
        for number, image in enumerate(order.images[1:], 2):
            given[f"{self.settings.image_field or 'image'}_{number}"] = image.data_uri()
        return given

    def _job(self, answer: Any) -> Job:
        if not isinstance(answer, dict) or not answer.get("id"):
            raise UnknownOutcome(say_of_photo("no_id", service=self.settings.name))
        return noted({"id": str(answer["id"])})

    def look(self, job: Job) -> Pictures | None:
        """GET the prediction."""
        found = self.requests.get(_path(job))
        if found is None:
            self.missing(job)
            return None
        if self._is_another(found, job):
            raise self.forgotten(job)
        status = found.get("status")
        if status == "succeeded":
            return self._pictures(found)
        if status == "failed":
            raise self.failed(found.get("error"))
        if status in ("canceled", "aborted"):
            raise ff.Permanent(say_of_photo("job_cancelled", service=self.settings.name), code="job_cancelled")
        return None

    def _is_another(self, found: dict[str, Any], job: Job) -> bool:
        """Whether the id belongs to somebody else's job by now: servers of one's own count from 1 after a restart."""
        given, seed = found.get("input"), job.get("seed")
        return isinstance(given, dict) and seed is not None and given.get("seed", seed) != seed

    def _pictures(self, found: dict[str, Any]) -> Pictures:
        output = found.get("output")
        links = [output] if isinstance(output, str) else [one for one in output or () if isinstance(one, str)]
        if not links:
            raise self.failed(say_of_photo("no_pictures"))
        return Pictures(tuple(links))

    def cancel(self, job: Job) -> None:
        """Ask it to stop the prediction."""
        self.requests.post(f"{_path(job)}/cancel")

    def find(self, order: Order, key: str, since: float) -> Job | None:
        """Look through the list of predictions, newest first, back to the time of the call."""
        path: Any = "/v1/predictions"
        passed = 0
        for _ in range(PAGES):
            answer = self.requests.get(path)
            if not isinstance(answer, dict) or not isinstance(answer.get("results"), list):
                break
            listed = [one for one in answer["results"] if isinstance(one, dict)]
            for one in listed:
                given = one.get("input")
                if not isinstance(given, dict):
                    continue
                if given.get("prompt") == order.prompt and given.get("seed") == order.seed:
                    return self._job(one)
            passed += len(listed)
            path = answer.get("next")
            if not path or any(_is_before(one.get("created_at"), since - CLOCKS_SECONDS) for one in listed):
                return None
            if not isinstance(path, str) or not path.startswith(f"{self.settings.address}/"):
                break
        else:
            raise ServiceTrouble(say_of_photo("list_too_long", service=self.settings.name, count=passed))
        raise ServiceTrouble(say_of_photo("no_list", service=self.settings.name))


def _path(job: Job) -> str:
    return f"/v1/predictions/{quote(str(job['id']), safe='')}"


def _is_before(said: Any, moment: float) -> bool:
    """Whether a time in the words of the service is before a moment; False if it cannot be read."""
    try:
        at = datetime.fromisoformat(str(said))
    except ValueError:
        return False
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() < moment
