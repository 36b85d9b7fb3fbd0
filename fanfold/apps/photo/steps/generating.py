"""ai_calling and ai_processing: starts one job per picture, looks at it until it is done, and copies the picture at once.

All of it is one external job of one item. The service's links expire, so a picture must not wait for another one whose call
has an unknown outcome, as it would between two stages.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import fanfold as ff
from fanfold.apps.photo import configuration
from fanfold.apps.photo.inputs.copying import MOST_PICTURES, copied
from fanfold.apps.photo.late import late as late_pictures
from fanfold.apps.photo.late import watch_of
from fanfold.apps.photo.options import Wishes
from fanfold.apps.photo.prompting.prompt import Prompt
from fanfold.apps.photo.sentences import say_of_photo
from fanfold.apps.photo.services.known import connected
from fanfold.apps.photo.services.requests import ServiceTrouble, UnknownOutcome
from fanfold.apps.photo.services.service import InputImage, Job, Moderated, Order, Pictures, Service, pause
from fanfold.model.awaited.external import JobState
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
        behind, has_started = await asyncio.to_thread(self._before)
        is_wanted = self.wishes.late or (behind is not None and behind.get("order") == self._digest())
        if behind is not None and is_wanted and not has_started and (taken := await self._late(behind)):
            return self._output(behind, taken, ())
        if self.wishes.late:
            raise ff.Permanent(say_of_photo("not_late"), code="not_late")
        job, pictures = await self._made()
        try:
            files = await asyncio.to_thread(self._copied, self.service, pictures)
        except ff.Temporary as problem:
            raise self._not_yet(job, problem) from problem
        self._pay()
        return self._output(job, files, [] if behind is None else await self._late(behind))

    def _pay(self) -> None:
        """Report what a job that has made its picture costs."""
        self.item.used(model=self.service.model, images=1, **self.service.cost)

    def _not_yet(self, job: Job, problem: ff.Temporary) -> ff.Temporary:
        """A picture that cannot be copied now is paid for: no failure counts until its job has had all its time."""
        age = time.time() - float(job.get("at", 0.0))
        if age > self.item.wait_limit:
            return problem
        seconds = min(60.0, max(2.0, age / 4))
        return ff.Temporary(problem.message, after=seconds, counts=False, code=problem.code)

    async def _late(self, job: Job) -> list[ff.File]:
        """The pictures of a job that was given up, if it has made some since: they are paid for."""
        kept = await asyncio.to_thread(self.item.subtask_result, late_pictures, watch_of(job))
        if kept and kept["images"]:
            return await asyncio.to_thread(self._kept, [one["file"] for one in kept["images"]])
        service = connected(configuration.load().chosen(job.get("service", "")), self.item.write)
        try:
            found = await asyncio.to_thread(service.look, job)
            return [] if found is None else await asyncio.to_thread(self._copied, service, found, "late")
        except (Moderated, ServiceTrouble, ff.HandlerError):
            return []  # It stays lost, as it was before this look.

    def _before(self) -> tuple[Job | None, bool]:
        """The last job that was given up, and whether another one was started since.

        The job is remembered, because the next start takes its place in the database.
        """
        last, behind = self.item.last_job(JOB), self.item.memory.get("behind")
        if last is None or not self._is_behind(last):
            return behind, last is not None
        if isinstance(last.job, dict) and last.job != behind and self._is_undelivered(last.job):
            self.item.remember(behind=last.job)
            behind = last.job
        return behind, False

    def _is_behind(self, last: ff.ExternalJob) -> bool:
        """Whether a job was ended, or belongs to the time before a redo."""
        return last.state is JobState.OVER or not last.key.startswith(self.item.idempotency_key)

    def _is_undelivered(self, job: Job) -> bool:
        before = self.item.earlier
        return before is None or before.get("job", job["id"]) != job["id"]

    def _kept(self, files: list[ff.File]) -> list[ff.File]:
        """Copies of the pictures that the watch of a job has kept."""
        return [
            self.item.write(f"{self.item.key}-late-{number}{_ending(one.name)}", one.read_bytes())
            for number, one in enumerate(files, 1)
        ]

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
            asked = max(self.item.memory.get("asked", {}).values(), default=time.time())
            seconds = min(30.0, max(2.0, (time.time() - asked) / 4))
            raise ff.Temporary(str(problem), after=seconds, counts=False, code="unknown_outcome") from problem
        except ff.Permanent as end:
            if end.code == GAVE_UP and "job" in known:
                await asyncio.to_thread(self._watch, known["job"])
            raise
        return known["job"], found

    def _watch(self, job: Job) -> None:
        """Have a job that took too long watched: its picture may still come, and is paid for."""
        given = {"job": job, "picture": self.item.key, "prompt": self.prompt.text}
        # It orders nothing. A task with a budget has to say what its subtasks may spend of it.
        self.item.submit_subtask(late_pictures, given, name=watch_of(job), title=self.item.key, budget=0)

    def _start(self, key: str, wake: str | None) -> Job:
        order, asked = self._order(key), self.item.memory.get("asked", {})
        if key not in asked:
            self.item.remember(asked={key: time.time()})
        try:
            return self.service.start(order, key, wake) | self._known(key)
        except ff.HandlerError:
            self.item.remember(asked={})  # Refused: the time of an unknown outcome begins with the next request.
            raise

    def _known(self, key: str) -> Job:
        """What is stored with a job, whoever looks at it later."""
        return {"seed": self._seed(key), "service": self.service.settings.name, "order": self._digest()}

    def _digest(self) -> str:
        """What was ordered, without the seed: a late picture of the same order is as good as a new one."""
        seed = None if self.wishes.seed is None else self._seed(self.item.idempotency_key)
        order = [self.service.settings.name, self.prompt.text, self.prompt.negative, self.prompt.request, seed]
        return hashlib.sha256(json.dumps(order, sort_keys=True, default=str).encode()).hexdigest()[:16]

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
        self._pay()
        said = say_of_photo("moderated", service=self.service.settings.name, why=why)
        if self.item.memory.get("moderated") not in (None, job["id"]):
            return ff.Permanent(said, code="moderated")
        self.item.remember(moderated=job["id"])
        return ff.JobFailed(said, code="moderated")

    def _find(self, key: str) -> Job | None:
        """The job of an earlier attempt whose outcome is unknown; None only if there is certainly none.

        A service may list a job some time after it accepted it. Until then it is not known to be missing.
        """
        asked = float(self.item.memory.get("asked", {}).get(key, 0.0))
        if not self.service.can_list:
            if time.time() - asked > self.item.wait_limit:
                said = say_of_photo("not_cleared_up", service=self.service.settings.name, why=say_of_photo("no_answer"))
                raise ff.HoldItem(said)
            return None  # The service starts one job per key: it can be asked again.
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

    def _copied(self, service: Service, pictures: Pictures, name: str = "original") -> list[ff.File]:
        """Copy the pictures into the files of the task."""
        return copied(service, pictures, f"{self.item.key}-{name}", self.pixels, self.item.write)

    def _output(self, job: Job, files: list[ff.File], late: Sequence[ff.File]) -> dict[str, Any]:
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
            "job": job["id"],
            "seed": job.get("seed"),
            "service": job.get("service", self.service.settings.name),
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
