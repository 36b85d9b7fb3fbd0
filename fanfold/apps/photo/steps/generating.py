"""ai_calling and ai_processing: starts one job per picture, looks at it until it is done, and copies the picture at once.

All of it is one external job of one item. The service's links expire, so a picture must not wait for another one whose call
has an unknown outcome, as it would between two stages.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from dataclasses import dataclass
from typing import Any

import fanfold as ff
from fanfold.apps.photo import configuration
from fanfold.apps.photo.inputs.copying import MOST_PICTURES, copied
from fanfold.apps.photo.late import late as late_pictures
from fanfold.apps.photo.options import Wishes
from fanfold.apps.photo.prompting.prompt import Prompt
from fanfold.apps.photo.sentences import say_of_photo
from fanfold.apps.photo.services.known import connected
from fanfold.apps.photo.services.requests import ServiceTrouble, UnknownOutcome
from fanfold.apps.photo.services.service import InputImage, Job, Moderated, Order, Pictures, Service, pause
from fanfold.model.item import Later

JOB = "picture"
GAVE_UP = "gave_up"
"""The code with which the engine fails a picture whose job takes longer than `wait_limit`."""
SECOND_SEED = 100_003
"""Added to a given seed for each further job, so that the list of a service tells the jobs apart."""


@dataclass
class Generation:
    """One attempt at one picture."""

    item: ff.ItemWork[Any, Any]
    wishes: Wishes
    service: Service
    prompt: Prompt
    images: tuple[InputImage, ...]
    pixels: int

    async def run(self) -> dict[str, Any]:
        """The state data of the picture."""
        late = json.loads(self.wishes.late) if self.wishes.late else None
        taken = None if late is None else await self._late(late)
        if taken is not None and late is not None and late.get("only"):
            return self._output(late["job"], taken, ())
        if late is not None and late.get("only"):
            raise ff.Permanent(say_of_photo("not_late"), code="not_late")
        job, pictures = await self._made()
        files = await asyncio.to_thread(self._copied, self.service, pictures)
        self.item.used(model=self.service.model, images=1, **self._cost())
        return self._output(job, files, taken or ())

    async def _made(self) -> tuple[Job, Pictures]:
        """Start the job, or look at the one that was started."""
        known: dict[str, Job] = {}

        def look(job: Job) -> Pictures | Later:
            known["job"] = job
            return self._look(job)

        try:
            found = await self.item.external(
                start=self._start,
                look=look,
                find=self._find if self.service.finds else None,
                cancel=self.service.cancel,
                name=JOB,
                wake=True,
                kind=f"photo {self.service.model}"[:200],
            )
        except UnknownOutcome as problem:  # The next attempt asks the service; nothing has failed yet.
            raise ff.Temporary(str(problem), after=2, counts=False, code="unknown_outcome") from problem
        except ff.Permanent as end:
            if end.code == GAVE_UP and "job" in known:
                await asyncio.to_thread(self._watch, known["job"])
            raise
        return known["job"], found

    def _watch(self, job: Job) -> None:
        """Have a job that took too long watched: its picture may still come, and is paid for."""
        given = {"job": job, "picture": self.item.key, "prompt": self.prompt.text}
        self.item.submit_subtask(late_pictures, given, name=f"late {job['id']}"[:63], title=f"{self.item.key}")

    def _start(self, key: str, wake: str | None) -> Job:
        order = self._order(key)
        self.item.remember(asked={key: time.time()})
        return self.service.start(order, key, wake) | self._known(key)

    def _known(self, key: str) -> Job:
        """What is stored with a job, whoever looks at it later."""
        return {"seed": self._seed(key), "service": self.service.settings.name}

    def _order(self, key: str) -> Order:
        return Order(self.prompt.text, self._seed(key), self.prompt.negative, self.images, dict(self.prompt.request))

    def _seed(self, key: str) -> int:
        """The given seed counted up, or one made from the key: the same for each attempt, another one for another job."""
        mark, _, number = key.rpartition("~")
        if self.wishes.seed is None:
            return int.from_bytes(hashlib.sha256(key.encode()).digest()[:4]) & 0x7FFFFFFF
        further = int(number) - 1 if mark and number.isdecimal() else 0
        return int((self.wishes.seed + self.item.seq - 1 + further * SECOND_SEED) % 2**31)

    def _look(self, job: Job) -> Pictures | Later:
        try:
            found = self.service.look(job)
        except ServiceTrouble:
            return pause(job)
        except Moderated as problem:
            raise self._moderated(job, str(problem)) from None
        return pause(job) if found is None else found

    def _moderated(self, job: Job, why: str) -> ff.HandlerError:
        """Moderation is often random: one more job is worth its price, a third is not."""
        self.item.used(model=self.service.model, images=1, **self._cost())
        said = say_of_photo("moderated", service=self.service.settings.name, why=why)
        if self.item.memory.get("moderated") not in (None, job["id"]):
            return ff.Permanent(said, code="moderated")
        self.item.remember(moderated=job["id"])
        return ff.JobFailed(said, code="moderated")

    def _find(self, key: str) -> Job | None:
        """The job of an earlier attempt whose outcome is unknown; None only if there is certainly none.

        A service may list a job some time after it accepted it. Until then it is not known to be missing.
        """
        if not self.service.can_list:
            return None  # The service starts one job per key: it can be asked again.
        asked = float(self.item.memory.get("asked", {}).get(key, 0.0))
        try:
            found = self.service.find(self._order(key), key, asked)
        except ServiceTrouble as problem:
            if time.time() - asked > self.item.wait_limit:
                said = say_of_photo("not_cleared_up", service=self.service.settings.name, why=str(problem))
                raise ff.HoldItem(said) from problem
            raise ff.Temporary(str(problem), after=5, counts=False, by=self.service.settings.name) from problem
        if found is not None:
            return found | self._known(key)
        since = self.item.memory.get("unlisted", {}).get(key)
        if since is None:
            self.item.remember(unlisted={key: time.time()})
        left = self.service.settings.listed_seconds - (time.time() - (since or time.time()))
        if left > 0:
            said = say_of_photo("not_listed", service=self.service.settings.name)
            raise ff.Temporary(said, after=min(left, 10.0), counts=False, code="unknown_outcome")
        return None

    async def _late(self, late: dict[str, Any]) -> list[ff.File] | None:
        """The pictures of a job that was given up, if there are any by now."""
        service = connected(configuration.load().chosen(late["service"]), self.item.write)
        try:
            found = await asyncio.to_thread(service.look, late["job"])
            return None if found is None else await asyncio.to_thread(self._copied, service, found)
        except (Moderated, ServiceTrouble, ff.HandlerError):
            return None  # It stays lost, as it was before somebody looked.

    def _copied(self, service: Service, pictures: Pictures) -> list[ff.File]:
        """Copy the pictures into the files of the task."""
        return copied(service, pictures, f"{self.item.key}-original", self.pixels, self.item.write)

    def _cost(self) -> dict[str, float]:
        price = self.service.settings.price
        return {} if price is None else {"cost": price}

    def _output(self, job: Job, files: list[ff.File], late: list[ff.File] | tuple[()]) -> dict[str, Any]:
        images = [{"file": files[0], "label": "picture", "kind": "result"}]
        images += [{"file": one, "label": "alternative", "kind": "alternative"} for one in (*files[1:], *late)]
        before = self.item.earlier
        for number, one in enumerate((before or {}).get("images", ())[:MOST_PICTURES], 1):
            copy = self.item.write(
                f"{self.item.key}-earlier-{number}{_ending(one['file'].name)}", one["file"].read_bytes()
            )
            images.append({"file": copy, "label": "earlier", "kind": "alternative"})
        return {
            "images": images,
            "before": self.item.input["before"],
            "prompt": self.prompt.text,
            "seed": job.get("seed"),
            "service": self.service.settings.name,
            "model": self.service.settings.model,
            "cost": self.service.settings.price,
            "seconds": round(time.time() - float(job.get("at", time.time())), 1),
        }


async def generated(item: ff.ItemWork[Any, Any]) -> dict[str, Any]:
    """One picture from one job."""
    settings = configuration.load()
    wishes = Wishes.read(item.options)
    service = connected(settings.chosen(wishes.service), item.write)
    has_new_words = wishes.prompt != item.input["words"]
    prompt = wishes.built(settings.template) if has_new_words else Prompt(**item.input["prompt"])
    inputs = item.task.output("downloading")["downloaded_images"]
    images = [InputImage(one["file"].name, await item.local(one["file"])) for one in inputs]
    return await Generation(item, wishes, service, prompt, tuple(images), settings.pixels).run()


def _ending(name: str) -> str:
    return name[name.rfind(".") :] if "." in name else ""
