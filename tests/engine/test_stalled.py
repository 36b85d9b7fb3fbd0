"""The doctor finds a stalled sweep, and work that nobody recovers or owns."""

import os
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from fanfold.engine.queries import doctor
from fanfold.engine.queries.checks import DoctorCheck
from fanfold.store.rows.workers import Report
from fanfold.store.schema import tables
from tests.engine.pipelines import batch
from tests.installation import HandClock, Installation


def found(installation: Installation) -> dict[str, DoctorCheck]:
    return {check.name: check for check in doctor.database(installation.store)}


def live_on(installation: Installation, clock: HandClock, seconds: float, *workers: str, swept: bool) -> None:
    """Keep these workers alive for this long, with a sweep that runs or one that does not."""
    for _ in range(int(seconds / 5)):
        clock.advance(5)
        with installation.store.write() as tx:
            for worker in workers:
                assert tx.workers.beat(worker, Report(swept_ago=0.0 if swept else None), 15)


def test_the_doctor_sees_that_no_living_worker_sweeps(installation: Installation, clock: HandClock) -> None:
    installation.know(batch())
    for name in ("deaf", "mute"):
        installation.worker(name)
    live_on(installation, clock, 60, "deaf", "mute", swept=True)
    assert found(installation)["sweep"].status == "ok"
    live_on(installation, clock, 20, "deaf", "mute", swept=False)
    assert found(installation)["sweep"].status == "ok", "not yet several intervals"
    live_on(installation, clock, 20, "deaf", "mute", swept=False)
    check = found(installation)["sweep"]
    assert (check.status, "no live worker sweeps: deaf (40 s), mute (40 s)") == ("problem", check.fact)
    assert (check.command, "a tick recovers" in check.advice) == ("fanfold tick TARGET", True)
    live_on(installation, clock, 5, "deaf", swept=True)
    check = found(installation)["sweep"]
    assert check.status == "warning"
    assert check.fact.startswith("some live workers do not sweep: mute")


def test_a_worker_that_never_swept_is_seen_and_an_older_one_is_not_blamed(
    installation: Installation, clock: HandClock
) -> None:
    installation.know(batch())
    installation.worker("new")
    live_on(installation, clock, 60, "new", swept=False)
    assert found(installation)["sweep"].status == "problem"
    installation.sql("UPDATE workers SET revision = '0005'")
    assert found(installation)["sweep"].status == "ok"
    installation.sql("UPDATE workers SET revision = NULL")
    assert found(installation)["sweep"].status == "ok"


def test_the_doctor_does_not_promise_what_a_living_worker_has_not_done(
    installation: Installation, clock: HandClock
) -> None:
    installation.client.submit(installation.know(batch(timeout=None)), items=["a"])
    installation.worker("dead").claim()
    clock.advance(16)
    check = found(installation)["abandoned items"]
    assert check.status == "warning"
    assert "Start one" in check.advice
    installation.worker("living")
    check = found(installation)["abandoned items"]
    assert check.status == "warning"
    assert "within 5 s" in check.advice
    live_on(installation, clock, 60, "living", swept=True)
    check = found(installation)["abandoned items"]
    assert (check.status, check.fact) == ("problem", "1 runs under a worker that is gone")
    assert "within" not in check.advice
    assert "1 live worker has not fixed this" in check.advice
    installation.sweep()
    assert found(installation)["abandoned items"].status == "ok"


def test_orphans_of_every_kind_are_found(installation: Installation, clock: HandClock) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a"])
    installation.completed(task)
    assert {found(installation)[name].status for name in ("orphaned rows", "orphaned files", "deleted tasks")} == {"ok"}
    none = dict.fromkeys(("lease", "attempts", "failures", "crashes"), 0)
    times = {"intended_at": clock.now, "updated_at": clock.now}
    rows: dict[sa.Table, dict[str, Any]] = {
        tables.items: {"task": 99, "stage": "x", "seq": 1, "state": "pending", **none},
        tables.item_data: {"item": 999_999},
        tables.attempts: {"task": 99, "item": 1, "lease": 1, "outcome": "lost", "ended_at": clock.now},
        tables.emissions: {"task": 99, "item": 1, "lease": 1, "position": 1, "body": "1"},
        tables.blobs: {"task": 99, "key": "t-9/x", "name": "x", "size": 1, "created_at": clock.now},
        tables.events: {"task": 99, "at": clock.now, "actor": "a", "verb": "submit"},
        tables.task_tags: {"task": 99, "tag": "x"},
        tables.drafts: {"task": 99, "stage": "x", "kind": "new", "token": "t", "at": clock.now},
        tables.externals: {"task": 99, "item": 1, "name": "job", "lease": 1, "key": "k", "state": "intended", **times},
    }  # fmt: skip
    with installation.store.write() as tx:
        for table, row in rows.items():
            tx.connection.execute(sa.insert(table).values(**row))
    check = found(installation)["orphaned rows"]
    assert check.status == "warning"
    assert check.fact == ", ".join(sorted(f"1 {table.name}" for table in rows))
    with installation.store.write() as tx:
        tx.connection.execute(sa.insert(tables.deleted_tasks).values(task=99, deleted_at=clock.now))
    assert found(installation)["orphaned rows"].fact == "1 item_data", "what is being deleted is not an orphan"
    assert found(installation)["deleted tasks"].status == "ok"
    clock.advance(3 * 3600)
    assert found(installation)["deleted tasks"].status == "warning"


def test_files_that_a_cleaning_should_have_removed_are_found(installation: Installation) -> None:
    kept = installation.store.keep("t-nobody", "x.txt", b"x").path
    scratch = installation.store.scratch / "t-1-2-3"
    scratch.mkdir(parents=True)

    def age(path: Path, hours: float) -> None:
        os.utime(path, (time.time() - hours * 3600,) * 2)

    for path in (kept, scratch):
        age(path, 25)
    assert found(installation)["orphaned files"].status == "ok", "the next cleaning removes them"
    for path in (kept, scratch):
        age(path, 27)
    check = found(installation)["orphaned files"]
    assert check.status == "warning"
    assert check.fact == "1 blob that no row names, 1 scratch file of attempts that are over"
    installation.sweep()
    assert found(installation)["orphaned files"].status == "ok"


def test_the_doctor_names_tasks_that_somebody_should_look_at(installation: Installation) -> None:
    """A completed task with fallbacks is in "Needs you": the doctor must not say that nothing waits."""

    def convert(item: Any) -> str:
        item.degraded("simple way")
        return "done"

    task = installation.client.submit(installation.know(batch(handler=convert)), items=[1])
    installation.completed(task)
    check = found(installation)["tasks"]
    assert (check.fact, check.command) == ("1 in total, 1 needs a person", "fanfold tasks --needs-you")
    other = installation.client.submit(installation.pipelines[0], items=[1])
    installation.client.pause(other.id)
    assert found(installation)["tasks"].fact == "1 paused; 2 need a person"
    installation.client.delete(installation.client.cancel(other.id).id)
    installation.client.accept(task.id)
    assert found(installation)["tasks"].fact == "1 in total, none waits for a person"
