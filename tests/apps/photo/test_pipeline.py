"""One task makes several pictures through external jobs, whatever the service does, and starts each job once."""

import io
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import fanfold as ff
from fanfold.apps.photo import configuration, photo
from fanfold.apps.photo.services.known import connected
from fanfold.apps.photo.services.requests import ServiceTrouble
from fanfold.apps.photo.services.service import Order
from fanfold.testing import Engine
from fanfold.testing.engine import NeverAtRest
from tests.apps.photo.conftest import SERVICES
from tests.image_server import Handler, ImageServer, picture_bytes

DESIGN = (
    "pending", "downloading", "downloaded", "ai_calling", "ai_processing", "ai_completed", "watermarking", "uploading",
    "completed",
)  # fmt: skip
"""The states of the design, without `failed`."""


def with_gps() -> bytes:
    """A photograph that knows where it was taken."""
    sink = io.BytesIO()
    exif = Image.Exif()
    exif[0x010F] = "a camera"
    Image.new("RGB", (300, 200), "white").save(sink, "JPEG", exif=exif)
    return sink.getvalue()


def made(engine: Engine, *inputs: Any, **options: Any) -> ff.Task:
    task = engine.submit(photo, *inputs, options={"prompt": "a red dress", **options})
    engine.run()
    return engine.task(task)


def step(engine: Engine) -> None:
    """One attempt."""
    with suppress(NeverAtRest):
        engine.run(attempts=1)


def generated(engine: Engine, task: ff.Task) -> list[ff.Item]:
    return engine.items(task, "ai_processing")


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_makes_pictures_from_a_prompt_and_a_photograph(
    engine: Engine, images: ImageServer, folder: Path, service: str
) -> None:
    task = made(engine, ff.Upload("model.jpg", with_gps()), service=service, count=3)
    assert (task.state, task.word, task.missing) == ("completed", "completed", 0)
    result = engine.client.result(task.id)
    assert [one["label"] for one in result["images"]] == ["01", "02", "03"]
    for one in result["images"]:
        with Image.open(io.BytesIO(one["file"].read_bytes())) as picture:
            assert (picture.format, picture.size) == ("JPEG", (64, 48))
    assert b"a camera" not in result["before"].read_bytes(), "the metadata of the input must not leave"
    assert all(job.images for job in images.jobs.values()), "the photograph is part of each request"
    assert len(images.jobs) == 3
    assert [item.usage["cost"] for item in generated(engine, task)] == [0.04] * 3


def test_a_task_is_shown_in_the_words_of_the_design(engine: Engine, images: ImageServer, folder: Path) -> None:
    images.work_seconds = 0.3
    task = engine.submit(photo, ff.Upload("a.png", picture_bytes(1)), options={"prompt": "a hat", "count": 2})
    seen = [engine.task(task).word]
    items: set[str] = set()
    while engine.task(task).state == "active":
        step(engine)
        seen.append(engine.task(task).word)
        items |= {
            item.word for stage in ("ai_processing", "watermarking", "uploading") for item in engine.items(task, stage)
        }
    words = [word for stage in photo.plan().stages for word in (stage.ready, stage.doing)]
    assert [*dict.fromkeys(words), "completed"] == list(DESIGN), "all words, in their order"
    order = list(dict.fromkeys(seen))
    assert order == [word for word in DESIGN if word in order], "as far as they can be seen between two attempts"
    assert {"downloaded", "ai_processing", "completed"} <= set(order)
    assert {"ai_calling", "ai_processing", "ai_completed", "watermarking", "completed"} <= items


@pytest.mark.parametrize(
    ("service", "fault"),
    [("replicate", "reset"), ("replicate", "gateway"), ("replicate", "not_listed"), ("comfyui", "reset")],
)
def test_an_unknown_outcome_is_cleared_up_by_asking_the_service(
    engine: Engine, images: ImageServer, folder: Path, service: str, fault: str
) -> None:
    images.late_seconds = 0.0
    images.scripted = [fault]
    task = made(engine, service=service)
    assert (task.state, set(images.accepted.values())) == ("completed", {1})
    assert generated(engine, task)[0].failures == 0, "an unknown outcome is no failure"


def test_without_a_way_to_ask_a_person_decides(engine: Engine, images: ImageServer, folder: Path) -> None:
    images.scripted = ["good", "reset"]
    task = made(engine, service="fal", count=2)
    assert (task.state, task.held, len(images.jobs)) == ("active", 1, 2)
    job = next(one for one in engine.client.external_jobs(task.id) if one.state == "unknown")
    engine.client.external(task.id, "lost", [job.item], stage="ai_processing")
    engine.run()
    assert engine.task(task).state == "completed"
    assert set(images.accepted.values()) == {1}, "the next job has its own key and seed"


def test_a_service_that_honours_keys_is_asked_again_with_the_same_key(
    engine: Engine, images: ImageServer, folder: Path
) -> None:
    text = (folder / "fanfold.toml").read_text()
    header = '\nidempotency_header = "Idempotency-Key"\n'
    (folder / "fanfold.toml").write_text(text.replace('protocol = "fal"', f'protocol = "fal"{header}'))
    images.honours_keys, images.scripted = True, ["gateway"]
    task = made(engine, service="fal")
    assert (task.state, len(images.asked), len(images.jobs)) == ("completed", 2, 1)


def test_moderation_gets_one_more_job_and_partial_success_delivers_what_there_is(
    engine: Engine, images: ImageServer, folder: Path
) -> None:
    task = engine.submit(photo, options={"prompt": "a red dress", "count": 3, "seed": 10})
    images.choose = lambda prompt, seed: "moderated" if seed in (10, 11, 100_014) else "good"
    engine.run()
    found = engine.task(task)
    first, second, third = generated(engine, found)
    assert (found.state, found.missing) == ("completed", 1)
    assert (first.state, second.state, third.state) == ("done", "failed", "done")
    assert (second.error_code, second.word) == ("moderated", "failed")
    assert images.accepted == {("a red dress", seed): 1 for seed in (10, 100_013, 11, 100_014, 12)}
    result = engine.client.result(task.id)
    assert [one["label"] for one in result["images"]] == ["01", "03"]
    assert result["missing"][0]["picture"] == "02"
    assert "withheld" in result["missing"][0]["reason"]


def test_a_task_without_any_picture_fails(engine: Engine, images: ImageServer, folder: Path) -> None:
    images.choose = lambda prompt, seed: "refused"
    task = made(engine, count=2)
    assert (task.state, task.word, len(images.jobs)) == ("failed", "failed", 0)


@pytest.mark.parametrize("service", ["replicate", "fal", "comfyui"])
def test_a_dead_link_is_asked_for_again_and_a_busy_service_is_waited_for(
    engine: Engine, images: ImageServer, folder: Path, service: str
) -> None:
    images.scripted = ["busy", "expired"]
    task = made(engine, service=service)
    assert (task.state, len(images.jobs)) == ("completed", 1)


def test_a_forgotten_job_is_paid_once_and_a_free_one_is_started_again(
    engine: Engine, images: ImageServer, folder: Path
) -> None:
    images.scripted = ["forgotten"]
    paid = made(engine, service="replicate")
    assert (paid.state, len(images.jobs)) == ("failed", 1)
    assert generated(engine, paid)[0].error_code == "forgotten"
    images.scripted = ["forgotten"]
    free = made(engine, service="comfyui")
    assert (free.state, len(images.jobs)) == ("completed", 3)


@pytest.mark.usefixtures("rare_looks")
def test_a_job_that_takes_too_long_is_cancelled_and_its_late_picture_is_delivered(
    engine: Engine, images: ImageServer, folder: Path
) -> None:
    images.late_seconds = 3_600.0
    images.scripted = ["late"]
    task = made(engine)
    item = generated(engine, task)[0]
    assert (task.state, item.error_code) == ("failed", "gave_up")
    assert images.jobs["job-1"].cancelled
    images.late_seconds = 0.0
    assert engine.client.do(task.id, "late").message == "1 late picture found"
    engine.run()
    assert (engine.task(task).state, len(images.jobs)) == ("completed", 1)


@pytest.mark.usefixtures("rare_looks")
def test_a_late_picture_is_an_alternative_if_another_one_is_wanted(
    engine: Engine, images: ImageServer, folder: Path
) -> None:
    images.late_seconds, images.scripted = 3_600.0, ["late"]
    task = made(engine)
    images.late_seconds = 0.0
    engine.client.do(task.id, "redo", {"prompt": "a blue dress"})
    engine.run()
    assert (engine.task(task).state, len(images.jobs)) == ("completed", 2)
    kinds = [one["kind"] for one in engine.client.output(task.id, "01", "uploading")["images"]]
    assert kinds == ["result", "unmarked", "alternative"]


def test_a_redo_takes_another_prompt_and_keeps_the_first_picture(
    engine: Engine, images: ImageServer, folder: Path
) -> None:
    task = made(engine, count=2)
    engine.client.do(task.id, "redo", {"items": ["2"], "prompt": "a blue dress", "service": "fal"})
    engine.run()
    assert [job.prompt for job in images.jobs.values()] == ["a red dress", "a red dress", "a blue dress"]
    output = engine.client.output(task.id, "02", "uploading")
    assert (output["prompt"], output["service"]) == ("a blue dress", "fal")
    assert [one["label"] for one in output["images"]] == ["watermarked", "without watermark", "earlier"]
    assert output["images"][2]["file"].read_bytes().startswith(b"\x89PNG")
    assert engine.task(task).state == "completed"


def test_the_first_poll_waits_for_the_usual_time(engine: Engine, images: ImageServer, folder: Path) -> None:
    with engine.store.write() as tx:
        tx.external_durations.learn("photo replicate:owner/model", 41.0)
    task = engine.submit(photo, options={"prompt": "a hat"})
    engine.run()
    assert (engine.task(task).state, images.looks, engine.clock.seconds >= 41) == ("completed", 1, True)


def no_list(engine: Engine, images: ImageServer, monkeypatch: pytest.MonkeyPatch) -> ff.Task:
    """A task whose only job has an unknown outcome, at a service whose list cannot be read."""
    monkeypatch.setattr(Handler, "_predictions", lambda self, query: self._answer(404, {}))
    images.scripted = ["reset"]
    return engine.submit(photo, options={"prompt": "a red dress"})


def test_a_list_that_cannot_be_read_is_no_proof_that_there_is_no_job(
    engine: Engine, images: ImageServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = no_list(engine, images, monkeypatch)
    for _ in range(8):
        step(engine)
    assert (engine.task(task).state, len(images.jobs)) == ("active", 1)
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    engine.run()
    assert (engine.task(task).state, len(images.jobs)) == ("completed", 1)


def test_a_person_is_asked_if_an_outcome_cannot_be_cleared_up(
    engine: Engine, images: ImageServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = no_list(engine, images, monkeypatch)
    for _ in range(4):
        step(engine)
    passed = time.time() + 601
    monkeypatch.setattr("fanfold.apps.photo.steps.generating.time.time", lambda: passed)
    engine.run()
    found = engine.task(task)
    assert (found.state, found.held, len(images.jobs)) == ("active", 1, 1)
    [job] = engine.client.external_jobs(task.id)
    assert "Nobody knows whether replicate has the job" in str(job.held)


def test_a_job_is_searched_on_every_page_back_to_the_time_of_the_call(
    engine: Engine, images: ImageServer, folder: Path
) -> None:
    images.page = 2
    for number in range(7):
        images.accept("somebody else's", number, "good")
    images.scripted = ["reset"]
    task = engine.submit(photo, options={"prompt": "a red dress", "count": 4})
    engine.run()
    assert (engine.task(task).state, set(images.paid.values())) == ("completed", {1})


def test_a_list_longer_than_what_is_read_is_no_proof_either(
    engine: Engine, images: ImageServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanfold.apps.photo.services.replicate.PAGES", 2)
    service = connected(configuration.load().chosen("replicate"), lambda name, content: None)
    images.page = 1
    old = images.accept("old", 1, "good")
    for number in range(4):
        images.accept("new", number, "good")
    with pytest.raises(ServiceTrouble, match="not among the last 2 in its list"):
        service.find(Order("old", 1), "key", time.time())
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    found = service.find(Order("old", 1), "key", time.time())
    assert found is not None
    assert found["id"] == old.id
    assert service.find(Order("never", 1), "key", time.time()) is None
    for job in images.jobs.values():
        job.created_at = "2020-01-01T00:00:00Z"
    assert service.find(Order("old", 1), "key", time.time()) is None, "older than the call: the list is not read on"
