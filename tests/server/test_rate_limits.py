"""Rate limits are seen, opened and closed over HTTP, in the page and by Prometheus."""

from fanfold.model.money.rate_limits import Dimension
from tests.installation import Installation
from tests.server.asking import Asker, token

KEY = "fake:org/large"


def declare(installation: Installation) -> None:
    with installation.store.write() as tx:
        tx.rate_limits.declare(KEY, {Dimension.REQUESTS: 60}, 4)
        tx.rate_limits.grow(KEY, 0, 8)
        tx.rate_limits.hold(KEY, "host-1", 0, 3, 2, 8)


def test_limits_are_listed_with_their_levels_and_who_waits(asker: Asker, installation: Installation) -> None:
    assert asker.get("/limits") == []
    declare(installation)
    in_flight, requests = asker.get("/limits")
    assert (in_flight["key"], in_flight["waiting"], in_flight["waiters"]) == (KEY, 2, ["host-1"])
    assert (requests["dimension"], requests["size"], requests["source"]) == ("requests", 60, "configured")
    assert [row.key for row in installation.client.limits()] == [KEY, KEY]


def test_a_limit_is_closed_and_opened_for_all_workers(asker: Asker, installation: Installation) -> None:
    declare(installation)
    [closed, _] = asker.post(f"/limits/{KEY}/close", {"seconds": 60})
    assert (closed["closed_by"], closed["closed_until"] is not None) == ("person", True)
    [opened, _] = asker.post(f"/limits/{KEY}/open", {})
    assert opened["closed_until"] is None
    answer = asker.ask("POST", "/limits/fake:none/open")
    assert answer.status_code == 404
    assert KEY in answer.json()["detail"]
    assert asker.ask("POST", f"/limits/{KEY}/close", json={"seconds": -1}).status_code == 422


def test_only_who_manages_the_installation_opens_and_closes(
    sqlite_asker: Asker, sqlite_installation: Installation
) -> None:
    declare(sqlite_installation)
    said = {"authorization": f"Bearer {token(sqlite_installation, 'laptop', 'member', 'ann')}"}
    for verb in ("open", "close"):
        assert sqlite_asker.ask("POST", f"/limits/{KEY}/{verb}", headers=said).status_code == 403


def test_limits_are_on_the_page_about_workers_in_both_languages(
    sqlite_asker: Asker, sqlite_installation: Installation
) -> None:
    declare(sqlite_installation)
    shown = sqlite_asker.ask("GET", "//workers", headers={"accept": "text/html"}).text
    assert KEY in shown
    assert "requests per minute" in shown
    chinese = sqlite_asker.ask("GET", "//workers", headers={"accept": "text/html", "accept-language": "zh"}).text
    assert "每分钟请求数" in chinese


def test_prometheus_gets_the_limits(sqlite_asker: Asker, sqlite_installation: Installation) -> None:
    declare(sqlite_installation)
    figures = sqlite_asker.ask("GET", "//metrics").text
    assert f'fanfold_limit_size{{dimension="requests",limit="{KEY}"}} 60.0' in figures
    assert f'fanfold_limit_waiting{{limit="{KEY}"}} 2.0' in figures
