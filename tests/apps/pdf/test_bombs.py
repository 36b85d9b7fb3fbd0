"""PDFs made to hang, crash or bloat their reader fail soon, with a reason, and affect nothing else."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from fanfold.apps.pdf import pdf
from tests.apps.pdf.bombs import bombs, one_bad_page_of_three
from tests.apps.pdf.making import make_pdf
from tests.engine.live import Live
from tests.waiting import eventually

LIMIT = 300_000_000


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """Real workers with little memory for their children."""
    made = Live(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path / "data", child_memory_bytes=LIMIT)
    made.know(pdf)
    yield made
    made.store.close()


def largest_child() -> int:
    sizes = [0]
    for child in psutil.Process().children():
        try:
            sizes.append(child.memory_info().rss)
        except psutil.NoSuchProcess:
            continue
    return max(sizes)


@pytest.mark.timeout(400)
def test_every_bomb_ends_within_its_memory_and_costs_no_other_document_anything(live: Live, tmp_path: Path) -> None:
    good = live.client.submit(pdf, make_pdf(tmp_path / "good.pdf", ["Some text of a good document, page one."]))
    tasks = {}
    for name, content in bombs().items():
        source = tmp_path / f"{name}.pdf"
        source.write_bytes(content)
        tasks[name] = live.client.submit(pdf, source, options={"ocr": "never"})
    peak = [0]

    def are_over() -> bool:
        peak[0] = max(peak[0], largest_child())
        return all(live.client.get(task.id).finished for task in tasks.values())

    with live.working(concurrency=8, children=2):
        eventually(are_over, 300)
        live.until(good, "completed", 60)
    for name, task in tasks.items():
        items = [item for stage in ("split", "convert") for item in live.client.items(task.id, stage=stage)]
        whys = {item.error_code for item in items if item.state == "failed"}
        assert whys <= {"memory", "broken_pdf", "broken_page", "too_many_pages", "poison"}, (name, whys)
        assert whys or live.client.get(task.id).state == "completed", name
    assert peak[0] < 2 * LIMIT


@pytest.mark.timeout(300)
def test_a_page_that_is_a_bomb_costs_only_itself(live: Live, tmp_path: Path) -> None:
    source = tmp_path / "mixed.pdf"
    source.write_bytes(one_bad_page_of_three())
    task = live.client.submit(pdf, source)
    with live.working(concurrency=4, children=2):
        live.until(task, "partial", 200)
    assert live.states(task, "convert") == "done failed done"
    [_, bad, _] = live.client.items(task.id, stage="convert")
    assert (bad.error_code, bad.crashes) == ("memory", 0)
    assert "300 MB" in str(bad.error_message)
