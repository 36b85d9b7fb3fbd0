"""An external job is started once, whatever breaks between the call and its id."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

import fanfold as ff
from fanfold.errors import IllegalMove, NotFound
from fanfold.model.item import Claimed
from fanfold.model.task import TaskRow
from fanfold.store.store import Store, Transaction
from tests.engine.jobs import JobService, in_loop, raising
from tests.installation import HandClock, HandWorker, Installation


class Died(BaseException):
    """The process ends here."""


def submit(installation: Installation, service: JobService, *keys: str, **rules: Any) -> ff.Task:
    pipeline = installation.know(service.pipeline(**rules))
    return installation.client.submit(pipeline, items=[ff.NewItem(key=key) for key in keys or ("a",)])


def outputs(installation: Installation, task: ff.Task) -> list[Any]:
    assert installation.client.get(task.id).state == "completed"
    return list(installation.client.result(task.id))


def forget_worker(installation: Installation, worker: HandWorker) -> None:
    """What a dead process leaves: only its leases, which the sweep takes back."""
    with installation.store.write() as tx:
        tx.workers.leave(worker.name)
    installation.sweep()


@contextmanager
def pulling_the_plug(store: Store, commit: int, *, after: bool) -> Iterator[None]:
    """The process dies just before or just after its ``commit``-th commit."""
    made, write = 0, store.write

    @contextmanager
    def dying() -> Iterator[Transaction]:
        nonlocal made
        made += 1
        with write() as tx:
            yield tx
            if made == commit and not after:
                raise Died
        if made == commit:
            raise Died

    store.write = dying  # type: ignore[method-assign]
    try:
        yield
    finally:
        store.write = write  # type: ignore[method-assign]


def run_until_death(installation: Installation, commit: int, *, after: bool) -> None:
    """Claim an item and run it in a process that dies meanwhile."""
    worker = installation.worker()
    [(row, claimed)] = worker.turn().claimed
    with pulling_the_plug(installation.store, commit, after=after):
        worker.call(row, claimed)
    forget_worker(installation, worker)


def test_a_job_is_started_once_and_looked_at_until_it_is_done(installation: Installation, clock: HandClock) -> None:
    service = JobService(looks=3)
    task = submit(installation, service, "a", "b")
    for _ in range(4):
        installation.work()
        clock.advance(5)
    assert outputs(installation, task) == ["made by job-1", "made by job-2"]
    assert (service.doubles, len(service.starts)) == ({}, 2)
    [item, _] = installation.client.items(task.id)
    assert item.failures == 0


@pytest.mark.parametrize("colour", ["def", "async def"])
def test_the_functions_may_have_either_colour(installation: Installation, colour: str) -> None:
    service, photo = JobService(), ff.Pipeline("photo")
    wrap = in_loop if colour == "async def" else lambda function: function

    @photo.step
    async def render(task: ff.TaskWork) -> Any:
        return await task.external(start=wrap(service.start), look=wrap(service.look), find=wrap(service.find))

    assert installation.completed(installation.client.submit(installation.know(photo))) == "made by job-1"


def test_a_plain_handler_runs_the_same_call_in_a_loop_of_its_own(installation: Installation, clock: HandClock) -> None:
    service, photo = JobService(looks=1), ff.Pipeline("photo")

    @photo.step
    def render(task: ff.TaskWork) -> Any:
        return asyncio.run(task.external(start=service.start, look=service.look))

    task = installation.client.submit(installation.know(photo))
    installation.work()
    clock.advance(5)
    assert installation.completed(task) == "made by job-1"
    assert service.doubles == {}


def test_several_jobs_of_one_item_have_names_and_keys_of_their_own(installation: Installation) -> None:
    service, photo = JobService(), ff.Pipeline("photo")

    @photo.step
    async def render(task: ff.TaskWork) -> list[Any]:
        return [await task.external(start=service.start, look=service.look, name=name) for name in ("scan", "print")]

    task = installation.client.submit(installation.know(photo))
    assert installation.completed(task) == ["made by job-1", "made by job-2"]
    assert sorted(service.starts) == [f"{task.id}/render/1/print", f"{task.id}/render/1/scan"]


@pytest.mark.parametrize("find", [True, False], ids=["find", "no_find"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("commit", [1, 2])
def test_a_crash_between_any_two_steps_starts_no_job_twice(
    installation: Installation, commit: int, after: bool, find: bool
) -> None:
    """Commit 1 stores the intent, then the job is started, and commit 2 stores its id."""
    service = JobService()
    task = submit(installation, service, find=find)
    run_until_death(installation, commit, after=after)
    installation.work()
    assert service.doubles == {}
    is_clear = (commit, after) in ((1, False), (2, True))
    if find or is_clear:
        assert outputs(installation, task) == ["made by job-1"]
    else:
        assert installation.client.get(task.id).held == 1
        assert "it is unknown whether the external job" in str(installation.client.get(task.id).wait_reason)


@pytest.mark.parametrize(
    "error",
    [TimeoutError("no answer"), ConnectionResetError("cut"), RuntimeError("odd")],
    ids=lambda error: type(error).__name__,
)
def test_a_start_of_unknown_outcome_is_looked_up_by_its_key(
    installation: Installation, clock: HandClock, error: Exception
) -> None:
    service = JobService()
    service.trouble.append(raising(error))
    task = submit(installation, service)
    installation.work()
    assert installation.states(task) == "retrying"
    clock.advance(60)
    installation.work()
    assert (outputs(installation, task), service.doubles) == (["made by job-1"], {})


def test_what_the_service_does_not_know_is_started_again_with_the_same_key(
    installation: Installation, clock: HandClock
) -> None:
    service = JobService()
    service.refusals.append(TimeoutError("it never got there"))
    task = submit(installation, service)
    installation.work()
    clock.advance(60)
    installation.work()
    assert outputs(installation, task) == ["made by job-1"]
    assert service.starts == {f"{task.id}/render/a": 1}


def test_without_a_way_to_find_it_a_person_decides_at_once(installation: Installation, clock: HandClock) -> None:
    service = JobService()
    service.trouble.append(raising(TimeoutError("no answer")))
    task = submit(installation, service, find=False)
    installation.work()
    clock.advance(86_400)
    installation.work()
    [job] = installation.client.external_jobs(task.id)
    assert (job.item, job.state, job.key, job.job) == ("a", "unknown", f"{task.id}/render/a", None)
    assert "TimeoutError: no answer" in str(job.held)
    assert sum(service.starts.values()) == 1


@pytest.mark.parametrize(
    "error",
    [ff.Temporary("busy", after=1), ff.Permanent("no such model"), ConnectionRefusedError("nobody there")],
    ids=lambda error: type(error).__name__,
)
def test_a_sure_refusal_is_an_ordinary_failure(installation: Installation, error: Exception) -> None:
    service = JobService()
    service.refusals.append(error)
    task = submit(installation, service, find=False)
    installation.work()
    assert installation.client.external_jobs(task.id) == []
    assert installation.states(task) == ("failed" if isinstance(error, ff.Permanent) else "retrying")
    [item] = installation.client.items(task.id)
    assert item.failures == 1


def test_polling_uses_up_no_retry_and_ends_with_a_reason(installation: Installation, clock: HandClock) -> None:
    service = JobService(looks=1_000)
    task = submit(installation, service, wait_limit=100)
    for _ in range(25):
        installation.work()
        clock.advance(5)
    now = installation.client.get(task.id)
    [(_, code, why, _)] = installation.client.failures(task.id)
    assert (now.state, code, service.cancelled) == ("failed", "gave_up", ["job-1"])
    assert why.startswith('Gave up on the external job "job-1" after ')
    assert sum(service.starts.values()) == 1


def test_time_in_a_persons_hands_is_not_the_jobs_time(installation: Installation, clock: HandClock) -> None:
    service = JobService(looks=2)
    service.trouble.append(raising(TimeoutError("no answer")))
    task = submit(installation, service, find=False, wait_limit=100)
    installation.work()
    clock.advance(86_400)
    installation.client.external(task.id, "resend")
    for _ in range(3):
        installation.work()
        clock.advance(5)
    assert outputs(installation, task) == ["made by job-2"]


def test_a_job_that_came_to_a_bad_end_is_replaced_under_a_new_key(installation: Installation, clock: HandClock) -> None:
    service = JobService()
    service.ends.append(ff.JobFailed("out of memory"))
    task = submit(installation, service)
    installation.work()
    clock.advance(60)
    installation.work()
    assert outputs(installation, task) == ["made by job-2"]
    assert service.starts == {f"{task.id}/render/a": 1, f"{task.id}/render/a~2": 1}


def test_a_refused_start_does_not_forget_the_job_that_failed_before(
    installation: Installation, clock: HandClock
) -> None:
    """A service that knows keys would otherwise give the failed job again."""
    service = JobService()
    service.ends.append(ff.JobFailed("out of memory"))
    task = submit(installation, service)
    installation.work()
    service.refusals.append(ConnectionRefusedError("nobody there"))
    for _ in range(3):
        clock.advance(60)
        installation.work()
    assert outputs(installation, task) == ["made by job-2"]
    assert service.starts == {f"{task.id}/render/a": 1, f"{task.id}/render/a~2": 1}


@pytest.mark.parametrize("error", [RuntimeError("odd"), ff.Temporary("busy", after=60)], ids=["any", "temporary"])
def test_polls_that_fail_use_no_retry_and_poll_the_same_job_again(
    installation: Installation, clock: HandClock, error: Exception
) -> None:
    service = JobService()
    service.ends += [error] * 7
    task = submit(installation, service)
    installation.work()
    reason = installation.client.get(task.id).wait_reason
    assert reason is not None
    assert str(error) in reason
    for _ in range(7):
        clock.advance(60)
        installation.work()
    assert (outputs(installation, task), sum(service.starts.values())) == (["made by job-1"], 1)
    assert installation.client.items(task.id)[0].failures == 0


def test_a_job_that_cannot_be_polled_is_given_up_after_the_limit(installation: Installation, clock: HandClock) -> None:
    service = JobService()
    service.ends += [RuntimeError("odd")] * 100
    task = submit(installation, service, wait_limit=100)
    installation.work()
    for _ in range(3):
        clock.advance(60)
        installation.work()
    [(_, code, message, _)] = installation.client.failures(task.id)
    assert code == "gave_up"
    assert message is not None
    assert "The last poll failed: RuntimeError: odd" in message


@pytest.mark.parametrize("redo", ["with options", "of a done item", "rerun"])
def test_work_that_is_redone_on_purpose_starts_a_new_job(installation: Installation, redo: str) -> None:
    service = JobService()
    task = submit(installation, service)
    installation.work()
    if redo == "rerun":
        installation.client.rerun(task.id)
    else:
        installation.client.retry(task.id, ["a"], options={"model": "other"} if redo == "with options" else None)
    installation.work()
    assert outputs(installation, task) == ["made by job-2"]
    assert (len(service.starts), service.doubles) == (2, {})


@pytest.mark.parametrize(
    ("verb", "jobs", "keys"),
    [("check", 1, [""]), ("lost", 2, ["", "~2"]), ("resend", 2, [""])],
)
def test_a_person_decides_about_a_job_of_unknown_outcome(
    installation: Installation, verb: str, jobs: int, keys: list[str]
) -> None:
    service = JobService()
    service.trouble.append(raising(TimeoutError("no answer")))
    task = submit(installation, service, find=False)
    installation.work()
    installation.client.external(task.id, verb, reason="I looked there")
    event = installation.client.events(task.id)[-1]
    assert (event.verb, event.actor, event.item) == (verb, "person", "a")
    assert "I looked there" in str(event.reason)
    assert installation.states(task) == "pending"
    installation.work()
    assert sum(service.starts.values()) == jobs
    assert sorted(service.starts) == [f"{task.id}/render/a{key}" for key in keys]
    if verb == "check":
        assert installation.client.get(task.id).held == 1
    else:
        assert outputs(installation, task) == ["made by job-2"]


def test_a_started_job_is_called_lost_only_by_name(installation: Installation) -> None:
    service = JobService(looks=1_000)
    task = submit(installation, service)
    installation.work()
    for verb in ("lost", "resend"):
        with pytest.raises(IllegalMove, match="no external job of unknown outcome"):
            installation.client.external(task.id, verb)
    with pytest.raises(NotFound, match="no external job for item nobody"):
        installation.client.external(task.id, "lost", ["nobody"])
    installation.client.external(task.id, "lost", ["a"])
    installation.work()
    assert len(service.starts) == 2


def test_an_owner_decides_only_about_tasks_of_their_own(installation: Installation) -> None:
    service = JobService()
    service.trouble.append(raising(TimeoutError("no answer")))
    task = submit(installation, service, find=False)
    installation.work()
    stranger = ff.Client(store=installation.store, owner="stranger")
    with pytest.raises(NotFound):
        stranger.external(task.id, "lost")
    with pytest.raises(NotFound):
        stranger.external_jobs(task.id)


def test_nothing_is_left_of_the_jobs_of_a_deleted_task(installation: Installation) -> None:
    task = submit(installation, JobService())
    installation.work()
    installation.client.delete(task.id)
    installation.sweep()
    assert installation.sql("SELECT * FROM externals") == []


def test_no_job_is_started_for_a_task_that_was_paused_just_now(installation: Installation) -> None:
    service = JobService()
    task = submit(installation, service)
    worker = installation.worker()
    [(row, claimed)] = worker.turn().claimed
    installation.client.pause(task.id)
    assert worker.call(row, claimed).ending == "release"
    assert (service.starts, installation.client.external_jobs(task.id)) == ({}, [])


def test_an_id_is_kept_whatever_became_of_item_and_task(installation: Installation) -> None:
    """Handed back after a pause during the call, and even claimed by another worker: the id is not lost."""
    service = JobService()
    task = submit(installation, service)
    first = installation.worker()
    [(row, claimed)] = first.turn().claimed
    later: list[str] = []

    def meanwhile() -> None:
        installation.client.pause(task.id)
        with installation.store.write() as tx:
            tx.settling.release([{"id": claimed.id, "lease": claimed.lease}])
        installation.client.resume(task.id)
        second = installation.worker()
        [(again_row, again)] = second.turn().claimed
        settlement = second.call(again_row, again)
        second.settle(settlement)
        later.append(settlement.ending)

    service.trouble.append(meanwhile)
    assert first.call(row, claimed).ending == "finish"
    assert later == ["postpone"]
    [job] = installation.client.external_jobs(task.id)
    assert (job.state, job.job, service.doubles) == ("started", "job-1", {})


def test_an_id_that_comes_too_late_does_not_replace_a_newer_intent(installation: Installation) -> None:
    task = submit(installation, JobService())
    worker = installation.worker()
    [one] = worker.claim()
    mine = (one.id, one.lease, "job", "k")
    with installation.store.write() as tx:
        assert tx.externals.intend(*mine)
        tx.settling.release([{"id": one.id, "lease": one.lease}])
    [again] = worker.claim()
    newer = (again.id, again.lease, "job", "k")
    with installation.store.write() as tx:
        assert not tx.externals.intend(*mine)
        assert tx.externals.intend(*newer)
    with installation.store.write() as tx:
        assert not tx.externals.started(*mine, '"late"')
        assert not tx.externals.not_known(*mine)
        assert not tx.externals.withdraw(*mine)
        assert tx.externals.started(*newer, '"new"')
    [job] = installation.client.external_jobs(task.id)
    assert job.job == "new"


def test_a_start_that_may_be_under_way_is_waited_for(installation: Installation, clock: HandClock) -> None:
    service = JobService()
    task = submit(installation, service, find=False)
    dead = installation.worker()
    [one] = dead.claim()
    with installation.store.write() as tx:
        tx.externals.intend(one.id, one.lease, "job", f"{task.id}/render/a")
        tx.settling.release([{"id": one.id, "lease": one.lease}])
    installation.work()
    assert (installation.states(task), installation.client.get(task.id).held) == ("waiting", 0)
    with pytest.raises(IllegalMove, match="being started right now"):
        installation.client.external(task.id, "lost")
    clock.advance(16)
    installation.work()
    assert installation.client.get(task.id).held == 1
    with installation.store.write() as tx:
        tx.externals.started(one.id, one.lease, "job", f"{task.id}/render/a", '"job-7"')
    installation.work()
    assert outputs(installation, task) == ["made by job-7"]


def remember(installation: Installation, claimed: Claimed, text: str = '{"job": 1}') -> bool:
    with installation.store.write() as tx:
        return tx.settling.remember(claimed.id, claimed.lease, text, claimed.generation)


@pytest.mark.parametrize("fate", ["release", "pause", "cancel", "postpone"])
def test_what_is_remembered_is_kept_until_somebody_else_claims_the_item(installation: Installation, fate: str) -> None:
    task = submit(installation, JobService())
    worker = installation.worker()
    [one] = worker.claim()
    if fate in ("pause", "cancel"):
        getattr(installation.client, fate)(task.id)
    else:
        with installation.store.write() as tx:
            getattr(tx.settling, fate)([{"id": one.id, "lease": one.lease, "delay": 0}])
    assert remember(installation, one)
    with installation.store.read() as tx:
        assert tx.settling.memory(one.id) == '{"job": 1}'


def test_what_is_remembered_while_the_next_attempt_is_claimed_is_not_lost(installation: Installation) -> None:
    task = submit(installation, JobService())
    worker = installation.worker()
    [one] = worker.claim()
    with installation.store.write() as tx:
        tx.settling.release([{"id": one.id, "lease": one.lease}])
    assert remember(installation, one)
    [again] = worker.claim()
    stale = again._replace(memory=None)
    with installation.store.read() as tx:
        row: TaskRow = tx.tasks.resolve(task.id)
    assert ff.ItemWork(installation.store, row, stale).memory == {"job": 1}


def test_an_attempt_from_before_a_redo_remembers_nothing_for_it(installation: Installation) -> None:
    task = submit(installation, JobService())
    worker = installation.worker()
    [one] = worker.claim()
    worker.finish(one)
    installation.client.retry(task.id, ["a"], options={"model": "other"})
    assert not remember(installation, one)
    [again] = worker.claim()
    assert not remember(installation, one)
    assert remember(installation, again)


def test_a_worker_that_knows_the_task_already_starts_a_new_job_after_a_rerun(installation: Installation) -> None:
    service = JobService()
    task = submit(installation, service)
    worker = installation.worker()
    worker.run()
    installation.client.rerun(task.id)
    worker.run()
    assert outputs(installation, task) == ["made by job-2"]
    assert (len(service.starts), service.doubles) == (2, {})


@pytest.mark.parametrize("many", [1, 3])
def test_items_of_a_split_that_is_redone_start_new_jobs(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    """They have the keys of the items that they replace, but are other work: their input may differ."""
    monkeypatch.setattr("fanfold.engine.tasks.many_items.new_items.CHUNK", 2)
    service = JobService()
    pipeline = ff.Pipeline("photo")

    @pipeline.split
    def list_pages(task: ff.TaskWork) -> Iterator[ff.NewItem]:
        yield from (ff.NewItem(key=f"page-{number}") for number in range(many))

    @pipeline.each
    async def render(item: ff.ItemWork) -> Any:
        return await item.external(start=service.start, look=service.look, find=service.find)

    task = installation.client.submit(installation.know(pipeline))
    installation.work()
    for _ in range(2):
        installation.client.retry(task.id, stage="list_pages", items=["1"])
        installation.work()
    assert installation.client.get(task.id).state == "completed"
    assert (len(service.starts), service.doubles) == (3 * many, {})


def test_a_second_redo_in_a_chain_starts_a_new_job(installation: Installation) -> None:
    """First the later of two stages is redone, then the earlier one: the key of the first redo is used up too."""
    service, sketches = JobService(), count(1)
    pipeline = ff.Pipeline("photo")

    @pipeline.each
    def sketch(item: ff.ItemWork) -> int:
        return next(sketches)

    @pipeline.each
    async def render(item: ff.ItemWork) -> Any:
        return await item.external(start=service.start, look=service.look, find=service.find)

    task = installation.client.submit(installation.know(pipeline), items=[ff.NewItem(key="a")])
    installation.work()
    for stage in ("render", "sketch"):
        installation.client.retry(task.id, ["a"], stage=stage)
        installation.work()
    assert outputs(installation, task) == ["made by job-3"]
    assert (len(service.starts), service.doubles) == (3, {})
