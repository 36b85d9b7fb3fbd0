"""Routes to submit, list, get, control and delete tasks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

from fastapi import Body, Depends, Header, Path, Query, Request, Response

from fanfold.engine.client import Client
from fanfold.engine.redaction import without_keys
from fanfold.errors import Ambiguous, BadInput, FanfoldError, HandlerError, NotFound
from fanfold.model.lifecycle import TaskState
from fanfold.model.task import Task, TaskOrder
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.model.values.decoding import FILE_MARK
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes.shared_shapes import Text
from fanfold.server.api.shapes.task_requests import (
    AcceptRequest,
    BulkReport,
    BulkRequest,
    GateAnswerShape,
    ManySubmitted,
    ManyTasks,
    NewTask,
    OneSubmitted,
    Reason,
    Refused,
    ResumeRequest,
    RetryRequest,
    WhyRefused,
)
from fanfold.server.api.shapes.task_shapes import TaskList, TaskShape
from fanfold.server.api.submitting import (
    BODY,
    check_task,
    has_archive,
    has_secret,
    read_submission,
    submitted,
    submitted_together,
)
from fanfold.server.api.uploading import close
from fanfold.server.requests.adapted_messages import without_commands
from fanfold.server.requests.authentication import At, Changing, Looking, changing
from fanfold.server.requests.problems import told_to_all
from fanfold.server.threads.database_threads import Router, unlocking, writing

router = Router(tags=["tasks"])
log = logging.getLogger("fanfold.server")
TaskId = Annotated[
    Text, Path(description="Id of a task; may be shortened as long as it is unambiguous.", max_length=64)
]


def watched_task(client: Looking, task_id: TaskId) -> Task:
    """The task to watch; fails before the stream starts if there is none."""
    return client.get(task_id)


WatchedTask = Annotated[Task, Depends(watched_task)]
MAY_CHANGE = [Depends(changing)]
MOST_AT_ONCE = 1000
KNOWN: dict[str, Any] = {"model": TaskShape, "description": "The task that already has the idempotency key."}
NO_REASON = Body(default_factory=Reason)


@router.post(
    "/tasks", status_code=201, responses={**may_answer(402, 404, 408, 409, 415, 507), 200: KNOWN}, openapi_extra=BODY
)
async def submit(
    request: Request,
    response: Response,
    place: At,
    access: Changing,
    client: Looking,
    idempotency_key: Annotated[Text | None, Header(max_length=200)] = None,
) -> TaskShape:
    """Submit a task, as JSON or, with files, as multipart/form-data; the files are streamed to disk.

    Returns 201 for a new task and 200 for a task that already has the idempotency key. Options are checked first; in a form,
    before its files are read, if `pipeline` and `options` come before them.
    """
    wanted, uploads = await read_submission(request, place, idempotency_key)
    try:
        names = [*(one.name for one in wanted.files), *(one.filename for one in uploads)]
        is_slow = has_secret(place, wanted.options) or has_archive(place, wanted.pipeline, names)
        run = unlocking if is_slow else writing
        task, is_new = await run(submitted, place, access, client, wanted, uploads)
    finally:
        await close(uploads)
    response.status_code = 201 if is_new else 200
    response.headers["location"] = f"{request.url.path}/{task.id}"
    return TaskShape.of(task)


@router.post("/tasks/many", responses=may_answer(408))
async def submit_many(wanted: ManyTasks, place: At, access: Changing, client: Looking) -> ManySubmitted:
    """Submit up to 1,000 tasks at once, in few transactions.

    The answer has, for each in order, the task or the reason why it was refused; a task that is refused stops no other. `new` is
    false for a task that already had the idempotency key.
    """
    for one in wanted.tasks:
        check_task(one)
    names = {(one.pipeline, file.name) for one in wanted.tasks for file in one.files}
    is_slow = any(has_secret(place, one.options) for one in wanted.tasks)
    is_slow = is_slow or any(has_archive(place, pipeline, [name]) for pipeline, name in names)
    run = unlocking if is_slow else writing
    found = await run(submitted_together, place, access, client, wanted.tasks)
    return ManySubmitted(results=[_one_of_many(one) for one in found])


def _one_of_many(found: tuple[Task, bool] | Exception) -> OneSubmitted:
    if not isinstance(found, Exception):
        return OneSubmitted(task=TaskShape.of(found[0]), new=found[1], refused=None)
    if not isinstance(found, FanfoldError | HandlerError):
        raise found
    said = told_to_all(found) if isinstance(found, FanfoldError) else found.message
    return OneSubmitted(
        task=None, new=False, refused=WhyRefused(code=found.code, detail=without_keys(without_commands(said)))
    )


@router.get("/tasks", responses=may_answer(404, 409))
def list_tasks(
    client: Looking,
    state: Annotated[list[TaskState], Query(description="Only tasks in these states.")] = [],  # noqa: B006
    pipeline: Text | None = None,
    owner: Annotated[Text | None, Query(description="Only for callers who see all owners.")] = None,
    tag: Text | None = None,
    text: Annotated[Text | None, Query(description="Text in the id, title, error or a tag.")] = None,
    needs_you: Annotated[bool, Query(description="Only tasks that need a person.")] = False,
    parent: Annotated[Text | None, Query(description="Only the subtasks of this task.", max_length=64)] = None,
    deliveries: Annotated[bool, Query(description="`false` leaves out the tasks that deliver webhooks.")] = True,
    after: Annotated[Text | None, Query(description="The `next` of the previous page.", max_length=64)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    sort: Annotated[TaskOrder, Query(description="`updated`: most recently changed first.")] = TaskOrder.NEWEST,
) -> TaskList:
    """List tasks, by default newest first."""
    found = client.list(
        states=state,
        pipeline=pipeline,
        owner=owner,
        tag=tag,
        text=text,
        needs_you=needs_you,
        parent=parent,
        after=after,
        limit=limit,
        sort=sort,
        deliveries=deliveries,
    )
    return TaskList.model_construct(
        tasks=[TaskShape.of(task) for task in found], next=found[-1].cursor if len(found) == limit else None
    )


@router.post("/tasks/commands", responses=may_answer(), dependencies=MAY_CHANGE)
def command_many(client: Looking, wish: BulkRequest) -> BulkReport:
    """Carry out one command for many tasks or, with `dry_run`, report what would happen.

    A task that refuses the command or does not exist does not affect the others: `refused` says why.
    """
    return bulk(client, wish)


@router.get("/tasks/{task_id}", responses=may_answer(404, 409))
def get_task(client: Looking, task_id: TaskId) -> TaskShape:
    """Get a task as it is now."""
    return TaskShape.of(client.get(task_id))


@router.get("/tasks/{task_id}/wait", responses=may_answer(404, 409))
async def wait_for_task(
    place: At, client: Looking, task: WatchedTask, seconds: Annotated[float, Query(ge=0, le=25)] = 20.0
) -> TaskShape:
    """Wait until the task is finished or waits for a person, up to the timeout; return the task as it is then."""
    # Uses the shared reader, so that waiting takes none of the server's few threads.
    watcher = place.live.watch(task.id)
    try:
        async with asyncio.timeout(seconds):
            while task.state is TaskState.ACTIVE and not task.stalled and (moment := await watcher.next()) is not None:
                if moment.task is None:
                    raise NotFound(say("task_deleted", task=task.id))
                task = moment.task
    except TimeoutError:
        log.debug("[server] %s is still running", task.id)
    finally:
        place.live.unwatch(task.id, watcher)
    return TaskShape.of(task)


@router.post("/tasks/{task_id}/pause", responses=may_answer(404, 409), dependencies=MAY_CHANGE)
def pause(client: Looking, task_id: TaskId, said: Reason = NO_REASON) -> TaskShape:
    """Pause the task: start no new items and hand back running ones."""
    return TaskShape.of(client.pause(task_id, said.reason))


@router.post("/tasks/{task_id}/resume", responses=may_answer(404, 409), dependencies=MAY_CHANGE)
def resume(
    client: Looking,
    task_id: TaskId,
    wish: ResumeRequest = Body(default_factory=ResumeRequest),  # noqa: B008
) -> TaskShape:
    """Resume the task, passing the gate if it waits at one. A gate that asks needs an `answer`."""
    answer = None if wish.answer is None else harmless(wish.answer)
    return TaskShape.of(client.resume(task_id, answer, stage=wish.stage))


@router.get("/tasks/{task_id}/answers", responses=may_answer(404, 409))
def answers(client: Looking, task_id: TaskId) -> list[GateAnswerShape]:
    """What people answered at the gates of the task, the first answer first."""
    return [GateAnswerShape(**asdict(one)) for one in client.answers(task_id)]


@router.post("/tasks/{task_id}/cancel", responses=may_answer(404, 409), dependencies=MAY_CHANGE)
def cancel(client: Looking, task_id: TaskId, said: Reason = NO_REASON) -> TaskShape:
    """Cancel the task for good."""
    return TaskShape.of(client.cancel(task_id, said.reason))


@router.post("/tasks/{task_id}/retry", responses=may_answer(402, 404, 409), dependencies=MAY_CHANGE)
async def retry(
    place: At,
    client: Looking,
    task_id: TaskId,
    wish: RetryRequest = Body(default_factory=RetryRequest),  # noqa: B008
) -> TaskShape:
    """Redo the failed items, the named ones (even if done) or the degraded ones; a merge follows automatically.

    A secret option, such as the password of an encrypted file, is used at once and not stored.
    """
    run = unlocking if has_secret(place, wish.options) else writing
    return await run(retried, client, task_id, wish)


def retried(client: Client, task_id: str, wish: RetryRequest) -> TaskShape:
    """The task after its retry."""
    options = harmless(wish.options) or None
    return TaskShape.of(client.retry(task_id, wish.items, stage=wish.stage, options=options, degraded=wish.degraded))


@router.post("/tasks/{task_id}/accept", responses=may_answer(404, 409), dependencies=MAY_CHANGE)
def accept(client: Looking, task_id: TaskId, wish: AcceptRequest = Body(default_factory=AcceptRequest)) -> TaskShape:  # noqa: B008
    """Accept degraded results: all of them, or those of the named items. They stay marked with their reason."""
    return TaskShape.of(client.accept(task_id, wish.items, stage=wish.stage, reason=wish.reason))


@router.post("/tasks/{task_id}/rerun", responses=may_answer(402, 404, 409), dependencies=MAY_CHANGE)
def rerun(client: Looking, task_id: TaskId) -> TaskShape:
    """Start the task over."""
    return TaskShape.of(client.rerun(task_id))


@router.post("/tasks/{task_id}/merge", responses=may_answer(404, 409), dependencies=MAY_CHANGE)
def merge(client: Looking, task_id: TaskId) -> TaskShape:
    """Merge now, or again, with the results available."""
    return TaskShape.of(client.merge(task_id))


@router.delete("/tasks/{task_id}", status_code=204, responses=may_answer(404, 409), dependencies=MAY_CHANGE)
def delete(client: Looking, task_id: TaskId) -> None:
    """Delete the task with all its files for good."""
    client.delete(task_id)


def bulk(client: Client, wish: BulkRequest) -> BulkReport:
    """Carry out one command for many tasks; a refusal does not affect the others."""
    meant = chosen(client, wish)
    done: list[str] = []
    refused = list(meant.unknown)
    for task in meant.tasks:
        if wish.command not in task.plain_commands:
            reason = say("not_possible", command=wish.command, state=task.status)
            refused.append(Refused.of(task.id, reason))
            continue
        try:
            if not wish.dry_run:
                carry_out(client, task.id, wish.command, wish.reason)
            done.append(task.id)
        except FanfoldError as error:
            refused.append(Refused.of(task.id, error.message))
    return BulkReport(command=wish.command, dry_run=wish.dry_run, done=done, refused=refused, more=meant.more)


@dataclass(frozen=True)
class ChosenTasks:
    """The selected tasks, the unknown ids, and whether a filter matches more tasks than are handled at once."""

    tasks: list[Task]
    unknown: list[Refused] = field(default_factory=list)
    more: bool = False


def chosen(client: Client, wish: BulkRequest) -> ChosenTasks:
    """The tasks that the request names or that match its filter."""
    if wish.tasks:
        return named(client, wish.tasks)
    if not (wish.states or wish.pipeline or wish.tag or wish.text):
        raise BadInput("Select the tasks: `tasks`, or a filter (states, pipeline, tag, text).")
    return filtered(client, states=wish.states, pipeline=wish.pipeline, tag=wish.tag, text=wish.text)


def named(client: Client, ids: Iterable[str]) -> ChosenTasks:
    """The tasks with these ids, without duplicates, whether shortened or not."""
    found: dict[str, Task] = {}
    unknown: list[Refused] = []
    for id_ in dict.fromkeys(ids):
        try:
            task = client.get(id_)
            found[task.id] = task
        except (NotFound, Ambiguous) as error:
            unknown.append(Refused.of(id_, error.message))
    return ChosenTasks(list(found.values()), unknown)


def filtered(client: Client, **wanted: Any) -> ChosenTasks:
    """The newest tasks that match a filter, up to the number handled at once."""
    found = client.list(**wanted, limit=MOST_AT_ONCE)
    is_full = len(found) == MOST_AT_ONCE
    return ChosenTasks(found, more=is_full and bool(client.list(**wanted, after=found[-1].cursor, limit=1)))


def carry_out(client: Client, task_id: str, command: str, reason: str | None = None) -> None:
    """Carry out a command by name."""
    if command in ("pause", "cancel"):
        getattr(client, command)(task_id, reason)
    else:
        getattr(client, command)(task_id)


def harmless(options: dict[str, Any]) -> dict[str, Any]:
    """Untrusted options, checked so that they cannot pose as files."""
    if serial.has_marks(options):
        raise BadInput(say("option_reserved", first=FILE_MARK, second=serial.LARGE_MARK))
    return options


__all__ = ["NewTask", "bulk", "carry_out", "chosen", "filtered", "named", "router"]
