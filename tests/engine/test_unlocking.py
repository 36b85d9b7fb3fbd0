"""A password is used at once, at submit and at retry, and stored nowhere."""

from copy import copy
from io import BytesIO
from pathlib import Path

import pytest

import fanfold as ff
from fanfold.engine.tasks.submitting import unlock as unlocking
from fanfold.errors import DatabaseProblem, KeyReused
from tests.engine.sealed import seal, sealed
from tests.installation import Installation

pytestmark = pytest.mark.one_database

PASSWORD = "open-sesame-7531"


@pytest.fixture
def locked(tmp_path: Path) -> Path:
    """A file that opens with the password."""
    return seal(tmp_path / "book.txt", PASSWORD, "one two")


def found_in(installation: Installation, secret: str = PASSWORD) -> list[str]:
    """Where the secret is found: tables, and any file of the data folder."""
    rows = [name for name, rows in installation.rows().items() if secret in str(rows)]
    files = [path for path in installation.store.settings.data_folder.rglob("*") if path.is_file()]
    return rows + [str(path) for path in files if secret.encode() in path.read_bytes()]


def failed(installation: Installation, locked: Path, **more: object) -> ff.Task:
    """A task that failed for lack of a password."""
    task = installation.client.submit(installation.know(sealed), locked, **more)  # type: ignore[arg-type]
    installation.work()
    assert installation.client.items(task.id)[0].error_code == "encrypted"
    return installation.client.get(task.id)


@pytest.mark.parametrize("given", ["path", "bytes", "stream"])
def test_a_file_with_its_password_is_kept_unlocked_and_the_password_nowhere(
    installation: Installation, locked: Path, given: str
) -> None:
    data = locked.read_bytes()
    file = {"path": locked, "bytes": ff.Upload("book.txt", data), "stream": ff.Upload("book.txt", BytesIO(data))}[given]
    task = installation.client.submit(installation.know(sealed), file, options={"password": PASSWORD, "times": 2})
    installation.work()
    assert installation.client.result(task.id) == "ONE TWO ONE TWO"
    done = installation.client.get(task.id)
    assert (done.options, done.title) == ({"times": 2}, "book.txt")
    assert found_in(installation) == []
    assert not list(installation.store.scratch.iterdir())


def test_a_wrong_password_is_refused_before_there_is_a_task(installation: Installation, locked: Path) -> None:
    with pytest.raises(ff.BadOption, match=r"does not open book\.txt") as caught:
        installation.client.submit(installation.know(sealed), locked, options={"password": "wrong-one-99"})
    assert (caught.value.field, caught.value.code) == ("password", "wrong_password")
    assert installation.client.list() == []
    assert found_in(installation, "wrong-one-99") == []
    assert not list(installation.store.scratch.iterdir())


def test_a_task_that_lacked_its_password_is_retried_with_it(installation: Installation, locked: Path) -> None:
    task = failed(installation, locked)
    again = installation.client.retry(task.id, options={"password": PASSWORD})
    assert again.state == "active"
    installation.work()
    assert installation.client.result(task.id) == "ONE TWO"
    assert installation.client.get(task.id).inputs[0].name == "book.txt"
    assert found_in(installation) == []
    assert installation.client.item(task.id, "1", "lines").options == {}


def test_a_worker_that_knows_the_task_takes_the_unlocked_copy(installation: Installation, locked: Path) -> None:
    installation.know(sealed)
    worker = installation.worker()
    task = installation.client.submit(sealed, locked)
    worker.run()
    installation.client.retry(task.id, options={"password": PASSWORD})
    worker.run()
    assert installation.client.get(task.id).state == "completed"


def test_a_wrong_password_at_a_retry_changes_nothing(installation: Installation, locked: Path) -> None:
    task = failed(installation, locked)
    before = installation.rows()
    with pytest.raises(ff.BadOption, match=r"does not open book\.txt"):
        installation.client.retry(task.id, options={"password": "wrong-one-99"})
    assert installation.rows() == before
    assert found_in(installation, "wrong-one-99") == []
    installation.client.retry(task.id, options={"password": PASSWORD})
    installation.work()
    assert installation.client.get(task.id).state == "completed"


def test_a_retry_that_is_refused_leaves_no_copy(installation: Installation, tmp_path: Path) -> None:
    file = tmp_path / "plain.txt"
    file.write_text("one bad")
    task = installation.client.submit(installation.know(sealed), file)
    installation.work()
    assert installation.client.get(task.id).failed == 1
    blobs = sorted(installation.store.settings.data_folder.rglob("*.txt"))
    with pytest.raises(ff.IllegalMove, match="has already read its input"):
        installation.client.retry(task.id, options={"password": PASSWORD})
    assert sorted(installation.store.settings.data_folder.rglob("*.txt")) == blobs


def test_a_copy_that_the_task_has_taken_survives_an_error_behind_the_commit(
    installation: Installation, locked: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = failed(installation, locked)

    def broken(*_: object) -> None:
        raise DatabaseProblem("gone", code="unreachable")

    monkeypatch.setattr("fanfold.engine.tasks.steering.commands.remove_retired", broken)
    with pytest.raises(DatabaseProblem):
        installation.client.retry(task.id, options={"password": PASSWORD})
    installation.work()
    assert installation.client.result(task.id) == "ONE TWO"


def test_the_same_key_finds_the_task_of_the_same_locked_file(installation: Installation, locked: Path) -> None:
    installation.know(sealed)
    first = installation.client.submit(sealed, locked, key="book", options={"password": PASSWORD})
    assert installation.client.submit(sealed, locked, key="book", options={"password": PASSWORD}).id == first.id
    assert installation.client.submit(sealed, locked, key="book").id == first.id
    with pytest.raises(KeyReused):
        installation.client.submit(sealed, seal(locked, PASSWORD, "other"), key="book", options={"password": PASSWORD})


@pytest.mark.parametrize(
    ("text", "said"),
    [("slow", "cannot be opened here"), ("deadly", "exit code 3"), ("odd", "RuntimeError"), ("nothing", "no copy")],
)
def test_code_that_hangs_or_quotes_the_password_is_refused_without_it(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.setattr(unlocking, "SECONDS", 20.0 if text == "slow" else 60.0)
    file = tmp_path / "odd.txt"
    file.write_text(text)
    with pytest.raises(ff.BadOption, match=said) as caught:
        installation.client.submit(installation.know(sealed), file, options={"password": PASSWORD})
    assert PASSWORD not in str(caught.value)
    assert installation.client.list() == []


def test_a_password_is_for_a_file_and_is_text(installation: Installation, locked: Path) -> None:
    installation.know(sealed)
    anything = copy(sealed)
    anything.accepts = ()
    with pytest.raises(ff.BadOption, match="is for a file"):
        installation.client.submit(anything, 5, options={"password": PASSWORD})
    with pytest.raises(ff.BadOption, match="must be text"):
        installation.client.submit(sealed, locked, options={"password": [PASSWORD]})
    assert installation.client.submit(sealed, locked, options={"password": ""}).options == {}


def test_options_are_checked_before_anything_is_begun(installation: Installation, locked: Path) -> None:
    task = failed(installation, locked)
    for wrong in ({"times": 10}, {"tims": 2}, {"times": 10, "password": PASSWORD}):
        with pytest.raises(ff.BadOption):
            installation.client.submit(sealed, locked, options=wrong)
        with pytest.raises(ff.BadOption):
            installation.client.retry(task.id, options=wrong)
    assert [one.id for one in installation.client.list()] == [task.id]
    assert installation.client.get(task.id).state == "failed"


def test_a_password_for_a_task_that_cannot_be_retried_is_refused_without_unlocking(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "plain.txt"
    file.write_text("one")
    task = installation.client.submit(installation.know(sealed), file)
    installation.work()
    monkeypatch.setattr(unlocking, "_apply", lambda *_: pytest.fail("a file was unlocked"))
    with pytest.raises(ff.IllegalMove, match="none of its items has failed"):
        installation.client.retry(task.id, options={"password": PASSWORD})
