"""A proofreading in the batch lane: all chunks are asked for in one batch, at the batch price."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fanfold.apps.proofread import proofread
from tests.ai_server import AIServer
from tests.apps.proofread.answering import replacing, served
from tests.engine.live import Live

CORRECT = replacing(("teh", "the"))


@pytest.fixture
def live(sqlite_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers, whose batches are sent soon."""
    made = Live(sqlite_url, tmp_path, batch_quiet_seconds=2.0, batch_poll_seconds=0.2, batch_trial=0)
    yield made
    made.store.close()


def test_all_chunks_of_a_book_go_into_one_batch(
    live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BATCH", "1")
    ai.answer(served(CORRECT))
    path = tmp_path / "novel.txt"
    path.write_text("\n\n".join(f"Chapter {at}\n\nIn teh night of storm {at}." for at in range(1, 7)))
    options = {"provider": "fake", "lane": "batch", "chunk_size": 40}
    task = live.client.submit(live.know(proofread), path, options=options, straight_through=True)
    with live.working(concurrency=8):
        live.until(task, "completed")
    assert live.client.result(task.id)["file"].read_text() == CORRECT(path.read_text())
    assert (len(ai.batches.batches), len(ai.batches.paid), set(ai.batches.paid.values())) == (1, 6, {1})
    assert ai.calls == []
