"""A picture that was paid for is not lost, and not paid for again, because a service answers late, badly or not at all."""

from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.apps.photo import configuration, photo
from fanfold.apps.photo.late import late
from fanfold.apps.photo.services.known import connected
from fanfold.apps.photo.services.requests import ServiceTrouble, UnknownOutcome
from fanfold.apps.photo.services.service import Order, Service
from fanfold.testing import Engine
from tests.apps.photo.test_pipeline import generated, made, step
from tests.image_server import Handler, ImageServer, picture_bytes

pytestmark = pytest.mark.usefixtures("folder", "rare_looks")


def service(name: str = "replicate") -> Service:
    return connected(configuration.load().chosen(name), lambda name, content: None)


def given_up(engine: Engine, images: ImageServer) -> ff.Task:
    """A task whose only job took too long, and has made its picture since."""
    images.late_seconds, images.scripted = 3_600.0, ["late"]
    task = made(engine)
    assert generated(engine, task)[0].error_code == "gave_up"
    images.late_seconds = 0.0
    return task


@pytest.mark.parametrize("how", ["retry", "redo"])
def test_a_late_picture_of_the_same_order_is_not_ordered_again(engine: Engine, images: ImageServer, how: str) -> None:
    task = given_up(engine, images)
    engine.client.retry(task.id) if how == "retry" else engine.client.do(task.id, "redo")
    engine.run()
    assert (engine.task(task).state, len(images.jobs)) == ("completed", 1)


def test_a_job_that_was_given_up_is_not_polled_with_its_successor(engine: Engine, images: ImageServer) -> None:
    task = given_up(engine, images)
    images.jobs["job-1"].fault = "moderated"
    engine.client.retry(task.id)
    images.looks, images.late_seconds, images.scripted = 0, 3_600.0, ["late"]
    step(engine)
    assert (images.looks, len(images.jobs)) == (2, 2), "one at the old job before the start, one at the new job"
    while images.looks == 2:
        step(engine)
    assert images.looks == 3, "then only at the new job"


def test_a_picture_that_the_watch_has_copied_outlives_its_link(engine: Engine, images: ImageServer) -> None:
    task = given_up(engine, images)
    engine.know(late)
    engine.run()
    images.jobs["job-1"].fault = "forgotten"
    assert engine.client.do(task.id, "late").message == "1 late picture found"
    engine.run()
    assert (engine.task(task).state, len(images.jobs)) == ("completed", 1)
    assert engine.client.result(task.id)["images"][0]["seed"] == images.jobs["job-1"].seed


def test_a_person_who_only_looks_for_late_pictures_orders_none(engine: Engine, images: ImageServer) -> None:
    task = given_up(engine, images)
    engine.client.do(task.id, "late")
    images.jobs["job-1"].fault = "forgotten"
    engine.run()
    [item] = generated(engine, task)
    assert (item.state, item.error_code, len(images.jobs)) == ("failed", "not_late", 1)
    engine.client.do(task.id, "redo")
    engine.run()
    assert (engine.task(task).state, len(images.jobs)) == ("completed", 2)


def test_nobody_can_name_a_job_in_the_options(engine: Engine, images: ImageServer) -> None:
    """It would be looked at with the key of the installation, whoever's it is, and wherever its links lead."""
    with pytest.raises(ff.BadInput, match="late"):
        engine.submit(photo, options={"prompt": "a hat", "late": '{"job": {"id": "job-1"}, "service": "fal"}'})


def test_the_key_of_a_service_goes_to_no_other_host(images: ImageServer) -> None:
    with pytest.raises(ServiceTrouble, match="does not lead to it"):
        service("fal").look({"id": "1", "status": images.url.replace("127.0.0.1", "localhost") + "/status"})
    assert images.looks == 0


def test_a_job_is_not_taken_for_forgotten_right_after_its_start(
    engine: Engine, images: ImageServer, folder: Path
) -> None:
    text = (folder / "fanfold.toml").read_text()
    (folder / "fanfold.toml").write_text(text.replace("listed_seconds = 0", "listed_seconds = 60"))
    images.scripted = ["forgotten"]
    task = engine.submit(photo, options={"prompt": "a hat"})
    while images.looks < 2:
        step(engine)
    images.jobs["job-1"].fault = "good"
    engine.run()
    assert (engine.task(task).state, len(images.jobs)) == ("completed", 1)


def test_an_id_that_belongs_to_another_job_by_now_is_a_forgotten_job(
    images: ImageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = {"id": "job-1", "status": "succeeded", "output": [f"{images.url}/files/job-1"], "input": {"seed": 2}}
    monkeypatch.setattr(Handler, "_prediction", lambda self, parts: self._answer(200, answer))
    with pytest.raises(ff.Permanent) as lost:
        service().look({"id": "job-1", "seed": 1})
    assert lost.value.code == "forgotten"
    assert service().look({"id": "job-1", "seed": 2}) is not None


@pytest.mark.parametrize("answer", [[], "soon", {"status": 7}])
def test_an_answer_that_makes_no_sense_is_waited_out(
    engine: Engine, images: ImageServer, folder: Path, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    seen: list[str] = []

    def nonsense(self: Handler, parts: list[str]) -> None:
        seen.append(parts[-1])
        self._answer(200, answer)

    monkeypatch.setattr(Handler, "_prediction", nonsense)
    task = engine.submit(photo, options={"prompt": "a hat"})
    while len(seen) < 5:
        step(engine)
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    engine.run()
    assert (engine.task(task).state, len(images.jobs)) == ("completed", 1)


@pytest.mark.parametrize(
    "content", [b"<html>one moment</html>", picture_bytes(3)[:70], b""], ids=["page", "half", "empty"]
)
def test_a_picture_that_cannot_be_copied_yet_is_copied_later(
    engine: Engine, images: ImageServer, folder: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    tries: list[str] = []

    def broken(self: Handler, id: str) -> None:
        tries.append(id)
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    monkeypatch.setattr(Handler, "_file", broken)
    task = engine.submit(photo, options={"prompt": "a hat"})
    while len(tries) < 6:
        step(engine)
    assert generated(engine, task)[0].failures == 0
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    engine.run()
    assert (engine.task(task).state, len(images.jobs)) == ("completed", 1)


@pytest.mark.parametrize("status", [408, 409, 500, 502, 504])
def test_an_answer_that_proves_nothing_is_no_refusal(
    images: ImageServer, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr(Handler, "_start", lambda self, *given: self._answer(status, {"detail": "hm"}))
    with pytest.raises(UnknownOutcome):
        service().start(Order("a hat", 1), "key", None)


def test_a_service_with_keys_that_never_answers_is_asked_again_only_for_a_time(
    engine: Engine, images: ImageServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (folder / "fanfold.toml").read_text()
    (folder / "fanfold.toml").write_text(text.replace('"fal"\n', '"fal"\nidempotency_header = "Idempotency-Key"\n'))
    clock = [1_000_000.0]
    monkeypatch.setattr("fanfold.apps.photo.steps.generating.time.time", lambda: clock[0])
    monkeypatch.setattr(Handler, "_start", lambda self, *given: self._answer(504, {}))
    task = engine.submit(photo, options={"prompt": "a hat", "service": "fal"})
    for _ in range(30):
        step(engine)
        clock[0] += 40
    assert (engine.task(task).state, engine.task(task).held) == ("active", 1)


def spent(engine: Engine) -> float:
    """What all tasks have cost, as it is shown."""
    return round(sum(row.cost or 0.0 for row in engine.client.costs(by="pipeline")), 4)


def test_a_late_picture_that_the_watch_finds_is_in_the_costs_once(engine: Engine, images: ImageServer) -> None:
    task = given_up(engine, images)
    engine.know(late)
    engine.run()
    assert (engine.task(task).state, spent(engine)) == ("failed", 0.04), "nobody has asked for it, but it is paid"
    engine.client.do(task.id, "late")
    engine.run()
    assert engine.task(task).state == "completed"
    assert (len(images.jobs), spent(engine)) == (1, 0.04)


def test_a_task_with_a_budget_has_its_late_jobs_watched(engine: Engine, images: ImageServer) -> None:
    images.late_seconds, images.scripted = 3_600.0, ["late"]
    task = engine.submit(photo, options={"prompt": "a red dress"}, budget=1)
    engine.run()
    assert generated(engine, task)[0].error_code == "gave_up"
    assert engine.client.budget(task.id).cap == 1


def test_a_late_picture_that_is_taken_before_the_watch_sees_it_is_in_the_costs_once(
    engine: Engine, images: ImageServer
) -> None:
    task = given_up(engine, images)
    engine.client.retry(task.id)
    engine.run()
    assert engine.task(task).state == "completed"
    engine.know(late)
    engine.run()
    assert (len(images.jobs), spent(engine)) == (1, 0.04)
