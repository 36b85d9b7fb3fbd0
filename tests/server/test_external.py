"""A program lists external jobs, and resolves those with an unknown outcome."""

from tests.engine.jobs import JobService, raising
from tests.installation import Installation
from tests.server.asking import Asker, token


def made(installation: Installation, service: JobService) -> str:
    service.trouble.append(raising(TimeoutError("no answer")))
    task = installation.client.submit(installation.know(service.pipeline(find=False)), items=["x"])
    installation.work()
    return task.id


def test_external_jobs_are_listed_and_decided_about(asker: Asker, installation: Installation) -> None:
    service = JobService()
    task = made(installation, service)
    assert asker.get(f"/tasks/{task}")["held"] == 1
    [item] = asker.get(f"/tasks/{task}/items")["items"]
    assert "it is unknown whether" in item["held"]
    [job] = asker.get(f"/tasks/{task}/external")["jobs"]
    assert (job["item"], job["state"], job["job"], job["key"]) == ("1", "unknown", None, f"{task}/render/1")
    asker.post(f"/tasks/{task}/external/explode", status=404)
    assert asker.post(f"/tasks/{task}/external/lost", {"items": ["7"]}, status=404)["code"] == "not_found"
    assert asker.post(f"/tasks/{task}/external/lost", {"reason": "not in their list"})["held"] == 0
    assert asker.get(f"/tasks/{task}/events")[-1]["reason"].endswith("not in their list")
    installation.work()
    assert asker.get(f"/tasks/{task}")["state"] == "completed"
    assert service.doubles == {}
    assert asker.post(f"/tasks/{task}/external/resend", status=409)["code"] == "illegal_move"


def test_only_who_may_change_a_task_decides_about_its_jobs(
    sqlite_asker: Asker, sqlite_installation: Installation
) -> None:
    task = made(sqlite_installation, JobService())
    viewer = {"authorization": f"Bearer {token(sqlite_installation, 'eve', 'viewer', '*')}"}
    stranger = {"authorization": f"Bearer {token(sqlite_installation, 'mal', 'member', 'mal')}"}
    assert sqlite_asker.ask("GET", f"/tasks/{task}/external", headers=viewer).status_code == 200
    assert sqlite_asker.ask("POST", f"/tasks/{task}/external/lost", headers=viewer).status_code == 403
    for method, path in (("GET", ""), ("POST", "/lost")):
        assert sqlite_asker.ask(method, f"/tasks/{task}/external{path}", headers=stranger).status_code == 404
