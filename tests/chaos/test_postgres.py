"""A real PostgreSQL is restarted, filled up and cut off while real workers use it."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from tests.acceptance.fleet import BRIEF_LEASE, Fleet, fleet, patiently
from tests.chaos.findings import FULL, Finding, note, only_in_full
from tests.chaos.handlers import talkative
from tests.chaos.proxy import Proxy
from tests.chaos.test_workers import is_holding, names_of
from tests.chaos.whole import LEAST, WINDOW, Load, check_share
from tests.conftest import one_at_a_time
from tests.databases import PostgresDatabases
from tests.servers import PostgresServer, Shutdown

LEASE = float(BRIEF_LEASE["FANFOLD_LEASE_SECONDS"])
ROUNDS = 5 if FULL else 3


@pytest.fixture
def url(postgres: PostgresServer) -> Iterator[str]:
    """A migrated, empty database on the server that all tests share."""
    source = PostgresDatabases(postgres)
    with one_at_a_time("template"):
        source.make_template()
    with source.fresh() as made:
        yield made


def name_of(url: str) -> str:
    """The name of the database."""
    return str(sa.make_url(url).database)


def seen(scenario: str, promised: str, what: str, seconds: float | None = None, share: float | None = None) -> None:
    """Note it for PostgreSQL."""
    note(Finding(scenario, "PostgreSQL", promised, what, None if seconds is None else round(seconds, 1), share))


def test_workers_go_on_when_postgresql_restarts(own_postgres: PostgresServer, tmp_path: Path) -> None:
    """Workers keep their results and continue as soon as it answers; a crash of the server loses nothing."""
    with fleet(own_postgres.create_database("fanfold"), tmp_path) as ours:
        load = Load(ours)
        before = load.meter.rate(WINDOW)
        modes: tuple[Shutdown, ...] = ("fast", "immediate")
        for mode in modes:
            gaps = [restart(own_postgres, load, mode) for _ in range(2 if FULL else 1)]
            load.all_at_work(*load.workers)
            share = check_share(load.meter.rate, before)
            what = f"{len(gaps)} restarts, the next item done at most {max(gaps):.1f} s after the server was back"
            seen(f"PostgreSQL restarted ({mode})", "workers keep what they have and continue", what, max(gaps), share)
        load.finish()
        assert [worker.poll() for worker in load.workers] == [None, None], ours.said()


def restart(server: PostgresServer, load: Load, mode: Shutdown) -> float:
    """Restart the server; returns how long it took from then to the next item that was done."""
    done = load.meter.done()
    server.restart(mode)
    back_at = time.monotonic()
    load.ours.store.close()
    load.meter.next_done(done, 60)
    return time.monotonic() - back_at


@only_in_full
def test_workers_go_on_when_their_connections_are_ended(postgres: PostgresServer, url: str, tmp_path: Path) -> None:
    """Every connection ended again and again, by the server or by the network, costs moments and nothing else."""
    with (
        behind_proxy(postgres, url) as (proxy, through),
        fleet(url, tmp_path) as ours,
        postgres.connect() as administrator,
    ):
        load = Load(ours, [through, through])
        before = load.meter.rate(WINDOW)
        kinds: dict[str, Callable[[], int]] = {
            "connections ended by the server": lambda: end_backends(administrator, name_of(url), "fanfold%"),
            "the connection for hints ended": lambda: end_backends(administrator, name_of(url), "fanfold-hints"),
            "connections dropped by the network": proxy.reset,
        }
        for scenario, end in kinds.items():
            ended, gap = 0, 0.0
            for _ in range(ROUNDS):
                check_hints_are_back(postgres, url, 2)
                done = load.meter.done()
                ours.store.close()
                ended += end()
                gap = max(gap, load.meter.next_done(done, 60))
            load.all_at_work(*load.workers)
            share = check_share(load.meter.rate, before)
            assert ended >= ROUNDS
            seen(
                scenario,
                "new ones are made at once",
                f"{ended} ended in {ROUNDS} rounds, no item ran twice",
                gap,
                share,
            )
        load.finish()
        assert all(row.crashes == 0 for row in ours.rows(load.task, "work"))


def end_backends(administrator: psycopg.Connection[tuple[int]] | object, database: str, like: str) -> int:
    """End all connections to a database whose name is like this; returns how many."""
    assert isinstance(administrator, psycopg.Connection)
    found = administrator.execute(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = %s AND application_name LIKE %s",
        (database, like),
    ).fetchone()
    return int(found[0]) if found else 0


def check_hints_are_back(postgres: PostgresServer, url: str, count: int) -> None:
    """Wait until this many workers listen."""

    def listening() -> bool:
        with postgres.connect() as connection:
            found = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND application_name = 'fanfold-hints'",
                (name_of(url),),
            ).fetchone()
        return found == (count,)

    patiently(listening, 60)


@only_in_full
def test_a_server_without_free_connections_is_waited_for(own_postgres: PostgresServer, tmp_path: Path) -> None:
    """Workers continue with the connections they have, or wait for some; one that starts meanwhile waits as well."""
    with fleet(own_postgres.create_database("fanfold"), tmp_path) as ours:
        load = Load(ours)
        before = load.meter.rate(WINDOW)
        ours.store.close()
        with own_postgres.connect() as administrator, all_connections_of(own_postgres):
            ended = end_backends(
                administrator, "fanfold", "fanfold%"
            )  # Freed connections are taken at once by somebody else.
            late = load.start()
            log = ours.folder / f"process-{len(ours.processes)}.log"
            patiently(
                lambda: "too many clients" in log.read_text() or "slots are reserved" in log.read_text(), 60, ours.said
            )
            time.sleep(10 if FULL else 1)
            assert late.poll() is None, ours.said()
        free_at = time.monotonic()
        load.all_at_work(*load.workers, late)
        recovered = time.monotonic() - free_at
        late.send_signal(signal.SIGTERM)
        assert late.wait(60) == 0, ours.said()
        share = check_share(load.meter.rate, before)
        load.finish()
        what = f"all {ended} connections in use; a worker started meanwhile waited and then worked"
        seen(
            "no free connections at the server",
            "workers wait and continue, including newly started ones",
            what,
            recovered,
            share,
        )


@contextmanager
def all_connections_of(server: PostgresServer) -> Iterator[None]:
    """Take every connection the server has, and those that become free meanwhile."""
    with ExitStack() as held:
        over = threading.Event()

        def take() -> None:
            while not over.is_set():
                try:
                    taken = psycopg.connect(host=str(server.directory), user="postgres", dbname="postgres")
                    held.callback(taken.close)
                except psycopg.OperationalError:
                    over.wait(0.002)

        thread = threading.Thread(target=take)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


@only_in_full
def test_many_handlers_that_write_at_once_share_the_connections(url: str, tmp_path: Path) -> None:
    """More handlers in threads than there are connections: all of them get their turn, and the worker keeps its lease."""
    threads = 160
    with fleet(url, tmp_path, FANFOLD_LEASE_SECONDS="10") as ours:
        options = {"log": str(ours.log), "seconds": 15 if FULL else 4}
        task = ours.client.submit(talkative, items=range(threads), options=options).id
        words = ("-m", "fanfold.cli", "worker", "tests.chaos.handlers:talkative", "--concurrency", str(threads))
        worker = ours.run(*words)
        patiently(lambda: len(ours.calls()) == threads, 60, ours.said)
        known = names_of(ours, worker)
        ours.until(task, seconds=120)
        rows = ours.rows(task, "chat")
        assert [(row.failures, row.crashes, row.lease) for row in rows] == [(0, 0, 1)] * threads, ours.said()
        assert names_of(ours, worker) == known, "it has lost its lease because its own handlers were in the way"
        said = [ours.output(row)["said"] for row in rows]
        assert min(said) > 0
        what = f"{threads} handlers wrote {sum(said) * 4} times over at most 32 connections, "
        what += f"{min(said)} to {max(said)} rounds each"
        seen("more writing handlers than connections", "they wait for each other; the lease is kept", what)


@only_in_full
@pytest.mark.timeout(400)
def test_an_old_snapshot_slows_nothing_down_for_long(postgres: PostgresServer, url: str, tmp_path: Path) -> None:
    """A reader that holds a snapshot keeps dead rows from being removed: claims cost more, but work continues."""
    with fleet(url, tmp_path) as ours:
        load = Load(ours, count=5_000 if FULL else 700)
        before, claim_before = load.meter.rate(WINDOW), claim_cost(postgres, url)
        with psycopg.connect(host=str(postgres.directory), user="postgres", dbname=name_of(url)) as reader:
            reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            reader.execute("SELECT count(*) FROM items")
            during = load.meter.rate(90 if FULL else 3)
            dead, claim_during = dead_rows(postgres, url), claim_cost(postgres, url)
        share = check_share(load.meter.rate, before)
        assert during >= LEAST * before, f"{during:.1f} items per second with the snapshot, {before:.1f} before"
        load.finish()
        what = f"with the snapshot {during / before:.0%} of the items per second, {dead} dead rows kept, "
        what += f"a probe for the next item took {claim_before:.1f} and then {claim_during:.1f} ms"
        seen("a reader that holds an old snapshot", "work continues and finishes", what, 0.0, share)


def claim_cost(postgres: PostgresServer, url: str) -> float:
    """Milliseconds to find the first pending item, dead index entries included."""
    with psycopg.connect(host=str(postgres.directory), user="postgres", dbname=name_of(url)) as connection:
        started = time.monotonic()
        connection.execute(
            "SELECT id FROM items WHERE state = 'pending' AND stage = 'work' ORDER BY id LIMIT 1"
        ).fetchone()
        return (time.monotonic() - started) * 1000


def dead_rows(postgres: PostgresServer, url: str) -> int:
    """Old versions of rows that cannot be removed yet, as a vacuum counts them."""
    said: list[str] = []
    with psycopg.connect(
        host=str(postgres.directory), user="postgres", dbname=name_of(url), autocommit=True
    ) as connection:
        connection.add_notice_handler(lambda notice: said.append(str(notice.message_primary)))
        connection.execute("VACUUM (VERBOSE) items")
    lines = [line for text in said for line in text.splitlines() if "dead but not yet removable" in line]
    return sum(int(line.split("are dead but")[0].split(",")[-1].split()[0]) for line in lines)


@contextmanager
def behind_proxy(postgres: PostgresServer, url: str) -> Iterator[tuple[Proxy, dict[str, str]]]:
    """A proxy before the server, and what makes a worker go through it."""
    with Proxy(postgres.directory / ".s.PGSQL.5432") as proxy:
        yield proxy, {"FANFOLD_DATABASE": proxy.url(name_of(url))}


def test_a_silent_network_is_noticed_within_the_lease(postgres: PostgresServer, url: str, tmp_path: Path) -> None:
    """Half-open: a worker that is cut off drops its items when its lease is over, others do them, and it comes back by itself."""
    with behind_proxy(postgres, url) as (proxy, through), fleet(url, tmp_path, **BRIEF_LEASE) as ours:
        load = Load(ours, [through, {}])
        cut_off, _other = load.workers
        before, known = load.meter.rate(WINDOW), names_of(ours, cut_off)
        proxy.fall_silent()
        silent_at = time.monotonic()
        patiently(lambda: "dropping all running items" in said_by_first(ours), 60, ours.said)
        dropped = time.monotonic() - silent_at
        patiently(lambda: not is_holding(ours, known), 60, ours.said)
        taken = time.monotonic() - silent_at
        time.sleep(15 if FULL else 1)
        starts = sum(pid == cut_off.pid for calls in ours.calls().values() for *_, pid in calls)
        proxy.speak()
        back_at = time.monotonic()
        patiently(lambda: names_of(ours, cut_off) - known, 60, ours.said)
        load.all_at_work(cut_off)
        back = time.monotonic() - back_at
        share = check_share(load.meter.rate, before)
        assert names_of(ours, cut_off).isdisjoint(known)
        assert sum(pid == cut_off.pid for calls in ours.calls().values() for *_, pid in calls) > starts
        stop_in_silence(proxy, load)
        load.finish()
        what = f"what it ran was dropped after {dropped:.1f} s and free for others after {taken:.1f} s (lease: {LEASE:g} s)"
        promised = (
            "a worker that is cut off drops what it runs within about its lease; others do it; "
            "it comes back under a new id"
        )
        seen("a network that falls silent (half-open)", promised, what, back, share)


def stop_in_silence(proxy: Proxy, load: Load) -> None:
    """SIGTERM ends a worker within the grace time plus about twice its lease, also when the database does not answer."""
    proxy.fall_silent()
    load.workers[0].send_signal(signal.SIGTERM)
    told_at = time.monotonic()
    code = load.workers[0].wait(60)
    took = time.monotonic() - told_at
    what = f"it ended after {took:.1f} s with exit code {code} (grace: 2 s, lease: {LEASE:g} s)"
    seen("SIGTERM while the network is silent", "it ends within the grace time plus about twice its lease", what, took)


def said_by_first(ours: Fleet) -> str:
    """What the first process has printed."""
    return (ours.folder / "process-1.log").read_text()


@only_in_full
def test_connections_that_are_forgotten_on_the_way_are_replaced(
    postgres: PostgresServer, url: str, tmp_path: Path
) -> None:
    """Old connections stay silent forever, new ones work: the worker takes new ones before its lease is over."""
    with behind_proxy(postgres, url) as (proxy, through), fleet(url, tmp_path, FANFOLD_LEASE_SECONDS="10") as ours:
        load = Load(ours, [through], count=1_500 if FULL else 400)
        (worker,) = load.workers
        before, known = load.meter.rate(WINDOW), names_of(ours, worker)
        forgotten = proxy.forget()
        forgotten_at = time.monotonic()
        load.all_at_work(worker)
        time.sleep(0.5)  # What was in the hands of the loop may have ended without any connection.
        load.all_at_work(worker)
        back = time.monotonic() - forgotten_at
        share = check_share(load.meter.rate, before)
        assert names_of(ours, worker) == known, ours.said()
        check_hints_are_back(postgres, url, 2)  # The forgotten one is still there, at the server's end.
        load.finish()
        assert all(row.crashes == 0 for row in ours.rows(load.task, "work"))
        what = f"{forgotten} connections forgotten; the worker kept its lease (10 s) and its items"
        seen("connections forgotten by a firewall", "new ones are taken before the lease is over", what, back, share)


@only_in_full
def test_a_worker_waits_for_a_server_that_is_not_there_yet(own_postgres: PostgresServer, tmp_path: Path) -> None:
    """Started before the database it says so and waits; one that is refused says so and ends."""
    with fleet(own_postgres.create_database("fanfold"), tmp_path) as ours:
        load = Load(ours, [])
        ours.store.close()
        own_postgres.stop("immediate")
        early = load.start()
        patiently(lambda: "Trying again in" in said_by_first(ours), 60, ours.said)
        time.sleep(5 if FULL else 0)
        assert early.poll() is None, ours.said()
        refused = [load.start(FANFOLD_DATABASE=wrong) for wrong in wrong_urls(own_postgres)[:1]]
        assert [process.wait(60) for process in refused] == [6], ours.said()
        own_postgres.start()
        back_at = time.monotonic()
        load.all_at_work(early)
        back = time.monotonic() - back_at
        refused = [load.start(FANFOLD_DATABASE=wrong) for wrong in wrong_urls(own_postgres)[1:]]
        assert [process.wait(60) for process in refused] == [6] * len(refused), ours.said()
        load.finish()
        what = f"it waited, and worked {back:.1f} s after the server was there; {len(refused) + 1} mistyped URLs ended at once"
        seen("a worker started while PostgreSQL is down", "it waits; a URL that is refused ends it at once", what, back)


def wrong_urls(server: PostgresServer) -> list[str]:
    """A host, a user and a database that do not exist."""
    right = sa.make_url(server.url("fanfold"))
    wrong = (
        right.set(host="there-is-no.invalid", query={}),
        right.set(username="nobody"),
        right.set(database="nothing"),
    )
    return [url.render_as_string(hide_password=False) for url in wrong]


def test_an_outage_inside_a_handler_uses_up_no_retry(own_postgres: PostgresServer, tmp_path: Path) -> None:
    """Handlers in the middle of remember, emit, progress or write when the server goes: no failure is counted."""
    with fleet(own_postgres.create_database("fanfold"), tmp_path, FANFOLD_LEASE_SECONDS="60") as ours:
        options = {"log": str(ours.log), "seconds": 2}
        task = ours.client.submit(talkative, items=range(8), options=options).id
        ours.run("-m", "fanfold.cli", "worker", "tests.chaos.handlers:talkative", "--concurrency", "8")
        patiently(lambda: len(ours.calls()) == 8, 60, ours.said)
        ours.store.close()
        own_postgres.restart("immediate")
        back_at = time.monotonic()
        ours.until(task, seconds=60)
        rows = ours.rows(task, "chat")
        assert [(row.state, row.failures, row.crashes) for row in rows] == [("done", 0, 0)] * 8, ours.said()
        again = sum(row.lease > 1 for row in rows)
        assert again, "nothing was under way; the test has proved nothing"
        what = f"{again} of 8 handlers met the outage and ran again, 0 failures counted (the pipeline allows no retry)"
        seen(
            "PostgreSQL restarted under writing handlers",
            "only errors of the work count",
            what,
            time.monotonic() - back_at,
        )
