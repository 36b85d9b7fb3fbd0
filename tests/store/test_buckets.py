"""Files in a bucket, against a real S3 service: created only once, complete or an error, and no credentials anywhere."""

import io
import os
import pickle
import subprocess
import sys
import traceback
import urllib.request
from collections import Counter
from pathlib import Path
from uuid import uuid4

import pytest

from fanfold.errors import BadInput, DatabaseProblem
from fanfold.settings import Settings
from fanfold.store.files import bucket_reader, local_copies
from fanfold.store.files.address import parse
from fanfold.store.files.bucket import PART_BYTES, Bucket
from fanfold.store.files.file_store import BlobDamaged, BlobGone, new_key
from fanfold.store.files.folder import Directory
from fanfold.store.files.local_copies import LocalCopies
from fanfold.store.files.places import Places
from tests.s3_server import CREDENTIALS, S3Server, failing


def bucket(s3: S3Server, tmp_path: Path, endpoint: str | None = None, prefix: str = "") -> Bucket:
    copies = LocalCopies(tmp_path / "copies", 10_000_000)
    return Bucket(parse(s3.address(prefix or uuid4().hex, endpoint)), copies)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("s3://user:hunter2@bucket/prefix", "contains credentials"),
        ("s3://bucket/p?access_key_id=hunter2", "contains credentials"),
        ("s3://bucket/p?endpoint=http://user:hunter2@host", "contains credentials"),
        ("s3://bucket/p?endpoint=http://host?token=hunter2", "contains credentials"),
        ("https://hunter2.example/bucket", "is not one of a bucket"),
        ("s3://", "is not one of a bucket"),
        ("s3://bucket?speed=hunter2", "unknown parts: speed"),
        ("s3://bucket?endpoint=hunter2", "endpoint"),
    ],
)
def test_an_address_with_a_secret_or_a_mistake_is_refused_without_quoting_it(address: str, said: str) -> None:
    with pytest.raises(BadInput, match=said) as problem:
        parse(address)
    assert "hunter2" not in str(problem.value)


def test_an_address_is_shown_as_it_was_written() -> None:
    address = "s3://bucket/some/prefix?endpoint=http://host:9000&region=eu-central-1"
    assert str(parse(address)) == address
    assert parse("s3://bucket").place == "s3://bucket"


def test_a_key_names_the_attempt_that_wrote_it() -> None:
    task, attempt = new_key("t-1", "a page.md", 17, 3).split("/")
    assert (task, attempt[:5], attempt[-10:]) == ("t-1", "17-3-", "-a_page.md")
    assert new_key("t-1", "x", 17, 3) != new_key("t-1", "x", 17, 3)


def test_a_bucket_keeps_small_and_large_files(s3: S3Server, tmp_path: Path) -> None:
    place = bucket(s3, tmp_path)
    large = os.urandom(PART_BYTES) + b"end"
    contents = {"t-1/empty": b"", "t-1/small.md": b"small", "t-2/large": large}
    for key, content in contents.items():
        assert place.put(key, io.BytesIO(content), key) == len(content)
    assert [(one.key, one.size) for one in place.listed()] == [(key, len(content)) for key, content in contents.items()]
    assert [one.key for one in place.listed("t-1/small.md")] == ["t-2/large"]
    for key, content in contents.items():
        with place.open(key) as source:
            assert source.read() == content
    with place.open("t-2/large") as source:
        source.seek(-3, io.SEEK_END)
        assert source.read() == b"end"
        source.seek(5)
        assert source.read(4) == large[5:9]
    place.delete(["t-1/empty", "t-1/small.md", "t-9/never"])
    assert [one.key for one in place.listed()] == ["t-2/large"]
    with pytest.raises(BlobGone, match="t-1/empty"):
        place.open("t-1/empty")


@pytest.mark.parametrize("size", [5, PART_BYTES])
def test_a_key_is_written_only_once(s3: S3Server, tmp_path: Path, size: int) -> None:
    place = bucket(s3, tmp_path)
    place.put("t-1/result", io.BytesIO(b"a" * size))
    with pytest.raises(DatabaseProblem, match="nothing was overwritten"):
        place.put("t-1/result", io.BytesIO(b"b" * size))
    with place.open("t-1/result") as source:
        assert source.read(1) == b"a"


def test_a_service_that_ignores_conditions_is_refused(s3: S3Server, tmp_path: Path) -> None:
    place = bucket(s3, tmp_path, prefix="unsafe")
    refused = pytest.raises(DatabaseProblem, match="leave FANFOLD_FILES empty")
    with failing(s3.endpoint, lambda method, path: "unconditional") as endpoint, refused as problem:
        bucket(s3, tmp_path, endpoint).mark("db", "sqlite:///x")
    assert problem.value.code == "files_unsafe"
    place.mark("db", "sqlite:///x")
    place.mark("db", "sqlite:///x")
    assert place.marks() == {"db": "sqlite:///x"}


def test_errors_and_cut_answers_of_the_service_are_overcome(s3: S3Server, tmp_path: Path) -> None:
    faults = {"PUT": ["500", "503"], "GET": ["cut", "503", "reset", "cut"], "HEAD": ["500"]}

    def fault(method: str, path: str) -> str | None:
        return faults[method].pop(0) if faults.get(method) else None

    content = os.urandom(1_000_000)
    with failing(s3.endpoint, fault) as endpoint:
        place = bucket(s3, tmp_path, endpoint)
        place.put("t-1/x", io.BytesIO(content))
        with place.open("t-1/x") as source:
            assert source.read() == content
        assert place.size("t-1/x") == len(content)
    assert faults == {"PUT": [], "GET": [], "HEAD": []}


def test_an_answer_that_is_short_but_consistent_is_read_again_and_never_kept(s3: S3Server, tmp_path: Path) -> None:
    content, faults = os.urandom(100_000), ["short"]

    def fault(method: str, path: str) -> str | None:
        return faults.pop() if method == "GET" and faults else None

    with failing(s3.endpoint, fault) as endpoint:
        place = bucket(s3, tmp_path, endpoint)
        place.put("t-1/x", io.BytesIO(content))
        with place.open("t-1/x", len(content)) as source:
            assert source.read() == content
        assert faults == []
        faults[:] = ["short"] * 100
        for act in (lambda: place.open("t-1/x", len(content)), lambda: place.path("t-1/x", len(content))):
            with pytest.raises(BlobDamaged, match="has 50000 bytes, but 100000 were written"):
                act()
        faults.clear()
        assert place.path("t-1/x", len(content)).read_bytes() == content


def test_a_file_is_not_empty_because_something_before_the_service_says_so(s3: S3Server, tmp_path: Path) -> None:
    faults = {"GET": "500", "HEAD": "empty"}
    with failing(s3.endpoint, lambda method, path: faults.get(method)) as endpoint:
        place = bucket(s3, tmp_path, endpoint)
        place.put("t-1/x", io.BytesIO(b"content"))
        with pytest.raises(DatabaseProblem, match="500") as problem:
            place.open("t-1/x", len(b"content"))
    assert problem.value.code == "files_unreachable"


def test_a_file_in_the_folder_that_was_cut_is_an_error(tmp_path: Path) -> None:
    place = Directory(tmp_path)
    place.put("t-1/x", io.BytesIO(b"whole"))
    place.path("t-1/x").write_bytes(b"ha")
    with pytest.raises(BlobDamaged, match="has 2 bytes, but 5 were written"):
        place.open("t-1/x", 5)


def test_an_upload_whose_answer_got_lost_counts(s3: S3Server, tmp_path: Path) -> None:
    place, seen = bucket(s3, tmp_path), Counter[str]()
    place.put("t-1/x", io.BytesIO(b"content"))
    place.put("t-1/x", io.BytesIO(b"content"))  # The same bytes under the same key: an earlier try got through.

    def fault(method: str, path: str) -> str | None:
        seen[method] += 1
        return "cut" if method == "GET" else None

    with failing(s3.endpoint, fault) as endpoint:
        cut = bucket(s3, tmp_path, endpoint, place.s3.prefix)
        with pytest.raises(DatabaseProblem, match="does not answer as it should") as problem:
            cut.open("t-1/x")
    assert problem.value.code == "files_unreachable"


def test_requests_that_were_done_though_their_answers_got_lost_count(s3: S3Server, tmp_path: Path) -> None:
    """Among them the last request of an upload in parts: its repetition finds no upload any more."""
    lost: set[str] = set()

    def fault(method: str, path: str) -> str | None:
        kind = f"{method} {'uploadId' in path}"
        if method in ("GET", "HEAD") or kind in lost:
            return None
        lost.add(kind)
        return "forgotten" if kind == "POST True" else "lost"

    small, large = b"small", os.urandom(PART_BYTES + 1)
    with failing(s3.endpoint, fault) as endpoint:
        place = bucket(s3, tmp_path, endpoint)
        for key, content in (("t-1/small", small), ("t-1/large", large)):
            assert place.put(key, io.BytesIO(content)) == len(content)
            with place.open(key) as source:
                assert source.read() == content
    assert lost >= {"PUT False", "POST False", "PUT True", "POST True"}


@pytest.mark.parametrize("size", [10, PART_BYTES + 1])
def test_a_page_of_something_before_the_service_is_not_taken_for_its_answer(
    s3: S3Server, tmp_path: Path, size: int
) -> None:
    """A 404 of a load balancer means that the bucket is away: items wait. It does not mean that a file is gone."""
    place = bucket(s3, tmp_path)
    place.put("t-1/there", io.BytesIO(bytes(size)))
    with failing(s3.endpoint, lambda method, path: None if method == "HEAD" else "404") as endpoint:
        away = bucket(s3, tmp_path, endpoint, place.s3.prefix)
        for act in (lambda: away.put("t-1/new", io.BytesIO(bytes(size))), lambda: away.open("t-1/there").read()):
            with pytest.raises(DatabaseProblem, match="404") as problem:
                act()
            assert problem.value.code == "files_unreachable"


AFTER_FORK = r"""
import io, os, signal, sys
from pathlib import Path
from fanfold.errors import BadInput
from fanfold.store.files.address import parse
from fanfold.store.files.bucket import Bucket
from fanfold.store.files.local_copies import LocalCopies

place = Bucket(parse(sys.argv[1]), LocalCopies(Path(sys.argv[2]), 1))
place.put("t-1/x", io.BytesIO(b"x"))
if (child := os.fork()) == 0:
    signal.alarm(30)
    try:
        place.open("t-1/x")
    except BadInput as problem:
        print(problem, flush=True)
        os._exit(7)
    os._exit(1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert place.open("t-1/x").read() == b"x"
"""


def test_a_forked_process_refuses_the_files_instead_of_hanging(s3: S3Server, tmp_path: Path) -> None:
    """The client has threads of its own, which a fork does not copy: its requests would never end."""
    command = [sys.executable, "-c", AFTER_FORK, s3.address(uuid4().hex), str(tmp_path)]
    surroundings = {**os.environ, **CREDENTIALS}
    done = subprocess.run(command, capture_output=True, text=True, env=surroundings, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "fork" in done.stdout


@pytest.mark.parametrize("status", ["403", "500"])
def test_problems_name_neither_credentials_nor_their_ids(s3: S3Server, tmp_path: Path, status: str) -> None:
    """Not even in the traceback, which is stored with a failed attempt: services quote the key id in their refusals."""
    with failing(s3.endpoint, lambda method, path: status) as endpoint, pytest.raises(DatabaseProblem) as problem:
        bucket(s3, tmp_path, endpoint).put("t-1/x", io.BytesIO(b"x"))
    place = bucket(s3, tmp_path)
    told = ["".join(traceback.format_exception(problem.value)), repr(place), repr(vars(place))]
    assert (problem.value.__cause__, problem.value.__context__) == (None, None)
    told.append(repr(pickle.dumps(place)))
    for secret in (CREDENTIALS["AWS_ACCESS_KEY_ID"], CREDENTIALS["AWS_SECRET_ACCESS_KEY"]):
        assert not [text for text in told if secret in text]


def test_a_missing_bucket_is_named(s3: S3Server, tmp_path: Path) -> None:
    place = Bucket(parse(f"s3://nowhere-at-all?endpoint={s3.endpoint}"), LocalCopies(tmp_path, 1))
    with pytest.raises(DatabaseProblem, match="there is no bucket nowhere-at-all") as problem:
        place.put("t-1/x", io.BytesIO(b"x"))
    assert problem.value.code == "files_refused"


def test_an_unreadable_source_is_not_the_fault_of_the_bucket(s3: S3Server, tmp_path: Path) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() >= PART_BYTES:
                raise OSError(5, "Input/output error")
            return super().read(size)

    place = bucket(s3, tmp_path)
    with pytest.raises(OSError, match="Input/output error"):
        place.put("t-1/x", Broken(bytes(PART_BYTES * 2)))


def test_a_link_downloads_the_file_with_its_name_and_type(s3: S3Server, tmp_path: Path) -> None:
    place = bucket(s3, tmp_path)
    place.put("t-1/x.md", io.BytesIO(b"# Title"), "Müller 2.md")
    link = place.link("t-1/x.md", 60) or ""
    with urllib.request.urlopen(link) as answer:
        assert answer.read() == b"# Title"
        assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
        assert answer.headers["content-disposition"] == "attachment; filename*=utf-8''M%C3%BCller%202.md"
    assert CREDENTIALS["AWS_SECRET_ACCESS_KEY"] not in link


def test_copies_are_cached_within_bounds_and_links_outlive_them(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_copies, "SPARED_SECONDS", 0.0)
    place = bucket(s3, tmp_path)
    place.copies.most_bytes = 1_500
    for number in range(3):
        place.put(f"t-1/{number}.pdf", io.BytesIO(bytes([number]) * 1_000))
    kept = tmp_path / "kept.pdf"
    place.copy_to("t-1/0.pdf", kept)
    for number in range(3):
        path = place.path(f"t-1/{number}.pdf")
        assert (path.suffix, path.read_bytes()) == (".pdf", bytes([number]) * 1_000)
    assert len(list(place.copies.folder.iterdir())) == 1
    assert kept.read_bytes() == bytes(1_000)


def test_blocks_grow_while_a_file_is_read_on() -> None:
    asked: list[int] = []
    size = bucket_reader.FIRST_BYTES * 40

    def fetch(start: int, length: int) -> bytes:
        asked.append(length)
        return bytes(length)

    reader = bucket_reader.BucketReader(size, bytes(bucket_reader.FIRST_BYTES), fetch)
    assert sum(len(part) for part in iter(lambda: reader.read(1_000_000), b"")) == size
    assert asked[:3] == [bucket_reader.FIRST_BYTES * 4, bucket_reader.FIRST_BYTES * 16, bucket_reader.FIRST_BYTES * 19]


def test_without_the_package_an_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    places = Places(Settings(data=str(tmp_path), files="s3://bucket"))
    with pytest.raises(BadInput, match=r"pip install 'fanfold\[s3\]'"):
        places.put("t-1/x", io.BytesIO(b"x"))


STREAM = r"""
import io, re, sys, zlib
from pathlib import Path
from fanfold.store.files.address import parse
from fanfold.store.files.bucket import Bucket
from fanfold.store.files.local_copies import LocalCopies

def peak():
    # The peak of this program alone: getrusage would count the process that started it too.
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])

class Numbers(io.RawIOBase):
    # No two parts are equal, so that one in the wrong place changes the checksum.
    left, checksum = int(sys.argv[2]), 0
    def read(self, size=-1):
        given = min(self.left, size)
        block = self.left.to_bytes(8, "big") * (given // 8 + 1)
        self.left -= given
        self.checksum = zlib.crc32(block[:given], self.checksum)
        return block[:given]

place = Bucket(parse(sys.argv[1]), LocalCopies(Path(sys.argv[3]), 1))
place.put("t-1/warm", io.BytesIO(b"x"))
with place.open("t-1/warm") as source:
    source.read()
before = peak()
numbers = Numbers()
assert place.put("t-1/large", numbers) == int(sys.argv[2])
with place.open("t-1/large") as source:
    size = checksum = 0
    while block := source.read(1 << 20):
        size += len(block)
        checksum = zlib.crc32(block, checksum)
assert (size, checksum) == (int(sys.argv[2]), numbers.checksum)
print((peak() - before) // 1024)
"""


def test_a_large_file_streams_through_little_memory(s3: S3Server, tmp_path: Path) -> None:
    size = 200_000_000
    command = [sys.executable, "-c", STREAM, s3.address(uuid4().hex), str(size), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **CREDENTIALS}, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 120, f"{done.stdout} MB more for {size} bytes"
