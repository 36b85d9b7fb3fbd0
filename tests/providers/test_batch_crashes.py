"""Kills a worker at every step in the life of a batch: nothing is paid for twice, and nothing is lost."""

from pathlib import Path

import pytest

import fanfold as ff
from tests.ai_server import AIServer
from tests.engine.live import Live
from tests.providers.batch_crashes import QUICK, Mortal, speak
from tests.providers.batch_worker import STEPS
from tests.waiting import eventually


@pytest.mark.acceptance
@pytest.mark.parametrize(
    ("databases", "kind"), [("sqlite", "openai"), ("postgresql", "anthropic")], indirect=["databases"]
)
def test_workers_killed_at_every_step_of_a_batch_cost_nothing_twice(
    kind: str, database_url: str, tmp_path: Path, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step of one batch is the last of some worker.

    `make chaos` kills at each step of a batch of its own, for both services on both databases.
    """
    speak(kind, ai, monkeypatch)
    steps = [step for step in STEPS if kind == "openai" or step != "uploaded"]
    live = Live(database_url, tmp_path, **QUICK)
    with Mortal(live, steps) as mortal:
        done = mortal.run(ai)
        assert mortal.deaths() == dict.fromkeys(steps, -9)
    assert done.spending.calls == len(mortal.items)
    assert ai.batches.paid == dict.fromkeys(mortal.items, 1)
    eventually(lambda: {one.state for one in live.client.batches()} == {"done"})
    assert (ai.calls, ai.batches.files) == ([], {})
    assert kind == "openai" or ai.batches.batches == {}
    live.store.close()


def test_the_client_names_batches_in_public_types() -> None:
    assert ff.Batch.__doc__
