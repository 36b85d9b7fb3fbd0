"""Tasks whose files are in a bucket: the same story, on any machine, and moved there from a folder while it runs."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import fanfold as ff
from fanfold.engine.move_files import move_files
from fanfold.engine.queries import stalled
from fanfold.engine.tasks.recovery import sweep
from fanfold.engine.worker.loop import Worker
from fanfold.errors import BadInput, DatabaseProblem, LeaseLost
from fanfold.store.files.bucket import Bucket
from tests.installation import HandClock, Installation
from tests.s3_server import S3Server, failing
from tests.server.asking import Asker

copying = ff.Pipeline("copying")


@copying.split
def cut(task: ff.TaskWork) -> Any:
    """One item with a large input for each letter of the file, which is read by its path."""
    yield from ({"letter": letter, "long": letter * 3_000} for letter in task.input.path.read_text())


@copying.each
def double(item: ff.ItemWork[Any, Any]) -> Any:
    """A file and a large value."""
    letter = item.input["letter"]
    return {"file": item.write(f"{letter}.txt", letter * 2), "long": item.input["long"]}


@copying.merge
def bind(task: ff.TaskWork, results: ff.Results) -> ff.File:
    """All files in one, each read by its path."""
    return task.write("all.md", "".join(one.output["file"].path.read_text() for one in results))


Place = Callable[..., Installation]


@pytest.fixture
def place(s3: S3Server) -> Iterator[Place]:
    """Makes installations: database, data folder, address of the files."""
    with ExitStack() as opened:

        def made(url: str, folder: Path, address: str, clock: HandClock | None = None, **settings: Any) -> Installation:
            found = Installation(url, folder, clock, files=address, inline_bytes=1_000, **settings)
            opened.callback(found.store.close)
            found.know(copying)
            return found

        yield made


def submitted(installation: Installation, folder: Path) -> str:
    source = folder / "source.txt"
    source.write_text("abc")
    return installation.client.submit(copying, source).id


def test_no_machine_needs_the_folder_of_another(place: Place, s3: S3Server, database_url: str, tmp_path: Path) -> None:
    address = s3.address(uuid4().hex)
    one, two = (place(database_url, tmp_path / name, address) for name in ("one", "two"))
    task = submitted(one, tmp_path)
    two.work()
    result = one.client.result(task)
    assert result.read_text() == "aabbcc"
    assert one.blobs() == two.blobs() == []
    assert result.where.startswith(f"s3://fanfold-tests/{one.store.shelf.home.s3.prefix}/blobs/{task}/")  # type: ignore[attr-defined]
    assert not list(two.store.scratch.glob("t-*")), "copies end with their attempt"
    keys = [found.key for found in one.store.shelf.home.listed()]
    [item] = one.sql("SELECT id FROM items WHERE stage = 'double' AND seq = 1")
    assert [key for key in keys if key.endswith("-a.txt") and key.startswith(f"{task}/{item.id}-1-")]
    one.client.delete(task)
    one.sweep()
    assert list(one.store.shelf.home.listed()) == []


def test_a_file_is_there_before_its_row_and_goes_if_the_lease_is_lost(
    place: Place, s3: S3Server, sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = place(sqlite_url, tmp_path / "data", s3.address(uuid4().hex))
    task = submitted(here, tmp_path)
    here.work()
    keys = {one.key for one in here.store.shelf.home.listed()}
    assert keys == {row[0] for row in here.sql("SELECT key FROM blobs")}
    again = here.client.rerun(task)
    worker = here.worker()
    [claimed] = worker.claim(1)
    with here.store.read() as tx:
        row = tx.tasks.get(claimed.task)
    assert row is not None
    work = ff.TaskWork(here.store, row, claimed._replace(lease=claimed.lease + 1))
    with pytest.raises(LeaseLost):
        work.write("late.txt", "zombie")
    assert not [one.key for one in here.store.shelf.home.listed() if "late" in one.key], again.id


def test_the_sweep_removes_old_orphans_bit_by_bit_and_never_a_young_one(
    place: Place, s3: S3Server, sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = place(sqlite_url, tmp_path / "data", s3.address(uuid4().hex), stale_hours=1.0)
    task = submitted(here, tmp_path)
    home = here.store.shelf.home
    for number in range(5):
        here.store.keep("t-gone", f"{number}.txt", b"x")
    before = {one.key for one in home.listed()}
    here.sweep()
    assert {one.key for one in home.listed()} == before
    monkeypatch.setattr(Bucket, "now", lambda self: time.time() + 7_200)
    home.listed_at_once = 2
    left = []
    for _ in range(4):
        sweep.clean_blobs(here.store)
        left.append(sum(1 for one in home.listed() if one.key.startswith("t-gone")))
    assert left[0] >= 3, "a cleanup lists no more than it may"
    assert left[-1] == 0
    assert [one.key for one in home.listed() if one.key.startswith(task)]


def test_a_wrong_clock_of_a_worker_removes_nothing(
    place: Place, s3: S3Server, sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = place(sqlite_url, tmp_path / "data", s3.address(uuid4().hex))
    here.store.keep("t-gone", "young.txt", b"x")
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 90_000)
    sweep.clean_blobs(here.store)
    assert len(list(here.store.shelf.home.listed())) == 1


def test_the_files_of_another_database_in_the_same_bucket_stay(
    place: Place, s3: S3Server, sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = s3.address(uuid4().hex)
    here = place(sqlite_url, tmp_path / "data", address)
    here.store.shelf.home.mark("another", "postgresql://elsewhere/db")
    here.store.keep("t-foreign", "x.txt", b"x")
    monkeypatch.setattr(Bucket, "now", lambda self: time.time() + 90_000)
    sweep.clean_blobs(here.store)
    assert len(list(here.store.shelf.home.listed())) == 1


def test_an_installation_moves_to_a_bucket_while_it_runs(
    place: Place, s3: S3Server, database_url: str, tmp_path: Path
) -> None:
    address, data = s3.address(uuid4().hex), tmp_path / "data"
    old = place(database_url, data, "")
    with pytest.raises(BadInput, match="No bucket to move the files to"):
        move_files(old.store)
    first = submitted(old, tmp_path)
    old.work()
    whole, half = old.blobs()[:2]
    old.store.keep("t-nobody", "x.txt", b"x")
    new = place(database_url, data, address)
    bucket = new.store.shelf.home
    assert isinstance(bucket, Bucket)
    # An earlier move was killed after one file, and in the middle of another.
    bucket.replace(whole, BytesIO((data / "blobs" / whole).read_bytes()), "whole")
    bucket.put(half, BytesIO(b"taken"))
    assert new.client.result(first).read_text() == "aabbcc"
    second = submitted(new, tmp_path)
    old.work()  # Reads the files of the second task from the bucket that the database knows.
    assert old.client.result(second).read_text() == new.client.result(second).read_text() == "aabbcc"
    told = new.client.move_files()
    assert (told.present, told.unreferenced, told.removed) == (1, 1, 0)
    assert new.client.move_files().copied == 0, "a second move finds everything there"
    removed = new.client.move_files(remove=True)
    assert removed.removed == removed.present == told.copied + told.present
    assert [one.partition("/")[0] for one in old.blobs()] == ["t-nobody"]
    for installation in (old, new):
        assert installation.client.result(first).read_text() == "aabbcc"
        assert installation.client.result(second).read_text() == "aabbcc"


def test_a_worker_waits_for_a_bucket_that_is_away_and_goes_on_by_itself(
    place: Place, s3: S3Server, sqlite_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    state = {"fault": ""}
    with failing(s3.endpoint, lambda method, path: state["fault"] or None) as endpoint:
        here = place(sqlite_url, tmp_path / "data", s3.address(uuid4().hex, endpoint))
        task = submitted(here, tmp_path)
        state["fault"] = "reset"

        def come_back() -> bool:
            if "Not claiming any more items: The bucket of the files" in caplog.text:
                state["fault"] = ""
            return here.client.get(task).state == "completed"

        Worker([copying], store=here.store).run(until=come_back, seconds=100)
        assert here.client.get(task).state == "completed"
    assert "Resuming after" in caplog.text
    [item] = here.client.items(task, stage="cut", limit=1)
    assert item.failures == 0


@pytest.mark.parametrize("fault", ["unconditional", "501"])
def test_a_worker_refuses_a_service_that_knows_no_conditions(
    place: Place, s3: S3Server, sqlite_url: str, tmp_path: Path, fault: str
) -> None:
    """It ends: a service that answers "not implemented" will not learn it while the worker waits."""
    with failing(s3.endpoint, lambda method, path: fault if method == "PUT" else None) as endpoint:
        here = place(sqlite_url, tmp_path / "data", s3.address(uuid4().hex, endpoint))
        with pytest.raises(DatabaseProblem, match="does not support If-None-Match"):
            Worker([copying], store=here.store).run(drain=True)


def test_no_result_is_made_of_half_a_file(
    place: Place, s3: S3Server, database_url: str, tmp_path: Path, clock: HandClock
) -> None:
    """What something on the way has cut off has the headers of a whole file. The row knows the size."""
    lying = [True]

    def lie(method: str, path: str) -> str | None:
        return "short" if lying and method == "GET" and "source.txt" in path else None

    with failing(s3.endpoint, lie) as endpoint:
        here = place(database_url, tmp_path / "data", s3.address(uuid4().hex, endpoint), clock=clock)
        task = submitted(here, tmp_path)
        here.work()
        [item] = here.client.items(task, stage="cut", limit=1)
        assert (item.state, item.error_code) == ("retrying", "file_damaged")
        assert list(here.client.items(task, stage="double")) == [], "nothing was split from half a file"
        lying.clear()
        clock.advance(100)
        here.work()
        assert here.client.result(task).read_text() == "aabbcc"


def test_the_doctor_looks_at_the_bucket(place: Place, s3: S3Server, sqlite_url: str, tmp_path: Path) -> None:
    old = place(sqlite_url, tmp_path / "data", "")
    submitted(old, tmp_path)
    new = place(sqlite_url, tmp_path / "data", s3.address(uuid4().hex))
    found = {check.name: check for check in stalled.bucket(new.store)}
    assert (found["files"].status, found["bucket clock"].status, found["files to move"].status) == (
        "ok",
        "ok",
        "warning",
    )
    assert [check.status for check in stalled.bucket(old.store)] == ["warning"]
    away = place(sqlite_url, tmp_path / "data", f"s3://nowhere-at-all?endpoint={s3.endpoint}")
    [check] = stalled.bucket(away.store)
    assert (check.status, "there is no bucket" in check.fact) == ("problem", True)


def test_a_server_streams_ranges_or_redirects_to_the_bucket(
    place: Place, s3: S3Server, sqlite_url: str, tmp_path: Path
) -> None:
    address = s3.address(uuid4().hex)
    here = place(sqlite_url, tmp_path / "data", address)
    task = submitted(here, tmp_path)
    here.work()
    path = f"/tasks/{task}/result"
    asker = Asker(here)
    with asker.client:
        whole = asker.ask("GET", path)
        assert (whole.status_code, whole.text, whole.headers["content-length"]) == (200, "aabbcc", "6")
        assert whole.headers["content-type"] == "text/markdown; charset=utf-8"
        assert 'filename="all.md"' in whole.headers["content-disposition"]
        part = asker.ask("GET", path, headers={"Range": "bytes=2-3"})
        assert (part.status_code, part.text) == (206, "bb")
        assert asker.ask("GET", path, headers={"Range": "bytes=9-"}).status_code == 416
        assert asker.ask("GET", path, headers={"If-None-Match": whole.headers["etag"]}).status_code == 304
        assert asker.ask("HEAD", path).headers["content-length"] == "6"
    linked = place(sqlite_url, tmp_path / "data", address, file_links="presigned")
    asker = Asker(linked)
    with asker.client:
        answer = asker.ask("GET", path, follow_redirects=False)
        assert answer.status_code == 307
        assert "X-Amz-Signature" in answer.headers["location"]
        assert asker.ask("HEAD", path).headers["content-length"] == "6"


def test_no_database_row_holds_credentials(place: Place, s3: S3Server, sqlite_url: str, tmp_path: Path) -> None:
    here = place(sqlite_url, tmp_path / "data", s3.address(uuid4().hex))
    submitted(here, tmp_path)
    here.work()
    text = repr(here.rows()) + repr(here.store.shelf.home.marks())
    assert "testing-secret" not in text
    assert "testing-key-id" not in text
    assert here.store.shelf.home.address in repr(here.rows())
