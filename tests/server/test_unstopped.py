"""A handler that ignores cancel and cannot be ended: page and API say so instead of pretending."""

import pytest

from tests.engine.pipelines import batch
from tests.installation import Installation
from tests.server.asking import Asker


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "1 handler is still running in deaf-1 and cannot be stopped"), ("zh", "deaf-1")],
)
def test_a_cancelled_task_whose_handler_runs_on_says_so(
    asker: Asker, installation: Installation, language: str, said: str
) -> None:
    task = installation.client.submit(installation.know(batch("small")), items=["a"])
    worker = installation.worker("deaf-1")
    [claimed] = worker.claim()
    installation.client.cancel(task.id)
    shown = asker.get(f"/tasks/{task.id}")
    assert (shown["state"], shown["still_running"]) == ("cancelled", None), "nobody has noted that it runs on"
    with installation.store.write() as tx:
        tx.workers.register("deaf-1", "here", 1, [], 1)
        tx.unstopped.note("deaf-1", claimed)
    shown = asker.get(f"/tasks/{task.id}")
    assert shown["state"] == "cancelled"
    assert shown["still_running"] == "1 handler is still running in deaf-1 and cannot be stopped"
    assert shown["sentences"]["still_running"]["code"]
    page = asker.ask("GET", f"//tasks/{task.id}", headers={"accept-language": language}).text
    assert said in page
    assert ("cannot be stopped" in page) == (language == "en")
