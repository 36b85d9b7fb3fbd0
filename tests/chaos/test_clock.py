"""The host's clock, which decides on SQLite, is set back by an hour, and forward again."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from fanfold.engine.tasks.recovery.sweep import take_duty
from fanfold.store.schema.tables import duties, items, workers
from tests.acceptance.fleet import BRIEF_LEASE, Fleet, fleet, patiently
from tests.chaos.findings import Finding, note, only_in_full
from tests.chaos.handlers import backing_off
from tests.chaos.shifted import CLOCK, HOST
from tests.chaos.test_workers import is_holding, names_of
from tests.chaos.whole import WINDOW, Load, check_share

HOUR = 3_600
AFTER = 4.0
LONG = 60.0
"""Far less than an hour, far more than anything here should take on a busy machine."""


@only_in_full
def test_a_clock_that_is_set_makes_nobody_wait(tmp_path: Path) -> None:
    """Set back or forward by an hour: work continues, back-offs end, the items of a dead worker are free within its lease."""
    clock = tmp_path / "clock"
    clock.write_text("0")
    environment = BRIEF_LEASE | {"FANFOLD_CRASH_LIMIT": "1000", CLOCK: str(clock)}
    with fleet(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path, **environment) as ours:
        load = Load(ours, [{}, {HOST: "elsewhere"}], module="tests.chaos.shifted")
        living, victim = load.workers
        before, kept, lost = load.meter.rate(WINDOW), names_of(ours, living), names_of(ours, victim)
        failing = start_failing(ours)
        victim.kill()
        set_clock(clock, -HOUR)
        set_at, done = time.monotonic(), load.meter.done()
        assert {row.state for row in ours.rows(failing, "fail_once")} == {"retrying"}, "too late to prove anything"
        went_on = load.meter.next_done(done, LONG)
        patiently(lambda: not is_holding(ours, lost), LONG, ours.said)
        freed = time.monotonic() - set_at
        ours.until(failing, seconds=LONG)
        ended = time.monotonic() - set_at
        assert names_of(ours, living) == kept, f"a living worker was taken for dead\n{ours.said()}"
        joined = load.start(**{HOST: "elsewhere"})
        load.all_at_work(joined)
        share = check_share(load.meter.rate, before)
        what = f"the items of a worker killed on another machine were free after {freed:.1f} s (lease: 3 s), "
        what += f"back-offs of {AFTER:g} s ended within {ended:.1f} s, no living worker lost anything"
        note(
            Finding("the clock set back an hour", "SQLite", "nobody waits for the hour", what, round(went_on, 1), share)
        )

        crashed = {row.key: row.crashes for row in ours.rows(load.task, "work")}
        set_clock(clock, 0)
        done = load.meter.done()
        went_on = load.meter.next_done(done, LONG)
        load.all_at_work(living, joined)
        share = check_share(load.meter.rate, before)
        load.finish()
        again = [
            row.crashes - crashed[row.key] for row in ours.rows(load.task, "work") if row.crashes > crashed[row.key]
        ]
        what = f"{len(again)} items that were running then ran again; lost leases per item: at most {max(again, default=0)}"
        promised = "every lease is over at once: what runs is dropped and runs again"
        note(Finding("the clock set forward an hour", "SQLite", promised, what, round(went_on, 1), share))


def test_what_waits_for_a_time_is_moved_back_with_the_clock(database_url: str, tmp_path: Path) -> None:
    """The sweep sees that it last ran in the future: once, it moves leases, back-offs and time limits back as far."""
    with fleet(database_url, tmp_path) as ours:
        options = {"log": str(ours.log), "after": 1.0}
        waiting, running, later = (ours.client.submit(backing_off, items=[1], options=options).id for _ in range(3))
        with ours.store.write() as tx:
            tx.workers.register("living", "elsewhere", 1, [], 1)
            for task, ahead in ((waiting, HOUR + 10), (later, 2 * HOUR)):
                chosen = sa.update(items).where(items.c.task == tx.tasks.resolve(task).number)
                tx.connection.execute(chosen.values(state="running", worker="living", lease=1, attempts=1))
                tx.connection.execute(chosen.values(state="retrying", worker=None, available_at=tx.clock.after(ahead)))
            chosen = sa.update(items).where(items.c.task == tx.tasks.resolve(running).number)
            times = {"started_at": tx.clock.after(HOUR - 2), "deadline_at": tx.clock.after(HOUR + 50)}
            tx.connection.execute(chosen.values(state="running", worker="living", lease=1, attempts=1, **times))
            assert tx.recovery.take_duty("recover", 5.0)
            tx.connection.execute(sa.update(duties).values(ran_at=tx.clock.after(HOUR)))
            tx.connection.execute(sa.update(workers).values(seen_at=tx.clock.after(HOUR)))
        assert take_duty(ours.store, "recover", 5.0, False)
        with ours.store.write() as tx:
            assert not tx.recovery.take_duty("recover", 5.0), "twice in one interval"
            seconds = [-tx.clock.seconds_since(column) for column in (items.c.available_at, items.c.deadline_at)]
            found = tx.connection.execute(sa.select(*seconds).order_by(items.c.id)).all()
            seen = tx.connection.execute(sa.select(tx.clock.seconds_since(workers.c.seen_at))).scalar_one()
        assert found[0][0] == pytest.approx(10, abs=5)
        assert found[1][1] == pytest.approx(50, abs=5)
        assert found[2][0] == pytest.approx(HOUR, abs=5)
        assert seen == pytest.approx(0, abs=5)


def start_failing(ours: Fleet) -> str:
    """A task whose items all wait out a back-off."""
    task = ours.client.submit(backing_off, items=range(8), options={"log": str(ours.log), "after": AFTER}).id
    words = (
        "-m",
        "tests.chaos.shifted",
        "worker",
        "tests.chaos.handlers:backing_off",
        "--stages",
        "backing_off.fail_once",
    )
    ours.run(*words)
    patiently(lambda: {row.state for row in ours.rows(task, "fail_once")} == {"retrying"}, LONG, ours.said)
    return task


def set_clock(clock: Path, seconds: float) -> None:
    """Set the clock of all workers; in one step, so that nobody reads half of it."""
    new = clock.with_suffix(".new")
    new.write_text(str(seconds))
    os.replace(new, clock)
