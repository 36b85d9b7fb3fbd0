"""What the carrier of Ray tells the dispatcher. With a real Ray: `tests/chaos/test_ray.py`."""

from collections.abc import Mapping
from typing import Any

import pytest

from fanfold.carriers import ray as carrier
from fanfold.carriers.dispatch import Dispatcher
from fanfold.carriers.hint import CarrierDown, Hint
from tests.engine.pipelines import batch
from tests.installation import Installation


class Crowded(carrier.Driver):
    """A driver whose actors are all busy, until a test says otherwise. It has no process."""

    has_room = False
    has_ended = False
    given: list[str]

    def __init__(self, order: Mapping[str, Any]) -> None:
        self.given = []

    def wait(self, seconds: float) -> None:
        """It is ready at once."""

    def ask(self, request: Mapping[str, Any], seconds: float) -> Any:
        if self.has_ended:
            raise carrier.DriverEnded("It has ended.")
        if request["verb"] == "lost":
            return []
        if self.has_room:
            self.given.append(request["hint"]["id"])
        return self.has_room

    def kill(self) -> None:
        """It has no process."""


def echo(item: Any) -> Any:
    return item.input


@pytest.fixture
def crowded(monkeypatch: pytest.MonkeyPatch) -> carrier.RayCarrier:
    pytest.importorskip("ray")
    monkeypatch.setattr(carrier, "Driver", Crowded)
    return carrier.RayCarrier(["tests:batch"], {"batch": batch(handler=echo)})


def test_a_hint_that_no_actor_was_free_for_is_replaced_at_the_next_step(
    installation: Installation, crowded: carrier.RayCarrier
) -> None:
    """An actor ends its hint in the database first, and answers then: until it did, the driver takes it for busy."""
    pipeline = installation.know(batch(handler=echo))
    dispatcher = Dispatcher(installation.store, [pipeline], crowded, hints=1)
    installation.client.submit(pipeline, items=["a"])
    assert [dispatcher.step(), dispatcher.step()] == [1, 1]
    driver = crowded._driver
    assert isinstance(driver, Crowded)
    assert driver.given == []
    driver.has_room = True
    assert [dispatcher.step(), dispatcher.step()] == [1, 0]
    assert len(driver.given) == 1


def test_what_was_refused_is_told_though_the_driver_has_ended(crowded: carrier.RayCarrier) -> None:
    hint = Hint.new(("batch", "convert"), 1.0)
    crowded.send(hint)
    driver = crowded._driver
    assert isinstance(driver, Crowded)
    driver.has_ended = True
    assert crowded.lost() == [hint.id]
    assert crowded.lost() == []
    Crowded.has_ended = True
    try:
        with pytest.raises(CarrierDown):
            crowded.send(hint)
    finally:
        Crowded.has_ended = False
    assert crowded.lost() == [], "the dispatcher knows that it was not sent"


def test_the_resources_of_a_stage_are_those_of_its_actors() -> None:
    def options(**rules: Any) -> dict[str, Any]:
        return carrier.options_of(batch(handler=echo, **rules).stages["convert"])

    assert options() == {"num_cpus": 1, "num_gpus": 0, "resources": {}}
    asked = {"CPU": 2, "GPU": 0.5, "special": 1}
    assert options(resources=asked) == {"num_cpus": 2, "num_gpus": 0.5, "resources": {"special": 1}}
    assert asked == {"CPU": 2, "GPU": 0.5, "special": 1}
