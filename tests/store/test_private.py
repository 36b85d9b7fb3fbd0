"""No other account can read what is stored: files are 0600 and folders 0700, whatever the umask."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import fanfold as ff
from fanfold.engine.tasks.many_items.new_items import NewItems
from fanfold.settings import Settings
from fanfold.store.files.private import private_folder
from fanfold.store.store import Store
from tests.installation import Installation

book = ff.Pipeline("book")


@book.split
def pages(task: ff.TaskWork) -> list[ff.NewItem]:
    """One page, with a large input, and a file beside."""
    (task.scratch / "note.txt").write_text("x")
    assert mode(task.scratch) == 0o700
    return [ff.NewItem(key="1", input="x" * 2_000)]


@book.each
def page(item: ff.ItemWork) -> dict[str, object]:
    """A file and a large text."""
    return {"file": item.write("page.md", "secret"), "text": "y" * 2_000}


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    """The usual umask, under which new files can be read by everybody."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_everything_that_is_kept_is_private(tmp_path: Path) -> None:
    data = tmp_path / "some" / "data"
    here = Installation(f"sqlite:///{data / 'fanfold.db'}", data, None, inline_bytes=1_000)
    here.know(book)
    here.client.submit(book)
    here.work()
    found = [data, *data.rglob("*")]
    assert {path.name for path in found} >= {"fanfold.db", "fanfold.db-wal", "fanfold.db-shm", "blobs"}
    for path in found:
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path
    assert mode(data.parent) == 0o700
    here.store.close()


def test_a_folder_that_is_there_is_left_as_it_is(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir(0o755)
    private_folder(shared / "a" / "b")
    private_folder(shared / "a" / "b")
    assert [mode(path) for path in (shared, shared / "a", shared / "a" / "b")] == [0o755, 0o700, 0o700]


def test_a_spool_of_many_items_is_private(tmp_path: Path) -> None:
    new_items = NewItems(tmp_path / "scratch" / "split.jsonl").fill(range(20_000), lambda _, text: text, 1_000)
    assert not new_items.fits_one_chunk
    assert mode(new_items.path) == 0o600
    assert mode(new_items.path.parent) == 0o700


def test_a_database_that_others_could_read_is_tightened_when_it_is_opened(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(database=f"sqlite:///{tmp_path / 'fanfold.db'}", data=str(tmp_path / "data"))
    Store.open(settings).close()
    (tmp_path / "fanfold.db").chmod(0o644)
    store = Store.open(settings)
    try:
        assert {mode(path) for path in tmp_path.glob("fanfold.db*")} == {0o600}
        assert "could be read by other accounts (644)" in caplog.text
    finally:
        store.close()
