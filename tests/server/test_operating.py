"""An installation is operated over HTTP: metrics, health, pipelines, providers, workers, tokens, pruning, ticks."""

from typing import Any

import pytest

import fanfold
from tests.cli.samples import words
from tests.installation import Installation
from tests.server.asking import Asker, token

SECRET = "sk-do-not-tell-anybody-4711"


def test_who_asks_is_told(sqlite_asker: Asker, sqlite_installation: Installation) -> None:
    assert sqlite_asker.get("/me") == {"name": "person", "owner": None, "role": "admin"}
    secret = token(sqlite_installation, "laptop", "viewer", "ann")
    said = {"authorization": f"Bearer {secret}"}
    assert sqlite_asker.get("/me", headers=said) == {"name": "laptop", "owner": "ann", "role": "viewer"}


def test_pipelines_tell_what_they_take_and_their_stages(sqlite_asker: Asker) -> None:
    found = {one["name"]: one for one in sqlite_asker.get("/pipelines")}
    assert sorted(found) == ["pages", "words"]
    assert found["words"]["title"] == "Words"
    assert [stage["name"] for stage in found["pages"]["stages"]] == ["cut", "mark", "bind"]


def test_a_secret_is_in_no_answer(asker: Asker, installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every GET of the API, and a token's own secret as well."""
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("FANFOLD_PROVIDERS_MINE_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("FANFOLD_PROVIDERS_MINE_KEY_ENV", "MY_KEY")
    monkeypatch.setenv("MY_KEY", SECRET)
    made = token(installation, "boss", "admin")
    task = installation.client.submit(words, items=["a", "bad"], key="k")
    installation.work()
    paths = [
        path for path, ways in asker.app.openapi()["paths"].items() if "get" in ways and not path.endswith("stream")
    ]
    for path in paths:
        filled = path.replace("{task_id}", task.id).replace("{name}", "x")
        for query in ("?key=1", ""):
            text = asker.ask("GET", "/" + filled + query).text
            assert SECRET not in text, path
            assert made not in text, path
    assert len(paths) > 20
    providers = {one["name"]: one for one in asker.get("/providers")}
    assert providers["openai"]["ready"]
    assert providers["mine"]["ready"]


def test_workers_are_listed_with_what_they_do(asker: Asker, installation: Installation) -> None:
    assert asker.get("/workers") == []
    installation.worker("converter")
    (worker,) = asker.get("/workers")
    assert (worker["id"], worker["alive"]) == ("converter", True)


def worked(asker: Asker, installation: Installation) -> None:
    """Two tasks, one of which is done with one failure in four, and the other waits."""
    installation.client.submit(words, items=["a", "b", "bad"])
    assert asker.post("/tick", {"seconds": 20})["failed"] == 1
    installation.client.submit(words, items=["a", "b"])


def test_the_figures_of_an_installation(asker: Asker, installation: Installation) -> None:
    worked(asker, installation)
    found = asker.get("/metrics")
    assert found["tasks"] == {"partial": 1, "active": 1}
    assert (found["queue"], found["running"], found["retrying"], found["waiting"]) == (2, 0, 0, 0)
    assert asker.get("/counts") == found["tasks"]


def test_prometheus_gets_tasks_pace_mean_time_failure_rate_and_queue(asker: Asker, installation: Installation) -> None:
    worked(asker, installation)
    installation.worker("busy")
    installation.sql("UPDATE workers SET done = 6, failed = 2, busy_seconds = 4 WHERE id = 'busy'")
    answer = asker.ask("GET", "//metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    figures = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
    assert figures['fanfold_tasks{state="active"}'] == "1.0"
    assert figures['fanfold_tasks{state="partial"}'] == "1.0"
    assert figures['fanfold_tasks{state="failed"}'] == "0.0"
    assert figures['fanfold_open_items{state="pending"}'] == "2.0"
    assert figures["fanfold_items_per_minute"] == "8.0"
    assert figures["fanfold_item_seconds_mean"] == "0.5"
    assert figures["fanfold_item_failure_ratio"] == "0.25"
    assert float(figures["fanfold_workers"]) >= 1
    assert figures["fanfold_watchers"] == "0.0"


def test_an_idle_installation_has_figures_too(sqlite_asker: Asker) -> None:
    text = sqlite_asker.ask("GET", "//metrics").text
    assert "fanfold_item_seconds_mean" not in text
    assert sqlite_asker.get("/metrics")["mean_seconds"] is None


def test_health_is_told_to_everybody(sqlite_installation: Installation) -> None:
    with (asker := Asker(sqlite_installation, demands_token=True)).client:
        assert asker.get("//health") == {"status": "ok", "workers": 0}
        assert asker.ask("GET", "//metrics").status_code == 401


def test_a_database_that_is_away_is_503(sqlite_asker: Asker, sqlite_installation: Installation) -> None:
    sqlite_installation.sql("ALTER TABLE workers RENAME TO gone")
    answer = sqlite_asker.ask("GET", "//health")
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    assert str(sqlite_installation.settings.data_folder) not in answer.json()["code"]


def test_what_was_not_foreseen_is_told_without_its_details(sqlite_installation: Installation) -> None:
    from fastapi.testclient import TestClient

    asker = Asker(sqlite_installation)

    @asker.app.get("/api/v1/broken", include_in_schema=False)
    def broken() -> None:
        raise RuntimeError(SECRET)

    with TestClient(asker.app, base_url="http://127.0.0.1:8700", raise_server_exceptions=False) as client:
        answer = client.get("/api/v1/broken")
    assert (answer.status_code, answer.json()["code"]) == (500, "unexpected")
    assert SECRET not in answer.text


def test_the_doctor_checks_the_installation(asker: Asker) -> None:
    checks = {check["name"]: check["status"] for check in asker.get("/doctor")}
    assert checks["database"] == "ok"
    assert set(checks.values()) <= {"ok", "warning", "problem"}


def test_old_tasks_are_pruned(asker: Asker, installation: Installation) -> None:
    old, young = (installation.client.submit(words, items=["a"]) for _ in range(2))
    installation.work()
    ago = (
        "finished_at - 864000.0"
        if installation.store.database.dialect.name == "sqlite"
        else "now() - interval '10 days'"
    )
    installation.sql(f"UPDATE tasks SET finished_at = {ago} WHERE id = :id", id=old.id)
    assert asker.post("/prune") == {"removed": 0}
    assert asker.post("/prune", {"days": 5}) == {"removed": 1}
    assert [task.id for task in installation.client.list()] == [young.id]


def test_a_wish_that_makes_no_sense_is_refused(sqlite_asker: Asker) -> None:
    for path, wish in (
        ("/prune", {"days": 0}), ("/prune", {"days": -1}), ("/prune", {"days": 1e9}), ("/prune", {"days": "NaN"}),
        ("/tick", {"seconds": 0}), ("/tick", {"seconds": 56}), ("/tick", {"seconds": "Infinity"}), ("/tick", [1]),
    ):  # fmt: skip
        assert sqlite_asker.ask("POST", path, json=wish).status_code == 422, (path, wish)


def test_tokens_are_made_listed_and_revoked(asker: Asker) -> None:
    made = asker.post("/tokens", {"name": "ann", "days": 1}, status=201)
    assert (made["owner"], made["role"]) == ("ann", "member")
    said = {"authorization": f"Bearer {made['secret']}"}
    assert asker.get("/me", headers=said)["name"] == "ann"
    (listed,) = asker.get("/tokens")
    assert sorted(listed) == ["created_at", "expires_at", "name", "owner", "role"]
    assert listed["expires_at"] > listed["created_at"]
    assert asker.ask("DELETE", "/tokens/ann").status_code == 204
    assert asker.ask("GET", "/me", headers=said).status_code == 401
    assert asker.ask("DELETE", "/tokens/ann").status_code == 404
    assert asker.ask("DELETE", "/tokens/%00").status_code == 422


def test_a_token_that_has_expired_is_worthless(asker: Asker, installation: Installation) -> None:
    made = asker.post("/tokens", {"name": "ann", "days": 1}, status=201)
    installation.sql("UPDATE tokens SET expires_at = created_at")
    assert asker.ask("GET", "/me", headers={"authorization": f"Bearer {made['secret']}"}).status_code == 401
    assert [one["name"] for one in asker.get("/tokens")] == ["ann"]


def test_a_token_that_makes_no_sense_is_not_made(asker: Asker) -> None:
    asker.post("/tokens", {"name": "taken"}, status=201)
    bad: list[dict[str, Any]] = [
        {}, {"name": ""}, {"name": "a b"}, {"name": "taken"}, {"name": "x", "role": "king"}, {"name": "x", "days": 0},
        {"name": "x", "owner": "a\0b"}, {"name": "x", "owner": "o" * 201}, {"name": "x", "secret": "mine"},
        {"name": "x", "role": "admin", "owner": "ann"},
    ]  # fmt: skip
    for wish in bad:
        assert asker.ask("POST", "/tokens", json=wish).status_code == 422, wish
    assert len(asker.get("/tokens")) == 1


def test_labels_are_what_a_list_can_be_filtered_by(asker: Asker, installation: Installation) -> None:
    installation.client.submit(words, items=["a"], tags=["y", "x"], owner="ann")
    installation.client.submit(words, items=["a"], tags=["x"])
    assert asker.get("/labels") == {"tags": ["x", "y"], "owners": ["ann"]}


def test_the_description_names_the_version(sqlite_asker: Asker) -> None:
    assert sqlite_asker.get("/openapi.json")["info"]["version"] == fanfold.__version__
