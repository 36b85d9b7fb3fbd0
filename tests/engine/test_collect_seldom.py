"""Python's collector runs seldom while workers run, and as before afterwards."""

import gc
from collections.abc import Iterator

import pytest

from fanfold.engine.worker.beside.collect_seldom import COLLECT_AFTER, collecting_seldom
from tests.engine.live import Live
from tests.engine.pipelines import batch

USUAL = (700, 10, 10)


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    """Python's own threshold."""
    before = gc.get_threshold()
    gc.set_threshold(*USUAL)
    yield
    gc.set_threshold(*before)


def test_the_threshold_is_raised_until_the_last_worker_has_left() -> None:
    first, second = collecting_seldom(), collecting_seldom()
    first.__enter__()
    second.__enter__()
    assert gc.get_threshold() == (COLLECT_AFTER, *USUAL[1:])
    first.__exit__(None, None, None)
    assert gc.get_threshold() == (COLLECT_AFTER, *USUAL[1:]), "another worker still runs"
    second.__exit__(None, None, None)
    assert gc.get_threshold() == USUAL


@pytest.mark.parametrize("own", [COLLECT_AFTER * 2, 0], ids=["higher", "off"])
def test_a_higher_threshold_is_left_alone(own: int) -> None:
    gc.set_threshold(own, *USUAL[1:])
    with collecting_seldom():
        assert gc.get_threshold()[0] == own
    assert gc.get_threshold()[0] == own


def test_a_worker_raises_it_for_its_handlers(live: Live) -> None:
    seen: list[int] = []

    def handler(item: object) -> None:
        seen.append(gc.get_threshold()[0])

    task = live.client.submit(live.know(batch("seldom", handler=handler)), items=range(2))
    with live.working():
        live.until(task, "completed")
    assert set(seen) == {COLLECT_AFTER}
    assert gc.get_threshold() == USUAL
