"""Errors of the data folder are distinguished from errors of the data to be stored."""

import errno
import io
from pathlib import Path

import pytest

from fanfold.errors import DatabaseProblem
from fanfold.store.files.folder import Directory


class Broken(io.BytesIO):
    """A source that fails half-way, as a file on a disk that is going bad."""

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() > 0:
            raise OSError(errno.EIO, "Input/output error", "book.pdf")
        return super().read(3)


def test_a_source_that_cannot_be_read_is_no_trouble_of_the_data_folder(tmp_path: Path) -> None:
    """Otherwise the item would wait for the data folder forever, and a person would search for the problem there."""
    with pytest.raises(OSError, match=r"Input/output error: 'book\.pdf'"):
        Directory(tmp_path).put("t-1/book.pdf", Broken(b"whole book"))
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_data_folder_that_cannot_be_written_to_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "t-1").write_text("a file where a folder should be")
    with pytest.raises(DatabaseProblem, match="Cannot write to the data folder") as caught:
        Directory(tmp_path).put("t-1/book.pdf", io.BytesIO(b"whole book"))
    assert caught.value.code == "data_folder"


def test_all_of_a_large_source_is_kept(tmp_path: Path) -> None:
    whole = bytes(range(256)) * 20_000
    assert Directory(tmp_path).put("t-1/book.pdf", io.BytesIO(whole)) == len(whole)
    assert (tmp_path / "t-1" / "book.pdf").read_bytes() == whole
