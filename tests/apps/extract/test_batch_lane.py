"""An extraction in the batch lane: all groups of a document are asked for in one batch, at the batch price."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import fanfold as ff
from fanfold.apps.extract import extract
from tests.ai_server import AIServer
from tests.apps.extract.answering import served
from tests.apps.extract.test_pipeline import PAPER
from tests.engine.live import Live


@pytest.fixture
def live(sqlite_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers, whose batches are sent soon."""
    made = Live(sqlite_url, tmp_path, batch_quiet_seconds=2.0, batch_poll_seconds=0.2, batch_trial=0)
    yield made
    made.store.close()


def test_the_groups_of_a_document_are_asked_for_in_one_batch(
    live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BATCH", "1")
    names = [f"f{number}" for number in range(20)]
    ai.answer(served(dict.fromkeys(names, ("Statins in Sweden", "Statins in Sweden"))))
    items = [ff.NewItem("paper", {"text": PAPER})]
    options = {"template": "\n".join(f"{name}: What?" for name in names), "provider": "fake", "lane": "batch"}
    task = live.client.submit(live.know(extract), items=items, options=options)
    with live.working(concurrency=8):
        live.until(task, "completed")
    assert live.client.result(task.id)["cells"] == {"ok": 20}
    assert (len(ai.batches.batches), len(ai.batches.paid), set(ai.batches.paid.values())) == (1, 2, {1})
    assert ai.calls == []
