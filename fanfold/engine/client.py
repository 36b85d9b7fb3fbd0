"""The Python client: submit, query, wait, steer. Synchronous, and safe to use from several threads."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from fanfold.engine.credits.accounts import Credits
from fanfold.engine.money.estimates import Estimates
from fanfold.engine.queries.decisions import DecisionQueries
from fanfold.engine.queries.items import ItemQueries
from fanfold.engine.queries.lookup import Lookup
from fanfold.engine.queries.metrics import Metrics, measure
from fanfold.engine.queries.money.batches import BatchQueries
from fanfold.engine.queries.money.budgets import BudgetQueries
from fanfold.engine.queries.money.costs import CostQueries
from fanfold.engine.queries.money.rate_limits import close_limit, list_limits, open_limit
from fanfold.engine.queries.pauses import steps_of
from fanfold.engine.queries.results.outputs import OutputQueries
from fanfold.engine.queries.task_view import view
from fanfold.engine.queries.tasks import TaskQueries
from fanfold.engine.schedules import Schedules
from fanfold.engine.steer import ACTOR_LENGTH, Steering
from fanfold.engine.tasks.steering.commands import Commands
from fanfold.engine.tasks.submitting.submission import OWNER_LENGTH, Submission
from fanfold.engine.tasks.submitting.submit import submit_or_find
from fanfold.engine.tasks.submitting.submit_many import submit_or_find_many
from fanfold.engine.templates import Templates
from fanfold.engine.webhooks.endpoints import Webhooks
from fanfold.errors import BadInput
from fanfold.model.money.budgets import wish
from fanfold.model.money.rate_limits import LimitRow
from fanfold.model.pipelines.kept_types import NO_TYPES, KeptTypes
from fanfold.model.pipelines.pipeline import Pipeline, Target, as_pipeline, by_name
from fanfold.model.task import Task
from fanfold.model.text.sentences import say
from fanfold.model.text.texts import check_text
from fanfold.settings import load as load_settings
from fanfold.store.rows.workers import WorkerRow
from fanfold.store.store import Store

if TYPE_CHECKING:
    from fanfold.engine.make_form import FormFile
    from fanfold.engine.move_files import FilesMoved
    from fanfold.engine.take_action import ActionOutcome

SUBMITTED = {one.name for one in fields(Submission)} - {"actor", "templates", "within", "parent"}
"""Arguments of a submission, besides owner and budget."""
Part = TypeVar("Part")
Given = ParamSpec("Given")
Found = TypeVar("Found")


def _asks(
    part: str, question: Callable[Concatenate[Part, Given], Found]
) -> Callable[Concatenate[Client, Given], Found]:
    """A method of the client that one of its parts has: a query or a command."""

    @wraps(question)
    def ask(client: Client, /, *arguments: Given.args, **named: Given.kwargs) -> Found:
        return question(getattr(client, part), *arguments, **named)

    if (steps := steps_of(question)) is not None:
        ask.__dict__["steps"] = lambda client, *arguments, **named: steps(getattr(client, part), *arguments, **named)
    return ask


class Client:
    """A client of one installation (a database and its data folder). Ids may be shortened if unambiguous.

    ``pipelines`` are needed to ``rerun`` tasks, for forms of a result, and for tasks whose pipeline keeps a mirror record
    (``on_move``). Installed pipelines are always known. Values are returned with the types of these pipelines and of those
    submitted with this client; with ``plain``, as JSON, as the page and the command line show them.
    """

    def __init__(
        self,
        database: str | None = None,
        data: str | None = None,
        *,
        store: Store | None = None,
        pipelines: Iterable[Target] = (),
        actor: str = "person",
        owner: str | None = None,
        plain: bool = False,
    ) -> None:
        check_text(actor, "The actor", least=1, most=ACTOR_LENGTH)
        if owner is not None:
            check_text(owner, "The owner", most=OWNER_LENGTH)
        self.store = store or Store.open(load_settings(database=database, data=data))
        self._owned = store is None
        self.owner = owner
        self.pipelines = by_name(pipelines)
        self.actor = actor
        self.commands = Commands(self.store, self.pipelines, actor)
        self._submitted: dict[str, Pipeline] = {}
        self.lookup = Lookup(self.store, owner, None if plain else self._types_of)
        """Finds the task and the item that a query is about; other queries of the engine can be built on it."""
        self._tasks = TaskQueries(self.lookup)
        self._items = ItemQueries(self.lookup)
        self._outputs = OutputQueries(self.lookup)
        self._decisions = DecisionQueries(self.lookup)
        self._batches = BatchQueries(self.lookup)
        self._budgets = BudgetQueries(self.lookup)
        self._costs = CostQueries(self.lookup)
        self._estimates = Estimates(self)
        self._steering = Steering(self.lookup, self.commands)
        self.templates = Templates(self)
        """Templates by name and version, and which tasks used them."""
        self.schedules = Schedules(self)
        """Tasks that are submitted at certain times."""
        self.credits = Credits(self)
        """Credits of owners: what they have, and what their tasks cost."""
        self.webhooks = Webhooks(self)
        """Webhooks: other programs that are notified about tasks."""

    get = _asks("_tasks", TaskQueries.get)
    list = _asks("_tasks", TaskQueries.list)
    by_key = _asks("_tasks", TaskQueries.by_key)
    counts = _asks("_tasks", TaskQueries.counts)
    events = _asks("_tasks", TaskQueries.events)
    answers = _asks("_tasks", TaskQueries.answers)
    failures = _asks("_tasks", TaskQueries.failures)
    external_jobs = _asks("_tasks", TaskQueries.external_jobs)
    wait = _asks("_tasks", TaskQueries.wait)
    follow = _asks("_tasks", TaskQueries.follow)
    items = _asks("_items", ItemQueries.items)
    item = _asks("_items", ItemQueries.item)
    output = _asks("_items", ItemQueries.output)
    calls = _asks("_items", ItemQueries.calls)
    results = _asks("_outputs", OutputQueries.results)
    missing = _asks("_outputs", OutputQueries.missing)
    stream = _asks("_outputs", OutputQueries.stream)
    decisions = _asks("_decisions", DecisionQueries.decisions)
    batches = _asks("_batches", BatchQueries.batches)
    budget = _asks("_budgets", BudgetQueries.budget)
    costs = _asks("_costs", CostQueries.costs)
    estimate = _asks("_estimates", Estimates.estimate)
    extrapolate = _asks("_estimates", Estimates.extrapolate)
    pause = _asks("_steering", Steering.pause)
    resume = _asks("_steering", Steering.resume)
    cancel = _asks("_steering", Steering.cancel)
    raise_budget = _asks("_steering", Steering.raise_budget)
    retry = _asks("_steering", Steering.retry)
    rerun = _asks("_steering", Steering.rerun)
    merge = _asks("_steering", Steering.merge)
    accept = _asks("_steering", Steering.accept)
    decide = _asks("_steering", Steering.decide)
    decide_many = _asks("_steering", Steering.decide_many)
    external = _asks("_steering", Steering.external)
    set_lane = _asks("_steering", Steering.set_lane)
    delete = _asks("_steering", Steering.delete)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, if this client opened them."""
        if self._owned:
            self.store.close()

    def submit(
        self,
        pipeline: Target,
        *inputs: Any,
        items: Iterable[Any] | None = None,
        options: dict[str, Any] | None = None,
        title: str | None = None,
        key: str | None = None,
        priority: int = 0,
        tags: Sequence[str] = (),
        owner: str | None = None,
        retry_limit: int | None = None,
        metadata: dict[str, Any] | None = None,
        straight_through: bool = False,
        literal: bool = False,
        budget: Any = None,
        strict_budget: bool = False,
        allow_unknown_cost: bool = False,
        sample: int = 0,
        run_at: datetime | None = None,
        delay: float | None = None,
        notify: Sequence[str] = (),
    ) -> Task:
        """Create a task with its first items, claimable at once; the same ``key`` returns the same task, never a second one.

        For a pipeline, text and paths among ``inputs`` name files, which are copied; other values are stored unchanged. For an
        ``@task`` function, ``inputs`` and ``options`` are its arguments. With ``literal``, text is never a path. KeyReused if
        the key belongs to a task with another pipeline, other options, inputs or items. ``budget`` is what its calls to models
        may cost, in US dollars: before it is exceeded the task is paused (``raise_budget`` resumes it). With ``sample=3``, all
        workers together process three items of a stage and pause the task: see ``extrapolate``, then ``resume``. With
        ``run_at`` (an aware time) or ``delay`` (seconds) it is stored now and starts then; ``resume`` starts it earlier.
        ``notify`` names webhooks, or URLs, that are notified about it.
        """
        wanted = self._submission(
            inputs=inputs,
            items=items,
            options={} if options is None else options,
            title=title,
            key=key,
            priority=priority,
            tags=tags,
            owner=owner,
            literal=literal,
            retry_limit=retry_limit,
            metadata={} if metadata is None else metadata,
            straight_through=straight_through,
            budget=budget,
            strict_budget=strict_budget,
            allow_unknown_cost=allow_unknown_cost,
            sample=sample,
            run_at=run_at,
            delay=delay,
            notify=notify,
        )
        return self.submit_or_find(pipeline, wanted)[0]

    def submit_many(
        self, pipeline: Target, submissions: Iterable[Mapping[str, Any]], **shared: Any
    ) -> builtins.list[Task | Exception]:
        """Submit many tasks in few transactions; returns a task for each, in order, or the error if it was refused.

        Each submission has the arguments of ``submit`` by name: ``{"inputs": ["a.pdf"], "key": "a"}``; ``shared`` are those of
        all of them. A task that is refused stops no other.
        """
        wanted = [self._submission(**{**shared, **one}) for one in submissions]
        # Items may have to be read twice.
        wanted = [one if one.items is None else replace(one, items=builtins.list(one.items)) for one in wanted]
        found = self.submit_or_find_many(pipeline, wanted)
        return [one if isinstance(one, Exception) else one[0] for one in found]

    def submit_or_find_many(
        self, pipeline: Target, wanted: Sequence[Submission]
    ) -> builtins.list[tuple[Task, bool] | Exception]:
        """For each submission its task and whether it was created, or the error."""
        known = as_pipeline(pipeline)
        made = submit_or_find_many(self.store, known, wanted)
        self._submitted[known.name] = known
        rows = [one.row for one in made if not isinstance(one, Exception)]
        with self.store.read() as tx:
            tasks = {task.id: task for task in view(self.store, tx, rows)} if rows else {}
        return [one if isinstance(one, Exception) else (tasks[one.row.id], one.is_new) for one in made]

    def _submission(
        self,
        *,
        owner: str | None = None,
        budget: Any = None,
        strict_budget: bool = False,
        allow_unknown_cost: bool = False,
        **named: Any,
    ) -> Submission:
        """The submission with these arguments of ``submit``, on behalf of this client's owner."""
        if unknown := named.keys() - SUBMITTED:
            known = sorted({*SUBMITTED, "strict_budget", "allow_unknown_cost"})
            raise BadInput(say("unknown_argument", names=sorted(unknown), known=known))
        return Submission(
            owner=self.owner if self.owner is not None else (owner or ""),
            actor=self.actor,
            budget=wish(budget, strict=strict_budget, allow_unknown_cost=allow_unknown_cost),
            **named,
        )

    def submit_or_find(self, pipeline: Target, wanted: Submission) -> tuple[Task, bool]:
        """The task of a submission, and whether it was created rather than found by its key."""
        known = as_pipeline(pipeline)
        found = submit_or_find(self.store, known, wanted)
        self._submitted[known.name] = known
        return self.lookup.view(found.row), found.is_new

    def result(self, task_id: str, *, earlier: bool = False, form: str | None = None, partial: bool = False) -> Any:
        """The output of the last stage: a value or a ``File``; for a pipeline that ends with `each`, the list of outputs.

        With ``form``, the result in that form of its application, as text or bytes. TaskStopped while the task is not
        completed; with ``earlier``, an earlier result is returned anyway; with ``partial``, a form that allows it is made of
        the results so far.
        """
        if form is None:
            return self._outputs.result(task_id, earlier=earlier)
        with self.make_form(task_id, form, earlier=earlier, partial=partial) as made:
            return made.content()

    def make_form(self, task_id: str, form: str, *, earlier: bool = False, partial: bool = False) -> FormFile:
        """The result in one of the forms of its application, as a file that is removed when closed (``with``)."""
        from fanfold.engine.make_form import make_form

        return make_form(self, task_id, form, earlier=earlier, partial=partial)

    def workers(self) -> builtins.list[WorkerRow]:
        """Every known worker, live ones first."""
        with self.store.read() as tx:
            return tx.workers.all(self.store.settings.lease_seconds)

    def limits(self) -> builtins.list[LimitRow]:
        """The rate limits that all workers share, as they are now."""
        return list_limits(self.store)

    def open_limit(self, key: str) -> builtins.list[LimitRow]:
        """Open a rate limit that was closed by a refusal, a used-up daily quota or a person."""
        return open_limit(self.store, key)

    def close_limit(self, key: str, seconds: float = 600.0) -> builtins.list[LimitRow]:
        """Let no worker ask this model for ``seconds`` seconds."""
        return close_limit(self.store, key, seconds)

    def metrics(self) -> Metrics:
        """The metrics of the whole installation."""
        return measure(self.store)

    def do(self, task_id: str, action: str, options: dict[str, Any] | None = None) -> ActionOutcome:
        """Run an action of the task's application, now and in this process; it is recorded as an event."""
        from fanfold.engine.take_action import act

        return act(self, task_id, action, options)

    def move_files(
        self, to: str | None = None, *, remove: bool = False, on_moved: Callable[[FilesMoved], None] | None = None
    ) -> FilesMoved:
        """Copy the files in the data folder to the bucket ``to``, by default that of the settings, while everything runs.

        Each copy is read back and compared. With ``remove``, files whose copy was compared are removed from the folder.
        ``on_moved`` is called after each file. Run it again after an interruption: it continues.
        """
        from fanfold.engine.move_files import move_files

        return move_files(self.store, to, remove=remove, on_moved=on_moved)

    def typed(self, pipeline: Pipeline) -> Client:
        """The same client, which also knows this pipeline's types and returns values with them."""
        known = {**self.pipelines, pipeline.name: pipeline}.values()
        return Client(store=self.store, pipelines=known, actor=self.actor, owner=self.owner)

    def _types_of(self, pipeline: str) -> KeptTypes:
        known = self.pipelines.get(pipeline) or self._submitted.get(pipeline)
        return NO_TYPES if known is None else known.kept_types
