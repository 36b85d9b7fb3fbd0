"""URLs that people name reach public addresses only, and downloads have limits."""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from fanfold.errors import BadInput
from fanfold.outside.addresses import Allowed, PrivateAddress, checked
from fanfold.outside.download import Limits, download

HERE = Limits(size=1_000, seconds=60, allowed=Allowed.parsed("127.0.0.0/8"))


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
        "fe80::1%eth0", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "::7f00:1",
    ],
)  # fmt: skip
def test_one_private_address_of_a_host_is_enough_to_refuse_it(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = [(0, 0, 0, "", (one, 443)) for one in ("93.184.216.34", "2606:4700::1111", found)]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: known)
    with pytest.raises(PrivateAddress, match="not public"):
        checked("https://example.org/a.pdf")
    known.pop()
    assert checked("https://example.org/a.pdf")[1] == ["93.184.216.34", "2606:4700::1111"]


@pytest.mark.parametrize("found", ["::1", "fe80::1%eth0", "::ffff:10.0.0.1"])
def test_a_private_address_can_be_allowed(found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", (found, 443))])
    allowed = Allowed.parsed("::1, fe80::/10, 10.0.0.0/8")
    assert checked("https://example.org/", allowed)[1] == [found]


@pytest.mark.parametrize(
    "url", ["ftp://example.org/a", "file:///etc/passwd", "http://", "http://u:p@example.org/", "http://a:99999/"]
)
def test_only_plain_web_addresses_are_urls(url: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as problem:
        download(url, tmp_path / "in", HERE)
    assert problem.value.code == "bad_url"
    assert "u:p" not in str(problem.value)


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
    with pytest.raises(BadInput, match="not a web address"):
        download(f"{address}/to/file:///etc/passwd", tmp_path / "in", HERE)
    with pytest.raises(BadInput, match="FANFOLD_PRIVATE_ADDRESSES"):
        download(f"{address}/x.pdf", tmp_path / "in", Limits())
