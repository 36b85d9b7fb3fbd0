"""Foreign requests are refused, every response has security headers, and every body is limited."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fanfold.server.app_state import AppState
from fanfold.server.requests.guard import PLAIN_BYTES, SEAL
from tests.cli.samples import pages
from tests.installation import Installation
from tests.server.asking import Asker


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8700", "localhost", "localhost:1", "LOCALHOST:8700", "[::1]:8700", "localhost."],
)
def test_a_server_on_the_loopback_answers_to_the_names_of_this_machine(sqlite_asker: Asker, host: str) -> None:
    assert sqlite_asker.ask("GET", "/tasks", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8700",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "",
        "localhost@evil.example",
    ],
)
def test_a_name_that_was_rebound_to_this_machine_is_refused(sqlite_asker: Asker, host: str) -> None:
    answer = sqlite_asker.ask("GET", "/tasks", headers={"host": host})
    assert (answer.status_code, answer.json()["code"]) == (421, "unknown_host")


def test_a_server_for_others_answers_to_addresses_and_to_the_names_it_was_given(
    sqlite_installation: Installation,
) -> None:
    place = AppState(sqlite_installation.store, {}, "0.0.0.0", ("fanfold.example",))
    assert place.knows_host("192.168.1.5:8700")
    assert place.knows_host("[fe80::1]:8700")
    assert place.knows_host("fanfold.example")
    assert not place.knows_host("evil.example")
    assert not place.knows_host("")


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://evil.example", "authorization": "Basic YW5uOnBhc3M="},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "https://127.0.0.1.evil.example:8700"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_a_page_of_another_site_changes_nothing(sqlite_asker: Asker, headers: dict[str, str]) -> None:
    wish = {"pipeline": "words", "items": ["x"]}
    answer = sqlite_asker.ask("POST", "/tasks", json=wish, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")
    assert sqlite_asker.get("/tasks")["tasks"] == []


def test_the_own_page_and_a_program_may_change_things(sqlite_asker: Asker) -> None:
    wish = {"pipeline": "words", "items": ["x"]}
    own = {"origin": "http://127.0.0.1:8700", "sec-fetch-site": "same-origin"}
    sqlite_asker.post("/tasks", wish, status=201, headers=own)
    sqlite_asker.post("/tasks", wish, status=201)


@pytest.mark.parametrize("path", ["/tasks", "//", "//static/base.css", "/nothing", "//health", "/tasks/t-none"])
def test_every_answer_is_sealed(sqlite_asker: Asker, path: str) -> None:
    answer = sqlite_asker.ask("GET", path)
    for name in SEAL:
        assert name in answer.headers
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


def test_no_page_has_a_script_or_a_style_inside(sqlite_asker: Asker) -> None:
    templates = Path(__file__).parents[2] / "fanfold" / "server" / "web" / "templates"
    found = list(templates.glob("*.html"))
    assert len(found) > 5
    for template in found:
        text = template.read_text(encoding="utf-8")
        assert "<style" not in text, template
        assert "style=" not in text, template
        assert "|safe" not in text.replace(" ", "").replace("|safe(", ""), template
        for part in text.split("<script")[1:]:
            assert "src=" in part.partition(">")[0], template


@pytest.fixture
def narrow(sqlite_url: str, tmp_path: Path) -> Iterator[Asker]:
    """A server that takes uploads of 20 kB."""
    installation = Installation(sqlite_url, tmp_path / "data", None, upload_bytes=20_000)
    installation.know(pages)
    asker = Asker(installation)
    with asker.client:
        yield asker
    installation.store.close()


def test_an_upload_that_is_too_large_is_refused_and_leaves_nothing(narrow: Asker) -> None:
    large = {"file": ("large.txt", b"x" * 30_000)}
    answer = narrow.ask("POST", "/tasks", data={"pipeline": "pages"}, files=large)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert "FANFOLD_UPLOAD_BYTES" in answer.json()["detail"]
    assert narrow.get("/tasks")["tasks"] == []
    small = {"file": ("small.txt", b"x" * 3_000)}
    assert narrow.ask("POST", "/tasks", data={"pipeline": "pages"}, files=small).status_code == 201


def test_a_body_that_lies_about_its_length_is_stopped_at_the_limit(narrow: Asker) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * 1_000

    kind = {"content-type": "multipart/form-data; boundary=b"}
    answer = narrow.ask("POST", "/tasks", content=endless(), headers=kind)
    assert answer.status_code == 413


def test_json_is_bounded_as_well(sqlite_asker: Asker) -> None:
    answer = sqlite_asker.ask(
        "POST", "/tasks", content=b" " * (PLAIN_BYTES + 1), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 413
