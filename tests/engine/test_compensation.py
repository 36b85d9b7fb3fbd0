"""A compensation takes effect once per generation, whatever happens around it."""

from collections.abc import Callable
from typing import Any

import pytest

import fanfold as ff
from tests.engine.pipelines import one_step
from tests.installation import HandClock, Installation


class Refunds:
    """A pipeline that fails while it is told to, and a ledger of refunds."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.works = False
        self.refund_works = True
        self.paid: list[str] = []
        self.pipeline = one_step(self.work, "image")
        self.pipeline.on_failed(self.refund)
        self.pipeline.on_cancelled(self.tidy)
        installation.know(self.pipeline)

    def work(self, task: Any) -> str:
        if not self.works:
            raise ff.Permanent("the model refused")
        return "picture"

    def refund(self, task: Any) -> None:
        if not self.refund_works:
            raise ff.Permanent("the bank is closed")
        self.paid.append(task.idempotency_key)

    def tidy(self, task: Any) -> None:
        self.paid.append(f"cancelled {task.id}")

    def submit(self) -> ff.Task:
        return self.installation.client.submit(self.pipeline)


@pytest.fixture
def refunds(installation: Installation) -> Refunds:
    return Refunds(installation)


def state(refunds: Refunds, task: ff.Task) -> tuple[str, str, str | None]:
    now = refunds.installation.client.get(task.id)
    return now.state, now.status, now.error_message


def test_a_final_failure_is_made_up_for_before_the_task_has_failed(refunds: Refunds) -> None:
    task = refunds.submit()
    worker = refunds.installation.worker()
    worker.settle(*(worker.call(row, one) for row, one in worker.turn().claimed))
    assert state(refunds, task) == ("active", "compensating", "only failed: the model refused")
    assert refunds.paid == []
    refunds.installation.work()
    assert state(refunds, task) == ("failed", "failed", "only failed: the model refused")
    assert refunds.paid == [f"{task.id}/on_failed/1"]
    assert refunds.installation.client.get(task.id).stage == "only"


def test_a_crash_in_the_middle_of_it_runs_it_again_with_the_same_key(refunds: Refunds, clock: HandClock) -> None:
    task = refunds.submit()
    worker = refunds.installation.worker("doomed")
    worker.settle(*(worker.call(row, one) for row, one in worker.turn().claimed))
    [(row, one)] = worker.turn().claimed
    worker.call(row, one)
    clock.advance(60)
    refunds.installation.sweep()
    refunds.installation.work()
    assert refunds.paid == [f"{task.id}/on_failed/1"] * 2, "at least once, and the bank can tell that it is the same"
    assert state(refunds, task)[0] == "failed"


def test_a_failure_after_a_retry_is_paid_back_once_more_under_a_key_of_its_own(refunds: Refunds) -> None:
    task = refunds.submit()
    refunds.installation.work()
    refunds.installation.client.retry(task.id)
    refunds.installation.work()
    assert state(refunds, task) == ("failed", "failed", "only failed: the model refused")
    assert refunds.paid == [f"{task.id}/on_failed/1", f"{task.id}/on_failed/1/g1.0"]


def test_a_cancel_after_a_refund_and_a_retry_is_no_second_refund(refunds: Refunds, clock: HandClock) -> None:
    task = refunds.submit()
    refunds.installation.work()
    clock.advance(1)
    refunds.installation.client.retry(task.id)
    clock.advance(1)
    assert refunds.installation.client.cancel(task.id).state == "cancelled"
    refunds.installation.work()
    assert refunds.paid == [f"{task.id}/on_failed/1"]


def test_a_cancel_after_a_refund_makes_up_for_what_was_begun_since(refunds: Refunds, clock: HandClock) -> None:
    task = refunds.submit()
    refunds.installation.work()
    clock.advance(1)
    refunds.installation.client.retry(task.id)
    clock.advance(1)
    [begun] = refunds.installation.worker().claim()
    assert begun.stage == "only"
    refunds.installation.client.cancel(task.id)
    refunds.installation.work()
    assert refunds.paid == [f"{task.id}/on_failed/1", f"cancelled {task.id}"]
    clock.advance(1)
    refunds.installation.client.retry(task.id)
    assert refunds.installation.client.cancel(task.id).state == "cancelled"
    assert len(refunds.paid) == 2


def test_a_task_that_an_older_version_has_retried_is_not_paid_back_twice(refunds: Refunds) -> None:
    """Older versions start no new generation."""
    task = refunds.submit()
    refunds.installation.work()
    refunds.installation.sql("UPDATE items SET state = 'pending', finished_at = NULL WHERE stage = 'only'")
    refunds.installation.sql("UPDATE tasks SET state = 'active', finished_at = NULL")
    refunds.installation.work()
    assert state(refunds, task)[0] == "failed"
    assert refunds.paid == [f"{task.id}/on_failed/1"]


def test_a_rerun_is_made_up_for_by_itself(refunds: Refunds) -> None:
    task = refunds.submit()
    refunds.installation.work()
    refunds.installation.client.rerun(task.id)
    refunds.installation.work()
    assert refunds.paid == [f"{task.id}/on_failed/1", f"{task.id}/on_failed/1/g1.0"]


def test_the_same_failure_is_never_made_up_for_by_both_steps(refunds: Refunds) -> None:
    """The refund failed, so the retry stays in the same generation; only a later cancel compensates."""
    refunds.refund_works = False
    task = refunds.submit()
    refunds.installation.work()
    refunds.installation.client.retry(task.id)
    refunds.installation.client.cancel(task.id)
    refunds.installation.work()
    assert refunds.paid == [f"cancelled {task.id}"]
    refunds.refund_works = True
    refunds.installation.sweep()
    refunds.installation.work()
    assert refunds.paid == [f"cancelled {task.id}"]


def test_a_retry_that_succeeds_completes_the_task(refunds: Refunds) -> None:
    task = refunds.submit()
    refunds.installation.work()
    refunds.works = True
    refunds.installation.client.retry(task.id)
    assert refunds.installation.completed(task) == "picture"
    assert refunds.installation.client.get(task.id).error_message is None


def test_a_task_that_succeeds_is_not_paid_back(refunds: Refunds) -> None:
    refunds.works = True
    assert refunds.installation.completed(refunds.submit()) == "picture"
    assert refunds.paid == []


def test_a_compensation_that_fails_is_told_beside_the_first_error(refunds: Refunds) -> None:
    refunds.refund_works = False
    task = refunds.submit()
    refunds.installation.work()
    now = refunds.installation.client.get(task.id)
    assert (now.state, now.error_code) == ("failed", "on_failed_failed")
    assert now.error_message == (
        "only failed: the model refused; on_failed itself failed: on_failed failed: the bank is closed"
    )


def test_a_compensation_that_failed_runs_again_when_the_task_fails_again(refunds: Refunds) -> None:
    refunds.refund_works = False
    task = refunds.submit()
    refunds.installation.work()
    refunds.refund_works = True
    refunds.installation.client.retry(task.id)
    refunds.installation.work()
    assert state(refunds, task)[0] == "failed"
    assert len(refunds.paid) == 1


@pytest.mark.parametrize("stage", ["on_failed", "on_cancelled"])
def test_a_compensation_that_never_ran_cannot_be_retried(refunds: Refunds, stage: str) -> None:
    refunds.works = True
    task = refunds.submit()
    refunds.installation.completed(task)
    with pytest.raises(ff.FanfoldError):
        refunds.installation.client.retry(task.id, stage=stage)
    assert state(refunds, task)[0] == "completed"


def test_a_cancelled_task_is_tidied_up_once(refunds: Refunds) -> None:
    task = refunds.submit()
    assert refunds.installation.client.cancel(task.id).status == "compensating"
    refunds.installation.work()
    assert state(refunds, task)[0] == "cancelled"
    refunds.installation.client.retry(task.id)
    refunds.installation.client.cancel(task.id)
    assert state(refunds, task)[0] == "cancelled"
    assert refunds.paid == [f"cancelled {task.id}"]


@pytest.mark.parametrize("act", ["pause", "cancel", "retry", "delete", "rerun"])
def test_a_compensation_under_way_is_not_interrupted(refunds: Refunds, act: str) -> None:
    task = refunds.submit()
    refunds.installation.client.cancel(task.id)
    command: Callable[[str], Any] = getattr(refunds.installation.client, act)
    with pytest.raises(ff.IllegalMove, match=f"Task {task.id} is active"):
        command(task.id)
    refunds.installation.work()
    assert state(refunds, task)[0] == "cancelled"


def test_why_a_task_was_paused_is_not_said_of_its_compensation(refunds: Refunds) -> None:
    task, client = refunds.submit(), refunds.installation.client
    client.pause(task.id, "too dear")
    client.cancel(task.id)
    now = client.get(task.id)
    assert (now.state, now.stage, now.needs_you) == ("active", "on_cancelled", None)
    refunds.installation.work()
    assert client.get(task.id).state == "cancelled"
