"""Drives many tasks of pictures with real ticks and workers that are killed, against an image service full of faults."""

from __future__ import annotations

import hashlib
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import fanfold as ff
from fanfold.apps.photo import photo
from tests.acceptance.fleet import Fleet
from tests.apps.photo.conftest import configure
from tests.image_server import ImageServer
from tests.waiting import eventually

MODULE = "fanfold.apps.photo.pipeline:photo"
OWNERS = ("ann", "bob", "eve")
GRANT = 1_000_000
SHARES = (
    ("reset", 12), ("gateway", 5), ("busy", 5), ("moderated", 8), ("late", 5), ("expired", 5), ("forgotten", 3),
    ("failed", 3), ("not_listed", 2), ("slow", 2),
)  # fmt: skip
"""How many of a hundred requests meet which fault; the others are answered well."""
LONGEST_PAUSE = 2.0
"""Seconds between two ticks of a loop, at most: a call of the service may make something due before the report says so."""
KILLED_WITHIN = 20.0
"""Seconds. A tick that runs out of work ends before its time."""
PROGRESS_SECONDS = 60.0
RESTARTS = (0.75, 0.5, 0.25)
"""Shares of tasks still open at which the service restarts and forgets the jobs under way."""


class Faults:
    """Chooses faults from the request alone, so that a run can be told again. A busy service is busy once."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[str, int]] = Counter()

    def __call__(self, prompt: str, seed: int) -> str:
        self.seen[prompt, seed] += 1
        place = hashlib.sha256(f"{prompt} {seed}".encode()).digest()[0] * 100 // 256
        for name, share in SHARES:
            if place < share:
                return "good" if name == "busy" and self.seen[prompt, seed] > 1 else name
            place -= share
        return "good"


@dataclass
class Story:
    """One run: the fleet, the service, and what has happened."""

    ours: Fleet
    images: ImageServer
    folder: Path
    seconds: float
    """Time limit of a tick."""
    kills: int
    tasks_per_stage: int = 10
    dice: random.Random = field(default_factory=lambda: random.Random(7))
    killed: int = 0
    done_share: float = 0.0
    """Share of the tasks that have ended. Kills keep step with it, so that they are spread over the whole run."""
    ticks: list[float] = field(default_factory=list)
    """Seconds of work of each tick that was not killed, as it reports them."""
    whole: list[float] = field(default_factory=list)
    """Seconds of its whole process, with the start of the interpreter."""
    cut: int = 0
    said: list[str] = field(default_factory=list)
    broken: list[Exception] = field(default_factory=list)
    told_at: float = field(default_factory=time.monotonic)
    over: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def submit(self, tasks: int) -> list[ff.Task]:
        """Tasks of one to four pictures, of several owners who can pay for them."""
        self.images.choose = Faults()
        configure(self.folder, self.images.url)
        text = (self.folder / "fanfold.toml").read_text().replace("listed_seconds = 0", "listed_seconds = 4")
        (self.folder / "fanfold.toml").write_text(text.replace("seconds = 20", "seconds = 5"))
        for owner in OWNERS:
            self.ours.client.credits.grant(owner, GRANT)
        return [self._submitted(number) for number in range(tasks)]

    def _submitted(self, number: int) -> ff.Task:
        service = "comfyui" if number % 5 == 4 else "replicate"
        options = {"prompt": f"picture of task {number}", "count": number % 4 + 1, "service": service}
        return self.ours.client.submit(
            photo, options=options, owner=OWNERS[number % len(OWNERS)], key=f"story-{number}"
        )

    def start(self, *words: str, sink: int = subprocess.PIPE) -> subprocess.Popen[bytes]:
        """Start a command of Fanfold in the folder with the settings. One whose output nobody reads needs another sink."""
        process = subprocess.Popen(
            [sys.executable, "-m", "fanfold.cli", *words],
            cwd=self.folder,
            env={**os.environ, **self.ours.environment},
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
        )
        with self.lock:
            self.ours.processes.append(process)
        return process

    def tick_on(self) -> None:
        """One tick after the other, as a timer that heeds their reports starts them; some are killed."""
        while not self.over.is_set():
            begun = time.monotonic()
            limits = "--seconds", str(self.seconds), "--tasks-per-stage", str(self.tasks_per_stage)
            process = self.start("tick", MODULE, *limits, "--json")
            said = self._killed_or_said(process, self._seconds_to_live() if self._strikes() else None)
            if said is not None:
                self.over.wait(self._noted(process.returncode, *said, time.monotonic() - begun))

    def _seconds_to_live(self) -> float:
        """How long a tick runs that is killed: until any moment of it, but often enough while it has much to do."""
        return self.dice.uniform(0.05, 1) * min(self.seconds, KILLED_WITHIN)

    def _strikes(self) -> bool:
        """Whether to kill the process that was just started."""
        with self.lock:
            return self.killed < min(self.kills, 1 + self.kills * self.done_share) and self.dice.random() < 0.5

    def _noted(self, code: int, out: bytes, err: bytes, whole: float) -> float:
        """Record what a tick reports; returns the seconds until the next one is worth its start."""
        with self.lock:
            if code != 0:
                self.said.append(err.decode(errors="replace")[-2_000:])
                return 0.0
            if not out.strip():
                self.cut += 1  # Its loop was blocked at the end of its time, so the process ended without a report.
                return 0.0
            report = json.loads(out)
            self.ticks.append(report["seconds"])
            self.whole.append(whole)
        due = report["next_due_seconds"]
        return LONGEST_PAUSE if due is None else min(float(due), LONGEST_PAUSE)

    def work_on(self) -> None:
        """A worker that is killed now and then."""
        while not self.over.is_set():
            process = self.start("worker", MODULE, "--concurrency", "8", sink=subprocess.DEVNULL)
            lasts = self.dice.uniform(0.5, 3) * self.seconds
            while not self.over.wait(lasts) and not self._strikes():
                pass
            if not self.over.is_set():
                self._killed_or_said(process, 0.0)
            process.kill()
            process.wait()

    def _killed_or_said(self, process: subprocess.Popen[bytes], after: float | None) -> tuple[bytes, bytes] | None:
        """What a process said, unless it was killed because it still ran after these seconds."""
        try:
            return process.communicate(timeout=after)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            with self.lock:
                self.killed += 1
            return None

    def serve(self) -> None:
        """Start the server that the image service calls back."""
        address = urlsplit(self.ours.environment["FANFOLD_PUBLIC_URL"])
        server = self.start("serve", MODULE, "--no-workers", "--port", str(address.port), sink=subprocess.DEVNULL)
        eventually(lambda: is_open(address.port or 0) or server.poll() is not None, seconds=300)
        assert server.poll() is None, "the server has ended"

    def run(self, ticks: int, workers: int, tasks: list[ff.Task], limit: float) -> None:
        """Let loops of ticks and workers overlap until all tasks have ended; the service restarts now and then."""
        loops = [threading.Thread(target=self._watched, args=[self.tick_on], daemon=True) for _ in range(ticks)]
        loops += [threading.Thread(target=self._watched, args=[self.work_on], daemon=True) for _ in range(workers)]
        for loop in loops:
            loop.start()
        newest, end, restarts = self.ours.number(tasks[-1].id), time.monotonic() + limit, list(RESTARTS)
        try:
            while left := self.ours.open_tasks(newest):
                assert time.monotonic() < end, f"{left} tasks are open after {limit:g} s: {self.still_open()}"
                assert not self.broken, "a loop that starts processes has ended"
                self.done_share = 1 - left / len(tasks)
                self._progress(left)
                while restarts and left <= len(tasks) * restarts[0]:
                    restarts.pop(0)
                    self.images.forget()
                time.sleep(0.5)
        finally:
            self.over.set()
            for loop in loops:
                loop.join(120)

    def _progress(self, left: int) -> None:
        """Say every minute how far a long run is."""
        if time.monotonic() > self.told_at + PROGRESS_SECONDS:
            self.told_at = time.monotonic()
            jobs, ticks = len(self.images.jobs), len(self.ticks)
            print(f"{left} tasks are open; {jobs} jobs, {self.killed} kills, {ticks} whole ticks", flush=True)

    def _watched(self, loop: Callable[[], None]) -> None:
        """Run a loop. If it ends by an error, the whole run does: without it the tasks would only wait."""
        try:
            loop()
        except Exception as error:
            self.broken.append(error)
            raise

    def still_open(self) -> str:
        """What the open tasks wait for, for the message of a failure."""
        client = self.ours.client
        found = [task for task in client.list(limit=1_000) if not task.finished]
        items = [
            (one.key, one.stage, one.state, one.held, one.error_message, str(one.available_at))
            for task in found[:3]
            for one in client.items(task.id, limit=10)
        ]
        jobs = [(job.item, job.state, job.key) for task in found[:3] for job in client.external_jobs(task.id)]
        return f"{[task.wait_reason for task in found[:3]]} {items} {jobs} {self.said[-3:]}"


def is_open(port: int) -> bool:
    """Whether somebody listens on a port of this machine."""
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def check(story: Story, tasks: list[ff.Task]) -> dict[str, int]:
    """Every accepted job was paid once, every missing picture refunded once, and the accounts balance."""
    client, told = story.ours.client, Counter[str]()
    twice = {order: count for order, count in story.images.paid.items() if count != 1}
    assert not twice, f"started more than once: {twice}"
    for task in tasks:
        found = client.get(task.id)
        count = int(found.options["count"])
        done = {item.key for item in client.items(task.id, stage="uploading", limit=100) if item.state == "done"}
        assert found.state == ("completed" if done else "failed"), (found, client.failures(task.id))
        if done:
            assert [one["label"] for one in client.result(task.id)["images"]] == sorted(done)
        entries = Counter((one.kind.value, one.item) for one in client.credits.entries(task=task.id, limit=1_000))
        keys = {f"{number:02}" for number in range(1, count + 1)}
        assert entries == {("charge", key): 1 for key in keys} | {("refund", key): 1 for key in keys - done}
        told.update(pictures=count, delivered=len(done), refunded=count - len(done))
    assert client.credits.differences() == [], "the sum of the entries is the balance"
    spent = sum(GRANT - client.credits.balance(owner) for owner in OWNERS)
    assert spent == told["delivered"]
    calls = story.images.called_back
    assert calls["forged 404"] > 0, calls
    assert calls["forged 204"] == 0, "a forged call woke something"
    told.update({name: calls[f"{name} 204"] for name in ("early", "done")}, forged=calls["forged 404"])
    late = sum(seconds > story.seconds for seconds in story.ticks)
    told.update(jobs=len(story.images.jobs), paid=sum(story.images.paid.values()), spent=spent)
    told.update(ticks=len(story.ticks), late=late, cut=story.cut, killed=story.killed)
    return dict(told)
