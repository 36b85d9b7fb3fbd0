"""A machine that is short of files or space is distinguished from work that failed."""

import errno
import os
import tempfile
from pathlib import Path

import pytest

from fanfold.model.shortage import FREE_SPACE, MAKE_FOLDER, MORE_FILES, shortage, told


def wrapped(error: BaseException, *, explicit: bool) -> BaseException:
    """The error inside one of a library's own."""
    try:
        try:
            raise error
        except BaseException as cause:
            if explicit:
                raise RuntimeError("could not connect") from cause
            raise RuntimeError("could not connect")  # noqa: B904
    except RuntimeError as outer:
        return outer


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.EMFILE, MORE_FILES),
        (errno.ENFILE, MORE_FILES),
        (errno.ENOSPC, FREE_SPACE),
        (errno.EDQUOT, FREE_SPACE),
        (errno.ENOENT, None),
        (errno.ECONNREFUSED, None),
        (errno.EACCES, None),
    ],
)
def test_only_errors_about_files_and_space_are_a_shortage(number: int, advice: str | None) -> None:
    error = OSError(number, os.strerror(number), "/some/file")
    assert shortage(error) == advice
    assert shortage(wrapped(error, explicit=True)) == advice
    assert shortage(wrapped(error, explicit=False)) == advice
    assert shortage(ExceptionGroup("both", [ValueError("x"), error])) == advice
    assert shortage(ConnectionError(error)) == advice
    assert shortage(RuntimeError(f"cannot read: some text (os error {number})")) == advice


def test_an_error_that_was_put_aside_on_purpose_is_no_cause() -> None:
    with pytest.raises(ValueError, match="a wrong number") as caught:
        set_aside(OSError(errno.ENOSPC, "No space left on device"))
    assert shortage(caught.value) is None


def set_aside(error: OSError) -> None:
    try:
        raise error
    except OSError:
        raise ValueError("a wrong number") from None


def test_a_library_that_could_not_be_loaded_for_want_of_files_is_a_shortage() -> None:
    assert shortage(ImportError("libx.so: cannot open shared object file: Too many open files")) == MORE_FILES
    assert shortage(ImportError("libx.so: cannot open shared object file: No such file or directory")) is None


def test_causes_that_go_round_in_a_circle_come_to_an_end() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert shortage(first) is None
    deep: BaseException = OSError(errno.ENOSPC, "full")
    for _ in range(40):
        outer = ValueError("around it")
        outer.__cause__, deep = deep, outer
    assert shortage(deep) is None


def test_a_temporary_folder_that_is_gone_is_a_shortage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    monkeypatch.setattr(tempfile, "tempdir", str(gone))
    with pytest.raises(FileNotFoundError) as caught:
        tempfile.mkstemp()
    assert shortage(caught.value) == MAKE_FOLDER
    with pytest.raises(FileNotFoundError) as caught:
        (gone / "page.txt").write_text("x")
    assert shortage(caught.value) == MAKE_FOLDER
    with pytest.raises(FileNotFoundError) as caught:
        (tmp_path / "gone-too" / "page.txt").write_text("x")
    assert shortage(caught.value) is None, "a file elsewhere is missed by its handler only"
    gone.mkdir()
    with pytest.raises(FileNotFoundError) as caught:
        (gone / "page.txt").read_text()
    assert shortage(caught.value) is None, "the folder is there; the file is not"


def test_no_usable_temporary_folder_is_a_shortage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc/no-such-folder"])
    with pytest.raises(FileNotFoundError) as caught:
        tempfile.gettempdir()
    assert shortage(caught.value) == MAKE_FOLDER


def test_a_shortage_is_told_with_the_way_out() -> None:
    error = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    assert told(error) == f"[Errno {errno.EMFILE}] Too many open files. {MORE_FILES}"
    assert told(ValueError("x")) is None
