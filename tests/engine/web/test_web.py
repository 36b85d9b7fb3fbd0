"""URLs that people name reach public addresses only, and downloads have limits."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fanfold.engine.web.addresses import checked_addresses, checked_url, is_public
from fanfold.engine.web.download import Limits, download
from fanfold.errors import BadInput

HERE = Limits(size=1_000, seconds=60, private=True)


class Answers(BaseHTTPRequestHandler):
    """Answers a few paths."""

    def do_GET(self) -> None:
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.end_headers()
            return
        body = b"x" * 2_000 if self.path == "/large.pdf" else b"%PDF-1.7 small"
        self.send_response(404 if self.path == "/none" else 200)
        self.send_header("Content-Type", "application/pdf")
        if self.path == "/named":
            self.send_header("Content-Disposition", 'attachment; filename="../../a b.pdf"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    """A server on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    "found",
    [
        "127.0.0.1", "10.0.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "::1", "::",
        "fe80::1%eth0", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "nonsense",
    ],
)  # fmt: skip
def test_an_address_of_this_network_is_not_public(found: str) -> None:
    assert not is_public(found)


def test_a_public_address_is_public() -> None:
    assert is_public("93.184.216.34")
    assert is_public("2606:4700::1111")


def test_one_private_address_of_a_host_is_enough_to_refuse_it() -> None:
    parts = checked_url("https://example.org/a.pdf")
    with pytest.raises(BadInput, match="FANFOLD_PRIVATE_URLS"):
        checked_addresses(parts, private=False, resolve=lambda *_: ["93.184.216.34", "10.0.0.1"])
    assert checked_addresses(parts, private=True, resolve=lambda *_: ["10.0.0.1"]) == ["10.0.0.1"]


@pytest.mark.parametrize(
    "url", ["ftp://example.org/a", "file:///etc/passwd", "http://", "http://u:p@example.org/", "http://a:99999/"]
)
def test_only_plain_web_addresses_are_urls(url: str) -> None:
    with pytest.raises(BadInput) as problem:
        checked_url(url)
    assert problem.value.code == "bad_url"


def test_a_file_is_downloaded_under_a_harmless_name(address: str, tmp_path: Path) -> None:
    found = download(f"{address}/to//named", tmp_path / "in", HERE)
    assert (found.parent, found.read_bytes()) == (tmp_path / "in", b"%PDF-1.7 small")
    assert found.name == "_.._a b.pdf"
    assert download(f"{address}/paper?x=1", tmp_path / "in", HERE).name == "paper.pdf"


@pytest.mark.parametrize(
    ("path", "why"),
    [("/large.pdf", "larger than"), ("/none", "404"), ("/to//to//to//to//to//to//to//x", "redirects more than")],
)
def test_a_download_that_fails_says_why(address: str, tmp_path: Path, path: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        download(address + path, tmp_path / "in", HERE)


def test_a_redirect_is_checked_like_the_url(address: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="not a URL with http"):
        download(f"{address}/to/file:///etc/passwd", tmp_path / "in", HERE)
    with pytest.raises(BadInput, match="FANFOLD_PRIVATE_URLS"):
        download(f"{address}/x.pdf", tmp_path / "in", Limits())
