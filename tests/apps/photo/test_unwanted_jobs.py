"""Jobs that nobody waits for any more: cancelled at the service, or watched until their picture comes."""

from pathlib import Path

import pytest

import fanfold as ff
from fanfold.apps.photo import photo
from fanfold.apps.photo.late import late
from fanfold.testing import Engine
from tests.apps.photo.test_pipeline import generated, made, step
from tests.image_server import ImageServer

pytestmark = pytest.mark.usefixtures("folder", "rare_looks")


def under_way(engine: Engine, images: ImageServer, **options: object) -> ff.Task:
    """A task with two pictures: one is done, the job of the other is under way, and no worker has it."""
    images.late_seconds, images.scripted = 3_600.0, ["good", "late"]
    task = engine.submit(photo, options={"prompt": "a red dress", "count": 2, **options})
    while sorted(item.state for item in generated(engine, task)) != ["done", "waiting"]:
        step(engine)
    return task


@pytest.mark.parametrize("service", ["replicate", "fal", "comfyui"])
def test_the_job_of_a_cancelled_task_is_cancelled_at_the_service(
    engine: Engine, images: ImageServer, service: str
) -> None:
    task = under_way(engine, images, service=service)
    engine.client.cancel(task.id)
    assert engine.task(task).word == "cancelled"
    engine.run()
    assert engine.task(task).state == "cancelled"
    assert [job.cancelled for job in images.jobs.values()] == [False, True], "only the one under way"


def test_a_service_that_cannot_be_reached_does_not_keep_a_task_from_being_cancelled(
    engine: Engine, images: ImageServer, folder: Path
) -> None:
    task = under_way(engine, images)
    text = (folder / "fanfold.toml").read_text()
    (folder / "fanfold.toml").write_text(text.replace(images.url, "http://127.0.0.1:1"))
    engine.client.cancel(task.id)
    engine.run()
    found = engine.task(task)
    assert found.state == "cancelled"
    assert "1 job could not be cancelled at the service" in str(found.error_message), "shown, not swallowed"


def test_a_picture_that_comes_after_its_job_was_given_up_is_kept(engine: Engine, images: ImageServer) -> None:
    engine.know(late)
    images.late_seconds, images.scripted = 3_600.0, ["late", "good"]
    task = engine.submit(photo, options={"prompt": "a red dress", "count": 2})
    while not engine.task(task).finished:
        step(engine)
    found = engine.task(task)
    assert (found.state, found.missing) == ("completed", 1), "the task does not wait for it"
    [watch] = engine.client.list(parent=task.id)
    assert (watch.pipeline, watch.finished) == ("photo-late", False)
    images.late_seconds = 0.0
    engine.run()
    result = engine.client.result(watch.id)
    assert [one["kind"] for one in result["images"]] == ["alternative"]
    assert result["images"][0]["file"].read_bytes().startswith(b"\x89PNG")
    assert len(images.jobs) == 2, "nothing was ordered again"


def test_a_watch_ends_after_a_day(engine: Engine, images: ImageServer) -> None:
    images.late_seconds, images.scripted = 10**6, ["late"]
    task = made(engine)
    looks = images.looks
    engine.know(late)
    engine.run()
    [watch] = engine.client.list(parent=task.id)
    assert engine.client.result(watch.id)["images"] == []
    assert "within 24 hours" in engine.client.result(watch.id)["reason"]
    assert 86_400 <= engine.clock.seconds < 2 * 86_400
    assert 40 < images.looks - looks < 60, "every half hour in the end"


def test_a_watch_ends_when_the_service_says_that_nothing_comes(engine: Engine, images: ImageServer) -> None:
    images.late_seconds, images.scripted = 10**6, ["late"]
    task = made(engine)
    images.jobs["job-1"].fault = "moderated"
    engine.know(late)
    engine.run()
    [watch] = engine.client.list(parent=task.id)
    assert engine.client.result(watch.id)["reason"] == "NSFW content detected"
