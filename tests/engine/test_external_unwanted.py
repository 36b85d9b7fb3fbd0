"""External jobs that nobody will use: started late beside another one, or left with unknown outcome by what a redo replaces."""

from __future__ import annotations

from typing import Any

import pytest

import fanfold as ff
from fanfold.errors import IllegalMove
from tests.engine.jobs import JobService, raising
from tests.installation import HandClock, Installation
from tests.waiting import eventually


def submitted(installation: Installation, service: JobService, *, compensates: bool = False, **rules: Any) -> ff.Task:
    made = service.pipeline(**rules)
    if compensates:

        @made.on_cancelled
        def refund(task: Any) -> None:
            return None

    return installation.client.submit(installation.know(made), items=[ff.NewItem(key="a")])


def told(installation: Installation, task: ff.Task) -> list[str]:
    return [str(event.reason) for event in installation.client.events(task.id) if event.verb == "late"]


@pytest.mark.parametrize("cancels", [True, False])
def test_a_job_that_a_worker_without_its_lease_started_beside_another_is_cancelled_and_told(
    installation: Installation, cancels: bool
) -> None:
    """A worker was frozen in the call that starts a job; another one found nothing, and started it; then the first one woke."""
    service = JobService()
    if not cancels:
        service.cancel = None  # type: ignore[method-assign, assignment]
    task = submitted(installation, service)
    frozen, other = installation.worker(), installation.worker()
    [(row, claimed)] = frozen.turn().claimed

    def meanwhile() -> None:
        del service.jobs[f"{task.id}/render/a"]  # The call of the frozen worker has not arrived yet.
        with installation.store.write() as tx:
            tx.workers.leave(frozen.name)
        installation.sweep()
        other.run()

    service.trouble.append(meanwhile)
    frozen.call(row, claimed)
    assert installation.completed(task) == ["made by job-2"]
    assert service.cancelled == (["job-1"] if cancels else [])
    [late] = eventually(lambda: told(installation, task))
    assert f'"job-1" (key {task.id}/render/a)' in late
    assert ("cancelled at the service" if cancels else "It runs on") in late
    assert "may be paid for" in late


@pytest.mark.parametrize("way", ["cancel and retry", "pause and rerun"])
def test_a_redo_asks_about_a_job_of_unknown_outcome_before_it_starts_another(
    installation: Installation, way: str
) -> None:
    service = JobService()
    service.trouble.append(raising(ConnectionResetError("accepted, then reset")))
    task = submitted(installation, service, compensates=True, find=False)
    installation.work()
    for command in way.split(" and "):
        getattr(installation.client, command)(task.id)
        installation.work()
    assert (sum(service.starts.values()), installation.client.get(task.id).held) == (1, 1)
    [job] = installation.client.external_jobs(task.id)
    assert (job.state, job.key) == ("unknown", f"{task.id}/render/a")
    installation.client.external(task.id, "lost")
    assert installation.completed(task) == ["made by job-2"]
    assert service.doubles == {}, "the redo has a key of its own"


def test_a_redo_cancels_the_job_before_it_if_that_was_started_after_all(
    installation: Installation, clock: HandClock
) -> None:
    service = JobService()
    service.trouble.append(raising(ConnectionResetError("accepted, then reset")))
    task = submitted(installation, service)
    worker = installation.worker()
    [(row, claimed)] = worker.turn().claimed
    worker.settle(worker.call(row, claimed))  # The outcome is unknown now; the next attempt would look it up.
    installation.client.pause(task.id)
    installation.client.rerun(task.id)
    installation.work()
    assert installation.completed(task) == ["made by job-2"]
    assert (service.cancelled, service.doubles) == (["job-1"], {})
    [late] = told(installation, task)
    assert "from before the redo was started after all. It was cancelled" in late


def test_what_nobody_would_do_is_refused_for_jobs_whose_items_have_ended(installation: Installation) -> None:
    """The item would poll the job or start it again, and it has ended: success would be a lie."""
    service = JobService()
    service.trouble.append(raising(ConnectionResetError("reset")))
    made = service.pipeline(find=False)

    @made.merge
    def gather(task: Any, results: Any) -> list[Any]:
        return [result.output for result in results]

    task = installation.client.submit(installation.know(made), items=[ff.NewItem(key="a")])
    installation.work()
    installation.client.merge(task.id)
    installation.work()
    before = installation.rows()
    for verb in ("check", "resend"):
        with pytest.raises(IllegalMove, match=r"have ended: a\. Retry them first"):
            installation.client.external(task.id, verb)
    assert installation.rows() == before
    installation.client.retry(task.id)
    installation.work()
    assert (installation.client.get(task.id).held, sum(service.starts.values())) == (1, 1)
    installation.client.external(task.id, "resend")
    assert installation.completed(task) == ["made by job-2"]
