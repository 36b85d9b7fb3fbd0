"""A service calls back: too early, three times, forged. It is a hint that leads to one look, and nothing of it is trusted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import fanfold as ff
from fanfold.apps.photo import photo
from tests.image_server import ImageServer
from tests.installation import HandClock, Installation
from tests.s3_server import free_port
from tests.server.asking import served

pytestmark = pytest.mark.usefixtures("folder")


@pytest.fixture
def clock() -> HandClock:
    """Turned by hand: no poll is due by itself."""
    return HandClock()


@pytest.fixture
def reachable(database_url: str, tmp_path: Path, clock: HandClock) -> Iterator[Installation]:
    """An installation whose server the service can call."""
    port = free_port()
    made = Installation(database_url, tmp_path / "data", clock, public_url=f"http://127.0.0.1:{port}")
    made.know(photo)
    with served(made, port=port):
        yield made
    made.store.close()


def waiting(here: Installation, images: ImageServer, service: str) -> ff.Task:
    """A task whose job is under way, looked at once."""
    images.late_seconds, images.scripted, images.webhooks = 3_600.0, ["late"], 3
    task = here.client.submit(photo, options={"prompt": "a red dress", "service": service})
    here.work()
    assert images.called_back == {"early 204": 1, "forged 404": 1}, "before the start was answered"
    assert images.looks == 1
    return task


@pytest.mark.parametrize("service", ["replicate", "fal"])
def test_three_calls_are_one_look_and_a_forged_one_is_none(
    reachable: Installation, images: ImageServer, service: str
) -> None:
    waiting(reachable, images, service)
    [job] = images.jobs.values()
    images.forge(job)
    reachable.work()
    assert images.looks == 1
    images.call_back(job)
    assert images.called_back == {"early 204": 1, "forged 404": 2, "done 204": 3}
    reachable.work()
    assert images.looks == 2


@pytest.mark.parametrize("service", ["replicate", "fal"])
def test_a_call_ends_the_wait_but_the_picture_comes_from_an_own_look(
    reachable: Installation, images: ImageServer, service: str
) -> None:
    task = waiting(reachable, images, service)
    [job] = images.jobs.values()
    images.call_back(job)
    reachable.work()
    assert reachable.client.get(task.id).word == "ai_processing", "the call says done, the service does not"
    images.late_seconds = 0.0
    images.call_back(job)
    reachable.work()
    assert reachable.client.get(task.id).state == "completed"
    assert len(images.jobs) == 1
