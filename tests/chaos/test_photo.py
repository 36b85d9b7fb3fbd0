"""Ticks and workers are killed while pictures are made: each job is started once, each missing picture is refunded once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests import image_server
from tests.acceptance.fleet import fleet
from tests.chaos.findings import FULL, Finding, kind_of, note
from tests.chaos.photo_story import Story, check
from tests.s3_server import free_port

TASKS = int(os.environ.get("FANFOLD_CHAOS_PHOTO_TASKS") or (1_000 if FULL else 10))
"""The variable makes a run of `make chaos` shorter, to try it."""
KILLS = max(10, TASKS * 6 // 100) if FULL else 2
TICKS = 4 if FULL else 2
SECONDS = 45.0 if FULL else 8.0
"""At full length the default of `fanfold tick`."""
MOST_SECONDS = SECONDS if FULL else 2 * SECONDS
"""Beside other tests, a process that should end may not get a processor for seconds."""
TASKS_PER_STAGE = 200 if FULL else 10
"""More than the default: half of the processor time of a tick of ten tasks is the start of Python. So many keep it busy."""
LIMIT = 6.0 * TASKS if FULL else 200.0
"""Seconds. Two cores that have nothing else to do need less than one for a task."""
PROMISED = "Each job that the service accepts is started once; each missing picture is refunded once; every task ends."


@pytest.mark.timeout(2 * LIMIT)
@pytest.mark.parametrize("driven", ["ticks", "workers", "both"])
def test_pictures_are_paid_once_and_refunded_once(database_url: str, tmp_path: Path, driven: str) -> None:
    if not FULL and (driven == "workers" or kind_of(database_url) == ("PostgreSQL" if driven == "ticks" else "SQLite")):
        pytest.skip("`make chaos` runs it")
    ticks, workers = {"ticks": (TICKS, 0), "workers": (0, 2), "both": (TICKS // 2, 1)}[driven]
    with (
        image_server.running() as images,
        fleet(
            database_url,
            tmp_path,
            FANFOLD_CREDITS="on",
            FANFOLD_CRASH_LIMIT="1000",
            FANFOLD_HAND_BACK_LIMIT="1000",
            FANFOLD_PUBLIC_URL=f"http://127.0.0.1:{free_port()}",
        ) as ours,
    ):
        images.late_seconds, images.work_seconds, images.slow_seconds, images.webhooks = 3.0, 0.5, 8.0, 3
        story = Story(ours, images, tmp_path, SECONDS, KILLS, TASKS_PER_STAGE)
        story.serve()
        tasks = story.submit(TASKS)
        story.run(ticks, workers, tasks, LIMIT)
        told = check(story, tasks)
    seen = (
        f"{TASKS} tasks, {told['pictures']} pictures, {told['jobs']} jobs accepted and {told['paid']} paid, none twice, "
        f"{told['killed']} kills: {told['delivered']} delivered, {told['refunded']} refunded, {told['spent']} credits "
        f"spent, sum of the entries = sum of the balances; {told['early'] + told['done']} calls back, "
        f"{told['forged']} forged ones refused"
    )
    if ticks:
        longest = f"the longest took {max(story.ticks, default=0):.1f} s of {SECONDS:g} s"
        longest += f", its process {max(story.whole, default=0):.1f} s"
        within = 1 - told["late"] / max(1, told["ticks"])
        seen += f"; {told['ticks']} whole ticks, {within:.1%} of them within their time, {longest}; "
        seen += f"{told['cut']} more ended without a report"
    note(Finding(f"Pictures, driven by {driven}", kind_of(database_url), PROMISED, seen))
    late = [seconds for seconds in story.ticks if seconds > MOST_SECONDS]
    assert late == [], f"{len(late)} of {len(story.ticks)} ticks took longer than {MOST_SECONDS:g} s"
