"""Services with the protocol of fal: a queue that gives a request id, to be polled. It cannot be asked by key."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fanfold.apps.photo.sentences import say_of_photo
from fanfold.apps.photo.services.requests import ServiceTrouble, UnknownOutcome
from fanfold.apps.photo.services.service import Job, Order, Pictures, Service, noted

WAITING = ("IN_QUEUE", "IN_PROGRESS")
REFUSALS = range(400, 500)


class Fal(Service):
    """The queue keeps a result until it is fetched; its own retries have another gateway id, but the same request id."""

    def start(self, order: Order, key: str, wake: str | None) -> Job:
        """POST to the queue."""
        path = f"/{self.settings.model}" + (f"?fal_webhook={quote(wake, safe='')}" if wake else "")
        answer = self.requests.start(path, self._input(order), key=key)
        if not isinstance(answer, dict) or not answer.get("request_id"):
            raise UnknownOutcome(say_of_photo("no_id", service=self.settings.name))
        base = f"/{self.settings.model}/requests/{quote(str(answer['request_id']), safe='')}"
        links = {"status": f"{base}/status", "response": base, "cancel": f"{base}/cancel"}
        named = {name: self._own(answer.get(f"{name}_url"), usual) for name, usual in links.items()}
        return noted({"id": str(answer["request_id"]), **named})

    def _input(self, order: Order) -> dict[str, Any]:
        given = {**order.parameters, "num_images": 1, **self.settings.parameters}
        given |= {"prompt": order.prompt, "seed": order.seed}
        if order.negative:
            given["negative_prompt"] = order.negative
        if len(order.images) == 1:
            given[self.settings.image_field or "image_url"] = order.images[0].data_uri()
        elif order.images:
            given[self.settings.image_field or "image_urls"] = [one.data_uri() for one in order.images]
        return given

    def _own(self, link: Any, usual: str) -> str:
        """A link of the answer, if it leads to the service itself: the key is sent along."""
        return link if isinstance(link, str) and link.startswith(f"{self.settings.address}/") else usual

    def look(self, job: Job) -> Pictures | None:
        """GET the status, then the response."""
        status = self.requests.get(job["status"])
        if status is None:
            self.missing(job)
            return None
        if status.get("status") in WAITING:
            return None
        if status.get("error"):
            raise self.failed(status["error"])
        try:
            answer = self.requests.get(job["response"])
        except ServiceTrouble as trouble:
            if trouble.status in REFUSALS:
                raise self.failed(trouble.body) from trouble
            raise
        if answer is None:
            raise self.forgotten(job)
        return self._pictures(answer)

    def _pictures(self, answer: dict[str, Any]) -> Pictures:
        withheld, images = answer.get("has_nsfw_concepts"), answer.get("images")
        if withheld is True or (isinstance(withheld, list) and any(withheld)):
            raise self.failed("nsfw")
        found = images if isinstance(images, list) else ()
        links = [one.get("url") for one in found if isinstance(one, dict)]
        if not links or not all(isinstance(one, str) for one in links):
            raise self.failed(say_of_photo("no_pictures"))
        return Pictures(tuple(str(one) for one in links))

    def cancel(self, job: Job) -> None:
        """Take it out of the queue."""
        self.requests.put(job["cancel"])
