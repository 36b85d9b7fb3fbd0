"""What all image services have in common: an order, a job, and the four things that can be done with a job."""

from __future__ import annotations

import base64
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.photo.configuration import ServiceSettings
from fanfold.apps.photo.sentences import say_of_photo
from fanfold.apps.photo.services.requests import Requests
from fanfold.model.item import Later

SHORTEST_SECONDS, LONGEST_SECONDS = 2.0, 30.0
"""Bounds of the time between two looks at a job."""
MODERATION = ("moderat", "nsfw", "content policy", "content_policy", "safety", "sensitive", "flagged")
"""Parts of words with which services say that a picture was withheld."""
MEDIA_TYPES = {".jpg": "image/jpeg", ".png": "image/png", ".webp": "image/webp"}
Job = dict[str, Any]
"""A job as stored: the service's id and links, when it was started, and what is needed to recognise it."""


@dataclass(frozen=True)
class InputImage:
    """A checked input picture on this machine; its name has the right ending."""

    name: str
    path: Path

    @property
    def media_type(self) -> str:
        """Its type, by its ending."""
        return MEDIA_TYPES.get(Path(self.name).suffix, "application/octet-stream")

    def read(self) -> bytes:
        """Its bytes."""
        return self.path.read_bytes()

    def data_uri(self) -> str:
        """The picture inside a request."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.read()).decode()}"


@dataclass(frozen=True)
class Order:
    """What is asked of a service for one picture."""

    prompt: str
    seed: int
    negative: str = ""
    images: tuple[InputImage, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    """Parameters of the scene. What the operator sets with the service comes first: it decides what is paid."""


@dataclass(frozen=True)
class Pictures:
    """The answer to a look at a job that is done: links to the pictures, or their files if they came with the answer."""

    links: tuple[str, ...] = ()
    files: tuple[Any, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)


class Moderated(Exception):
    """The service made a picture, and then withheld it. This is often random, so another try is worth it."""


class Service(ABC):
    """An adapter. It makes plain requests and never repeats one by itself."""

    can_list = False
    """Whether ``find`` can tell that there is no job for an order."""

    def __init__(self, settings: ServiceSettings, keep: Callable[[str, bytes], Any]) -> None:
        self.settings = settings
        self.requests = Requests(settings)
        self.keep = keep
        """Stores a file with the task: for pictures that come with the answer to ``start``."""

    @property
    def cost(self) -> dict[str, float]:
        """What one picture costs, as `used` takes it; empty if it is not known."""
        return {} if self.settings.price is None else {"cost": self.settings.price}

    @property
    def model(self) -> str:
        """The service and its model, for people."""
        return f"{self.settings.name}:{self.settings.model}" if self.settings.model else self.settings.name

    @abstractmethod
    def start(self, order: Order, key: str, wake: str | None) -> Job:
        """Start a job. HandlerError: certainly not started; UnknownOutcome: nobody knows."""

    @abstractmethod
    def look(self, job: Job) -> Pictures | None:
        """The pictures; None while the job runs. Moderated, JobFailed or Permanent if there will be none."""

    def cancel(self, job: Job) -> None:  # noqa: B027  (not every service can cancel)
        """Stop a job that is no longer wanted, if the service can."""

    def find(self, order: Order, key: str, since: float) -> Job | None:
        """The job that was started for an order after ``since``; None if the service certainly has none.

        ServiceTrouble if that cannot be said now.
        """
        raise NotImplementedError

    def fetch(self, link: str) -> bytes:
        """Copy a picture. Links of services expire, so this happens at once."""
        return self.requests.picture(link)

    def forgotten(self, job: Job) -> ff.Permanent:
        """The service no longer knows a job that it has accepted. It may have been paid, so no other one is started."""
        return ff.Permanent(say_of_photo("forgotten", service=self.settings.name, job=job["id"]), code="forgotten")

    def missing(self, job: Job) -> None:
        """A job that the service does not know. Right after its start it may not be listed yet; later it is forgotten."""
        if time.time() - float(job.get("at", 0.0)) >= self.settings.listed_seconds:
            raise self.forgotten(job)

    def failed(self, why: Any) -> Exception:
        """The service says that a job has failed; whether its moderation did it follows from its words."""
        text = " ".join(str(why or "").split())[:300]
        if is_moderation(text):
            return Moderated(text)
        return ff.JobFailed(say_of_photo("job_failed", service=self.settings.name, why=text or "-"))

    @property
    def finds(self) -> bool:
        """Whether an unknown outcome can be cleared up without a person."""
        return self.can_list or bool(self.settings.idempotency_header)


def is_moderation(text: str) -> bool:
    """Whether the words of a service say that its moderation withheld a picture."""
    lower = text.lower()
    return any(word in lower for word in MODERATION)


def noted(job: Job) -> Job:
    """A job with the time at which it was started."""
    return job | {"at": round(time.time(), 1)}


def pause(job: Job) -> Later:
    """How long to wait for the next look: a quarter of the time that the job has run, within bounds, a little scattered."""
    ran = max(0.0, time.time() - float(job.get("at", 0.0)))
    seconds = min(LONGEST_SECONDS, max(SHORTEST_SECONDS, ran / 4))
    return ff.later(seconds * random.uniform(0.8, 1.2))
