"""Every decision is merged, even if the merging worker is killed."""

from pathlib import Path

import pytest

from tests.acceptance.fleet import Fleet, fleet, patiently
from tests.acceptance.work import reviewed


def merges(ours: Fleet) -> int:
    return len(ours.calls("merge")["-"])


def test_decisions_are_merged_after_the_worker_that_merges_was_killed(database_url: str, tmp_path: Path) -> None:
    with fleet(database_url, tmp_path) as ours:
        hold = Path(f"{ours.log}.hold")
        task = ours.client.submit(reviewed, items=["a", "b", "c"], options={"log": str(ours.log)}).id
        worker = ours.worker("reviewed")
        ours.until(task)
        assert (merges(ours), ours.client.result(task)) == (1, {})
        hold.touch()
        ours.client.decide(task, "1", "first", "reject")
        patiently(lambda: merges(ours) == 2, 60, ours.said)
        ours.client.decide(task, "2", "while it merges", "accept")
        worker.kill()
        worker.wait(60)
        ours.client.decide(task, "3", "while nobody is there", "replace", "x")
        hold.unlink()
        assert ours.client.get(task).state == "active"
        ours.worker("reviewed")
        ours.until(task)
        assert ours.client.result(task) == {"1": ["first"], "2": ["while it merges"], "3": ["while nobody is there"]}
        assert merges(ours) == 3, "the attempt that was killed, and one that has read everything"
        assert {len(calls) for calls in ours.calls("start").values()} == {1}, "no item was redone"


@pytest.mark.one_database
def test_a_decision_between_two_workers_waits_for_the_next(database_url: str, tmp_path: Path) -> None:
    with fleet(database_url, tmp_path) as ours:
        task = ours.client.submit(reviewed, items=["a"], options={"log": str(ours.log)}).id
        worker = ours.worker("reviewed")
        ours.until(task)
        worker.kill()
        worker.wait(60)
        for part in "xyz":
            ours.client.decide(task, "1", part, "accept")
        ours.worker("reviewed")
        ours.until(task)
        assert (merges(ours), ours.client.result(task)) == (2, {"1": ["x", "y", "z"]})
