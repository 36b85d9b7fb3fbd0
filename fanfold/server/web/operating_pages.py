"""The page about workers: who works, how fast, what waits, and what needs fixing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, Response

from fanfold.engine.queries import doctor
from fanfold.engine.queries.doctor import DoctorCheck
from fanfold.engine.worker.beside.host import is_dead
from fanfold.server.app_state import AppState, place_of
from fanfold.server.requests.authentication import Overseeing
from fanfold.server.watching.samples import SAMPLE_SECONDS, SAMPLES, WorkerSample
from fanfold.server.web.frame.languages import Words, language_of
from fanfold.server.web.frame.templating import fragment, page
from fanfold.store.rows.workers import WorkerRow

router = APIRouter()
ORDER = {doctor.PROBLEM: 0, doctor.WARNING: 1, doctor.OK: 2}
WIDTH, HEIGHT = 720.0, 120.0
SPAN_SECONDS = SAMPLE_SECONDS * SAMPLES
LIMIT_WORDS = {
    "requests": "requests per minute",
    "tokens": "tokens per minute",
    "input_tokens": "input tokens per minute",
    "output_tokens": "output tokens per minute",
    "requests_day": "requests per day",
    "in_flight": "calls in flight",
    "configured": "settings",
    "learned": "the service",
    "adaptive": "found by trying",
}
"""What rate limits count, and where their sizes come from."""
BATCHES = 20
"""How many batches are shown, the newest first."""
BATCH_STATES = {
    "sending": ("pending", "being sent"),
    "running": ("waiting", "at the service"),
    "fetching": ("running", "being read"),
    "done": ("done", "done"),
    "failed": ("failed", "failed"),
}
"""For each state of a batch: the state of an item that looks like it, and its word."""


@dataclass(frozen=True)
class Living:
    """A worker as shown on the page: its row, state, stages served and mean time."""

    row: WorkerRow
    state: str
    word: str
    serves: dict[str, list[str]]
    mean_seconds: float | None


@dataclass(frozen=True)
class Chart:
    """Throughput of the last hour as two polylines in a picture of WIDTH × HEIGHT, and as text."""

    done: str
    area: str
    failed: str
    most: int
    mean: float
    latest: int
    minutes: int
    width: float = WIDTH
    height: float = HEIGHT


@router.get("/workers")
def workers(request: Request, access: Overseeing) -> Response:
    """Show workers, figures, the chart and the checks; without the frame for the script that refreshes them."""
    values = seen(place_of(request))
    if "hx-request" in request.headers:
        return HTMLResponse(fragment("_workers.html", Words(language_of(request)), **values))
    return page(request, "workers.html", access, **values)


def seen(place: AppState) -> dict[str, Any]:
    """Everything the page shows."""
    client = place.client()
    return {
        "workers": [living(row) for row in client.workers()],
        "figures": client.metrics(),
        "limits": client.limits(),
        "limit_words": LIMIT_WORDS,
        "batches": client.batches(limit=BATCHES),
        "batch_states": BATCH_STATES,
        "chart": charted(list(place.live.samples)),
        "checks": checked(place),
        "watchers": place.live.watchers,
    }


def living(row: WorkerRow) -> Living:
    """A worker with the word for its state."""
    lost = not row.alive or is_dead(row.host, row.pid)
    state, word = (
        ("failed", "lost contact") if lost else ("waiting", "stopping") if row.stopping
        else ("running", "working") if row.running else ("pending", "idle")
    )  # fmt: skip
    serves: dict[str, list[str]] = {}
    for pipeline, stage in row.serves:
        serves.setdefault(pipeline, []).append(stage)
    settled = row.done + row.failed
    return Living(row, state, word, serves, row.busy_seconds / settled if settled else None)


def checked(place: AppState) -> list[DoctorCheck]:
    """The checks of `fanfold doctor` on the open store, problems first."""
    folder = place.store.settings.data_folder
    found: Iterable[DoctorCheck] = (
        *doctor.database(place.store, thorough=False),
        doctor.data_folder(folder),
        doctor.disk(folder),
    )
    return sorted(found, key=lambda check: ORDER[check.status])


def charted(samples: Sequence[WorkerSample]) -> Chart | None:
    """The chart; None until there are two samples to connect."""
    if len(samples) < 2:
        return None
    end = samples[-1].at
    most = max(1, *(sample.done + sample.failed for sample in samples))

    def points(name: str) -> list[str]:
        return [
            f"{WIDTH - (end - sample.at).total_seconds() / SPAN_SECONDS * WIDTH:.1f},"
            f"{HEIGHT - getattr(sample, name) / most * (HEIGHT - 4):.1f}"
            for sample in samples
        ]

    done, failed = points("done"), points("failed")
    left = done[0].split(",")[0]
    area = " ".join([f"{left},{HEIGHT}", *done, f"{WIDTH},{HEIGHT}"])
    mean = sum(sample.done for sample in samples) / len(samples)
    minutes = max(1, round((end - samples[0].at).total_seconds() / 60))
    return Chart(" ".join(done), area, " ".join(failed), most, mean, samples[-1].done, minutes)
