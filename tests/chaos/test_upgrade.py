"""Work in flight continues when its database is upgraded, or the upgrade is refused with a reason."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa

from fanfold.errors import DatabaseProblem
from fanfold.model.values import serial
from fanfold.model.values.decoding import FILE_MARK
from fanfold.running.terminal.exit_codes import Exit
from fanfold.store.database import Database
from fanfold.store.upgrade import backup as copying
from fanfold.store.upgrade import migrate
from tests.acceptance.fleet import BRIEF_LEASE, ROOT, SHORT, Fleet, check_events, fleet, patiently
from tests.chaos import handlers, next_version
from tests.chaos.findings import Finding, kind_of, note, one_database_is_enough, only_in_full
from tests.chaos.first_version import FirstVersion
from tests.chaos.whole import SLOTS, WINDOW, Load, Process, check_share
from tests.databases import Databases, PostgresDatabases
from tests.servers import PostgresServer

LOAD = 4_000
FIRST_PACE = 0.2
"""Seconds that a worker of the first version takes for each of its batches; current workers are faster."""
HOLDING = """
import sys, time
import sqlalchemy as sa
from fanfold.store.upgrade import migrate
from fanfold.store.database import Database

database = Database(sys.argv[1])

def hold(_connection, _cursor, statement, *_rest):
    if sys.argv[2] in statement:
        print("held", flush=True)
        time.sleep(600)

sa.event.listen(database.engine, "before_cursor_execute", hold)
migrate.upgrade_database(database)
"""
"""An upgrade that stops forever before one of its statements."""


@pytest.fixture
def first_url(databases: Databases, tmp_path: Path) -> Iterator[str]:
    """A database made by the first migration, once on SQLite and once on PostgreSQL."""
    name = f"first_{uuid4().hex}"
    server = databases.server if isinstance(databases, PostgresDatabases) else None
    url = server.create_database(name) if server else f"sqlite:///{tmp_path / 'first.db'}"
    database = Database(url)
    migrate.upgrade_database(database, "0001")
    database.close()
    yield url
    if server:
        server.drop_database(name)


class Commands:
    """Types commands of this version, and of the next one, each in a process of its own."""

    def __init__(self, url: str, folder: Path) -> None:
        self.environment = os.environ | SHORT | {"FANFOLD_DATABASE": url, "FANFOLD_DATA": str(folder / "data")}

    def type(self, *words: str, module: str = "fanfold.cli") -> "subprocess.CompletedProcess[str]":
        """Run a command to its end."""
        command = [sys.executable, "-m", module, *words]
        return subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=100, check=False
        )

    def next(self, kind: str, *words: str) -> "subprocess.CompletedProcess[str]":
        """The same with the next version."""
        return self.type(kind, *words, module=next_version.__name__)


def fill(first: FirstVersion, log: Path, data: Path) -> dict[str, int]:
    """Everything the first version could leave behind: items in every state, tasks in every kind of place, a blob."""
    options = {"log": str(log), "seconds": 0.0, "count": 0}
    first.worker("dead", 1, host="gone", seen_ago=3_600, running=3)
    mixed = first.task("t-mixed", "active", "work", options)
    states = [("done", 1), ("done", 2), ("running", 1), ("running", 3), ("retrying", 1), ("waiting", 2), ("pending", 0)]
    for seq, (state, lease) in enumerate(states, 1):
        output = {"output": made_before(f"m{seq}", lease)} if state == "done" else {}
        worker = "dead" if state == "running" else None
        first.item(mixed, "work", seq, f"m{seq}", state, lease=lease, worker=worker, input=str(seq), **output)
    paused = first.task("t-paused", "paused", "work", options)
    first.event(paused, "pause", "active", "paused", "work")
    for seq in (1, 2, 3):
        first.item(paused, "work", seq, f"p{seq}", "pending", input=str(seq))
    merging = first.task("t-merging", "active", "bind", options)
    first.event(merging, "advance", "active", "active", "bind")
    for seq in (1, 2):
        first.item(merging, "work", seq, f"b{seq}", "done", lease=1, input="1", output=made_before(f"b{seq}", 1))
    first.item(merging, "bind", 1, None, "running", lease=1, worker="dead")
    partial = first.task("t-partial", "partial", "work", options)
    first.event(partial, "advance", "active", "partial", "work")
    first.item(partial, "work", 1, "f1", "failed", lease=4, input="1", error_code="broken", error_message="it broke")
    first.item(partial, "work", 2, "f2", "done", lease=1, input="2", output=made_before("f2", 1))
    first.run(
        "INSERT INTO attempts (task, item, lease, worker, outcome, started_at, ended_at, error_code, error_message)"
        " SELECT task, id, lease, 'dead', 'failed', <now>, <now>, 'broken', 'it broke' FROM items WHERE key = 'f1'"
    )
    completed = first.task("t-completed", "completed", "bind", options)
    first.event(completed, "advance", "active", "active", "bind")
    first.event(completed, "advance", "active", "completed", "bind")
    first.blob(completed, data, "t-completed/large", "result", b'{"count": 5, "long": "yes"}')
    large = json.dumps({serial.LARGE_MARK: {FILE_MARK: {"key": "t-completed/large", "name": "result", "size": 27}}})
    first.item(completed, "bind", 1, None, "done", lease=1, output=large)
    return {"mixed": mixed, "paused": paused, "merging": merging, "partial": partial, "completed": completed}


def made_before(key: str, lease: int) -> str:
    """The output of an item that was done before the upgrade."""
    return json.dumps({"key": key, "attempt": lease, "token": "before", "pid": 0})


def first_columns(url: str) -> dict[str, str]:
    """The tables of a database with their columns, as they are now."""
    database = Database(url)
    with database.read() as connection:
        look = sa.inspect(connection)
        found = {
            name: ", ".join(column["name"] for column in look.get_columns(name)) for name in look.get_table_names()
        }
    database.close()
    return found


def everything(url: str, besides: tuple[str, ...] = (), columns: dict[str, str] | None = None) -> dict[str, list[Any]]:
    """All rows of all tables, or of these columns only: an upgrade adds others."""
    database = Database(url)
    with database.read() as connection:
        names = set(sa.inspect(connection).get_table_names()) - {"alembic_version", *besides}
        found = {
            name: sorted(map(repr, connection.execute(sa.text(f"SELECT {(columns or {}).get(name, '*')} FROM {name}"))))
            for name in names
        }
    database.close()
    return found


def test_work_of_the_first_version_goes_on_through_the_upgrade(first_url: str, tmp_path: Path) -> None:
    """A database of the first migration, with items in every state and workers of the first version at work, is upgraded
    while they run: they continue, workers of today join them, all work is done, and what was done before stays as it was."""
    first, log = FirstVersion(first_url), tmp_path / "calls.log"
    numbers = fill(first, log, tmp_path / "data")
    load = first.task("t-load", "active", "work", {"log": str(log), "seconds": 0.0, "count": LOAD})
    with first.database.write() as connection:
        for seq in range(1, LOAD + 1):
            made = "INSERT INTO items (task, stage, seq, key, state, lease, attempts, failures, crashes) VALUES (:task, 'work',"
            first.on(connection, made + " :seq, :key, 'pending', 0, 0, 0, 0)", task=load, seq=seq, key=f"k{seq - 1}")
    # The first version's workers are to be seen alone with the load: what it left behind waits for those of today.
    first.run("UPDATE tasks SET state = 'paused' WHERE number = :mixed", mixed=numbers["mixed"])
    commands = Commands(first_url, tmp_path)
    words = [sys.executable, "-m", "tests.chaos.first_version", first_url]
    old = [subprocess.Popen([*words, f"old-{n}", str(log), f"{FIRST_PACE}"], cwd=ROOT) for n in (1, 2)]
    try:
        patiently(lambda: first.done(load) > 40, 60)
        before = rate(first, load, WINDOW)
        shown = json.loads(commands.type("db", "upgrade", "--dry-run", "--json").stdout)
        assert [worker["may_go_on"] for worker in shown["workers"] if worker["id"].startswith("old")] == [True, True]
        assert (shown["before"], shown["after"], migrate.current(first.database)) == ("0001", "0001", "0001")
        check_backup(first, load, tmp_path / "copy.db")
        kept = everything(first_url, besides=("items", "item_data", "workers", "revisions"))
        columns = first_columns(first_url)
        upgraded = commands.type("db", "upgrade")
        assert upgraded.returncode == 0, upgraded.stderr
        assert "They can keep running until you replace them" in upgraded.stdout
        known, upgraded_at = first.done(load), time.monotonic()
        patiently(lambda: first.done(load) > known, 60)
        recovered = time.monotonic() - upgraded_at
        share = check_share(lambda seconds: rate(first, load, seconds), before)
        assert [process.poll() for process in old] == [None, None], "workers of the first version continue"
        assert {name: rows for name, rows in everything(first_url, columns=columns).items() if name in kept} == kept
        first.run("UPDATE tasks SET state = 'active' WHERE number = :mixed", mixed=numbers["mixed"])
        with fleet(first_url, tmp_path, **BRIEF_LEASE) as ours:
            finish(ours, old)
    finally:
        for process in old:
            process.kill()
            process.wait(60)
        first.database.close()
    seen = f"2 workers of the old version continued, 2 of the new joined; {LOAD} items and 5 older tasks done, nothing lost"
    promised = "Workers of the previous version continue while the database is upgraded, where that is possible."
    note(Finding("upgrade", kind_of(first_url), promised, seen, round(recovered, 2), share))


def check_backup(first: FirstVersion, load: int, file: Path) -> None:
    """A copy that is made while workers write is whole, and of one moment; PostgreSQL has a tool of its own."""
    if first.database.dialect.name != "sqlite":
        return
    before = first.done(load)
    copying.copy(first.database, file)
    copied = FirstVersion(f"sqlite:///{file}")
    assert before <= copied.done(load) <= first.done(load)
    assert migrate.current(copied.database) == "0001"
    copied.database.close()


def rate(first: FirstVersion, task: int, seconds: float) -> float:
    """Done items per second over the next moments."""
    before, started = first.done(task), time.monotonic()
    time.sleep(seconds)
    return (first.done(task) - before) / (time.monotonic() - started)


def finish(ours: Fleet, old: list[Process]) -> None:
    """Workers of today join, one of the first version dies and one leaves in peace, and everything comes to its end."""
    done = {
        (row.key, row.output)
        for name in ("t-mixed", "t-merging", "t-partial")
        for row in ours.rows(name, "work")
        if row.output
    }
    assert len(done) == 5
    today = [ours.worker("crowd") for _ in range(2)]
    revisions = {None, migrate.REVISIONS[-1]}
    patiently(
        lambda: {worker.revision for worker in ours.client.workers() if worker.alive} == revisions,
        60,
        lambda: f"{ours.client.workers()} {ours.said()}",
    )
    old[0].kill()
    old[1].send_signal(signal.SIGTERM)
    assert old[1].wait(60) == 0
    ours.client.resume("t-paused")
    ours.client.retry("t-partial")
    for name, count in (("t-mixed", 7), ("t-paused", 3), ("t-merging", 2), ("t-partial", 2)):
        found = ours.until(name)
        assert (found.total, found.done, found.failed) == (count, count, 0)
        (merged,) = ours.rows(name, "bind")
        assert ours.output(merged) == {"count": count, "different": count, "attempt": merged.lease}
        check_events(ours.client, name)
        done -= {(row.key, row.output) for row in ours.rows(name, "work")}
    assert not done, "what was done before the upgrade was done again"
    assert {row.key for row in ours.rows("t-mixed", "work") if row.crashes} >= {"m3", "m4"}
    assert ours.client.result("t-completed") == {"count": 5, "long": "yes"}
    check_load(ours)
    assert [worker.poll() for worker in today] == [None, None]


def check_load(ours: Fleet) -> None:
    """Each item was finished by the attempt that holds its lease, and merged once."""
    found = ours.until("t-load", seconds=120)
    assert (found.total, found.done, found.failed) == (LOAD, LOAD, 0)
    starts = ours.calls("start")
    for row in ours.rows("t-load", "work"):
        output = ours.output(row)
        assert (row.state, row.failures, row.lease) == ("done", 0, output["attempt"]), row
        assert (output["attempt"], output["token"], output["pid"]) in starts[row.key], row
        assert len(starts[row.key]) <= row.lease, row
    (merged,) = ours.rows("t-load", "bind")
    assert ours.output(merged) == {"count": LOAD, "different": LOAD, "attempt": merged.lease}
    check_events(ours.client, "t-load")


@pytest.mark.parametrize("moment", ["ADD COLUMN handed_back", "INTO revisions"])
def test_an_upgrade_killed_in_the_middle_has_changed_nothing(first_url: str, tmp_path: Path, moment: str) -> None:
    """Whenever it is killed, all of the old revision is there and nothing of the new one; the next upgrade does it all."""
    one_database_is_enough(first_url)
    first = FirstVersion(first_url)
    numbers = fill(first, tmp_path / "calls.log", tmp_path / "data")
    columns = first_columns(first_url)
    before = everything(first_url)
    process = subprocess.Popen([sys.executable, "-c", HOLDING, first_url, moment], cwd=ROOT, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
    finally:
        process.kill()
        process.communicate(timeout=60)
    assert migrate.current(first.database) == "0001"
    assert everything(first_url) == before
    assert first.done(numbers["mixed"]) == 2
    assert migrate.upgrade_database(first.database).before == "0001"
    after = everything(first_url, columns=columns)
    kept = set(before) - {"revisions"}
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    first.database.close()
    if moment == "INTO revisions":
        promised = "An upgrade that dies half-way has changed nothing."
        seen = "killed at 2 moments: the old revision whole each time, the next try upgraded it"
        note(Finding("upgrade killed", kind_of(first_url), promised, seen))


def test_an_upgrade_behind_a_long_reader_holds_nobody_up(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It tries for a short time and again, so that others wait no longer than that; gives up with a sentence that names who is in
    its way, having changed nothing; and succeeds as soon as the reader has ended."""
    for name, value in (("LOCK_SECONDS", 0.3), ("LOCK_TRIES", 8), ("LOCK_PAUSE_SECONDS", 0.3)):
        monkeypatch.setattr(migrate, name, value)
    name = f"first_{uuid4().hex}"
    first = FirstVersion(postgres.create_database(name))
    try:
        migrate.upgrade_database(first.database, "0001")
        fill(first, tmp_path / "calls.log", tmp_path / "data")
        with Waits(first) as waits, first.database.engine.connect() as reader:
            reader.execute(sa.text("SELECT count(*) FROM item_data"))
            held_at = time.monotonic()
            with pytest.raises(
                DatabaseProblem, match=r"8 tries of 0.3 s: server process \d+ .*fanfold, idle in trans"
            ) as caught:
                migrate.upgrade_database(first.database)
            held, longest = time.monotonic() - held_at, waits.longest
            assert caught.value.code == "locked"
            assert migrate.current(first.database) == "0001"
            threading.Timer(0.6, reader.rollback).start()
            migrate.upgrade_database(first.database)
        assert migrate.current(first.database) == migrate.REVISIONS[-1]
        # Somebody who wants the table waits for one try of eight at most, and not for the reader's end.
        assert longest < held / 2, (longest, held)
        promised = "An upgrade that waits for a lock holds nobody else up for long."
        seen = f"8 tries, then a sentence that names who blocks it; others waited {longest:.1f} s at most"
        note(Finding("upgrade behind a reader", "PostgreSQL", promised, seen))
    finally:
        first.database.close()
        postgres.drop_database(name)


class Waits(threading.Thread):
    """Reads a little, again and again, and remembers the longest wait."""

    def __init__(self, first: FirstVersion) -> None:
        super().__init__(name="waits")
        self.first = FirstVersion(first.database.url.render_as_string(hide_password=False))
        self.longest = 0.0
        self.over = threading.Event()

    def run(self) -> None:
        """Read until it is enough."""
        while not self.over.wait(0.02):
            started = time.monotonic()
            with self.first.database.read() as connection:
                connection.execute(sa.text("SELECT count(*) FROM item_data")).all()
            self.longest = max(self.longest, time.monotonic() - started)

    def __enter__(self) -> "Waits":
        self.start()
        return self

    def __exit__(self, *_problem: object) -> None:
        self.over.set()
        self.join()
        self.first.database.close()


@only_in_full
def test_workers_of_today_go_on_with_a_newer_database_that_lets_them(database_url: str, tmp_path: Path) -> None:
    """A rolling upgrade: the next version adds to the tables while workers run; they continue, more of today's may still join,
    and so may those of the next version."""
    one_database_is_enough(database_url)
    with fleet(database_url, tmp_path) as ours:
        load, commands = Load(ours), Commands(database_url, tmp_path)
        before = load.meter.rate(WINDOW)
        upgraded = commands.next("additive", "db", "upgrade")
        assert upgraded.returncode == 0, upgraded.stderr
        recovered = load.meter.next_done(load.meter.done(), 60)
        share = check_share(load.meter.rate, before)
        assert migrate.current(ours.store.database) == next_version.NEXT
        joined = [load.start(), next_worker(ours, "additive")]
        load.all_at_work(*load.workers, *joined)
        knowing = sorted(str(worker.revision) for worker in ours.client.workers())
        assert knowing == [migrate.REVISIONS[-1]] * 3 + [next_version.NEXT]
        load.finish()
        assert [worker.poll() for worker in (*load.workers, *joined)] == [None] * 4, ours.said()
        promised = "A version keeps working with a database to which the next version only added tables or columns."
        seen = f"4 workers of both versions did {load.count} items, nothing lost"
        note(Finding("rolling upgrade", kind_of(database_url), promised, seen, round(recovered, 2), share))


def next_worker(ours: Fleet, kind: str) -> Process:
    """A worker of the next version on the same load."""
    words = (kind, "worker", f"{handlers.__name__}:steady", "--concurrency", str(SLOTS))
    return ours.run("-m", next_version.__name__, *words)


def test_an_upgrade_that_workers_cannot_go_on_with_is_refused_or_ends_them(database_url: str, tmp_path: Path) -> None:
    """Refused in a sentence while they are alive, with nothing changed; by force they notice, hand back what they have, and end
    with a sentence and an exit code of their own; the next version continues with what they left."""
    one_database_is_enough(database_url)
    with fleet(database_url, tmp_path, FANFOLD_GRACE_SECONDS="0.1") as ours:
        load, commands = Load(ours), Commands(database_url, tmp_path)
        before = load.meter.rate(WINDOW)
        refused = commands.next("breaking", "db", "upgrade", "--wait", "0.5")
        assert refused.returncode == Exit.DATABASE
        told = (
            "2 live workers cannot continue with revision 9000",
            "Stop them first",
            str(load.workers[0].pid),
        )
        assert all(words in refused.stderr for words in told), refused.stderr
        assert migrate.current(ours.store.database) == migrate.REVISIONS[-1]
        load.all_at_work(*load.workers)
        forced = commands.next("breaking", "db", "upgrade", "--force")
        assert forced.returncode == 0, forced.stderr
        assert [worker.wait(60) for worker in load.workers] == [Exit.OUTDATED] * 2, ours.said()
        assert (
            ours.said().count("Error: The database was upgraded to revision 9000, which this version of Fanfold") == 2
        )
        assert "Traceback" not in ours.said()
        left = [row for row in ours.rows(load.task, "work") if row.state == "running" or row.crashes]
        assert not left, "handed back or finished, nothing lost"
        done = load.meter.done()
        heirs = [next_worker(ours, "breaking") for _ in range(2)]
        recovered = load.meter.next_done(done, 60)
        load.all_at_work(*heirs)
        share = check_share(load.meter.rate, before)
        load.finish()
        promised = "An upgrade that older workers cannot work with is refused; with --force, they hand back their work and exit."
        seen = f"refused; forced: both workers ended with {Exit.OUTDATED.value}, no item lost, the next version did the rest"
        note(Finding("breaking upgrade", kind_of(database_url), promised, seen, round(recovered, 2), share))


def test_a_breaking_upgrade_waits_for_the_end_of_the_workers(tmp_path: Path) -> None:
    """With --wait it continues by itself as soon as the last worker that stands in its way has ended."""
    with fleet(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path) as ours:
        worker = ours.worker("crowd")
        patiently(ours.client.workers, 60, ours.said)
        waiting = ours.run("-m", next_version.__name__, "breaking", "db", "upgrade", "--wait", "60")
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(2)
        worker.send_signal(signal.SIGTERM)
        assert waiting.wait(60) == 0, ours.said()
        assert worker.wait(60) == 0
        assert migrate.current(ours.store.database) == next_version.NEXT


def test_statements_that_no_longer_fit_end_a_worker_with_the_same_sentence(database_url: str, tmp_path: Path) -> None:
    """Where the tables change under the statements of a running worker, it says what has happened and ends, and not how the
    database put it; what it had in hand is still there to be taken back."""
    one_database_is_enough(database_url)
    # Heartbeats are rare here: statements fail before one of them notices why.
    with fleet(database_url, tmp_path, FANFOLD_GRACE_SECONDS="0.5", FANFOLD_HEARTBEAT_SECONDS="1.4") as ours:
        load = Load(ours, workers=({},))
        forced = Commands(database_url, tmp_path).next("renaming", "db", "upgrade", "--force")
        assert forced.returncode == 0, forced.stderr
        assert load.workers[0].wait(60) == Exit.OUTDATED, ours.said()
        assert "Error: The database was upgraded to revision 9000" in ours.said()
        assert "Traceback" not in ours.said()
        counted = sa.text("SELECT state, count(*) FROM items WHERE task = :task AND stage = 'work' GROUP BY state")
        with ours.store.database.read() as connection:
            states = {str(state): int(many) for state, many in connection.execute(counted, {"task": load.meter.number})}
        assert sum(states.values()) == load.count
        assert set(states) <= {"pending", "running", "done"}
        promised = "A worker whose statements no longer fit the tables exits with an explanation, and its items can be reclaimed."
        seen = (
            f"ended with {Exit.OUTDATED.value}; {states.get('done')} done, {states.get('running', 0)} to be reclaimed"
        )
        note(Finding("breaking tables", kind_of(database_url), promised, seen))
