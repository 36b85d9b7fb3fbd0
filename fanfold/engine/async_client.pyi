"""`AsyncClient` for type checkers. Written by `python -m tests.async_stub` from `Client`; change it there."""

import builtins
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from fanfold.engine.client import Client
from fanfold.engine.make_form import FormFile
from fanfold.engine.move_files import FilesMoved
from fanfold.engine.queries.metrics import Metrics
from fanfold.engine.take_action import ActionOutcome
from fanfold.engine.tasks.submitting.submission import Submission
from fanfold.engine.webhooks.endpoints import Webhook
from fanfold.model.awaited.external import ExternalJob
from fanfold.model.awaited.gate_answer import GateAnswer
from fanfold.model.decision import Decision, NewDecision
from fanfold.model.item import Item, ItemDetail, Result
from fanfold.model.money.batch import Batch
from fanfold.model.money.budgets import Budget
from fanfold.model.money.costs import CostRow
from fanfold.model.money.credits import CreditAccount, CreditEntry
from fanfold.model.money.estimates import Estimate
from fanfold.model.money.rate_limits import LimitRow
from fanfold.model.pipelines.pipeline import Pipeline, Target
from fanfold.model.pipelines.template_kinds import TemplateKind
from fanfold.model.schedule import Schedule
from fanfold.model.task import Event, Task
from fanfold.model.template import Template, TemplateUse
from fanfold.store.rows.money.answers import CallRow
from fanfold.store.rows.money.credits import Difference
from fanfold.store.rows.workers import WorkerRow
from fanfold.store.store import Store

class AsyncTemplates:
    async def check(self, kind: str, body: Any) -> builtins.list[str]: ...
    async def delete(self, kind: str, name: str) -> int: ...
    async def get(self, kind: str, reference: str) -> Template: ...
    async def kind(self, name: str) -> TemplateKind: ...
    async def kinds(self) -> builtins.list[TemplateKind]: ...
    async def list(self, kind: str | None = None, *, limit: int = 1000) -> builtins.list[Template]: ...
    async def save(self, kind: str, name: str, body: Any, *, note: str = "") -> Template: ...
    async def tasks(self, kind: str, name: str, *, limit: int = 1000) -> builtins.list[TemplateUse]: ...
    async def use(self, task_id: str, kind: str, reference: str) -> Template: ...
    async def used_by(self, task_id: str) -> builtins.list[TemplateUse]: ...
    async def versions(self, kind: str, name: str, *, limit: int = 1000) -> builtins.list[Template]: ...

class AsyncSchedules:
    async def add(
        self,
        name: str,
        cron: str,
        pipeline: Target,
        *inputs: Any,
        zone: str = "UTC",
        overlap: str = "skip",
        catch_up: str = "one",
        items: Iterable[Any] | None = None,
        options: dict[str, Any] | None = None,
        title: str | None = None,
        priority: int = 0,
        tags: Sequence[str] = (),
        owner: str | None = None,
        retry_limit: int | None = None,
        metadata: dict[str, Any] | None = None,
        straight_through: bool = False,
        literal: bool = False,
        notify: Sequence[str] = (),
        budget: Any = None,
        strict_budget: bool = False,
        allow_unknown_cost: bool = False,
    ) -> Schedule: ...
    async def get(self, name: str, *, runs: int = 20) -> Schedule: ...
    async def list(self, *, limit: int = 1000) -> builtins.list[Schedule]: ...
    async def next_times(self, name: str, count: int = 5) -> builtins.list[datetime]: ...
    async def pause(self, name: str) -> Schedule: ...
    async def remove(self, name: str) -> None: ...
    async def resume(self, name: str) -> Schedule: ...
    async def run(self, name: str) -> Task: ...

class AsyncCredits:
    async def account(self, owner: str | None = None) -> CreditAccount: ...
    async def accounts(self, *, after: str | None = None, limit: int = 100) -> builtins.list[CreditAccount]: ...
    async def balance(self, owner: str | None = None) -> int: ...
    async def charge(
        self, owner: str, amount: int, *, reason: str | None = None, key: str | None = None
    ) -> CreditEntry: ...
    async def differences(self) -> builtins.list[Difference]: ...
    async def entries(
        self, owner: str | None = None, *, task: str | None = None, before: int | None = None, limit: int = 100
    ) -> builtins.list[CreditEntry]: ...
    async def grant(
        self, owner: str, amount: int, *, reason: str | None = None, key: str | None = None
    ) -> CreditEntry: ...
    async def quote(
        self,
        pipeline: Target,
        *inputs: Any,
        items: Iterable[Any] | None = None,
        options: dict[str, Any] | None = None,
        owner: str = "",
    ) -> int: ...
    async def refund(self, task_id: str, items: Sequence[str] | None = None, *, reason: str | None = None) -> int: ...

class AsyncWebhooks:
    async def add(
        self, name: str, url: str, *, events: Sequence[str] = ..., pipeline: str | None = None, owner: str | None = None
    ) -> Webhook: ...
    async def get(self, name: str) -> Webhook: ...
    async def list(self) -> builtins.list[Webhook]: ...
    async def remove(self, name: str) -> None: ...
    async def test(self, name: str) -> Task: ...

class AsyncClient:
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
        threads: int = 8,
    ) -> None: ...
    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
    async def close(self) -> None: ...
    @property
    def templates(self) -> AsyncTemplates: ...
    @property
    def schedules(self) -> AsyncSchedules: ...
    @property
    def credits(self) -> AsyncCredits: ...
    @property
    def webhooks(self) -> AsyncWebhooks: ...
    async def accept(
        self, task_id: str, items: Sequence[str] | None = None, *, stage: str | None = None, reason: str | None = None
    ) -> Task: ...
    async def answers(self, task_id: str) -> builtins.list[GateAnswer]: ...
    async def batches(self, task_id: str | None = None, *, limit: int = 100) -> builtins.list[Batch]: ...
    async def budget(self, task_id: str) -> Budget: ...
    async def by_key(self, key: str, owner: str | None = None) -> Task | None: ...
    async def calls(
        self,
        task_id: str,
        key: str | None = None,
        stage: str | None = None,
        *,
        before: int | None = None,
        limit: int | None = 1000,
    ) -> builtins.list[CallRow]: ...
    async def cancel(self, task_id: str, reason: str | None = None) -> Task: ...
    async def close_limit(self, key: str, seconds: float = 600.0) -> builtins.list[LimitRow]: ...
    async def costs(
        self, by: str = "task", *, since: Any = None, until: Any = None, limit: int | None = None
    ) -> builtins.list[CostRow]: ...
    async def counts(self) -> dict[str, int]: ...
    async def decide(
        self,
        task_id: str,
        item: str,
        part: str,
        verdict: str,
        value: Any = None,
        *,
        stage: str | None = None,
        actor: str | None = None,
    ) -> Task: ...
    async def decide_many(
        self,
        task_id: str,
        decisions: Iterable[NewDecision | Mapping[str, Any]],
        *,
        stage: str | None = None,
        actor: str | None = None,
    ) -> Task: ...
    async def decisions(
        self,
        task_id: str,
        *,
        stage: str | None = None,
        item: str | None = None,
        part: str | None = None,
        verdict: str | None = None,
        history: bool = False,
        after: int = 0,
        limit: int = 1000,
    ) -> builtins.list[Decision]: ...
    async def delete(self, task_id: str) -> None: ...
    async def do(self, task_id: str, action: str, options: dict[str, Any] | None = None) -> ActionOutcome: ...
    async def estimate(
        self,
        pipeline: Target,
        *inputs: Any,
        items: Iterable[Any] | None = None,
        options: dict[str, Any] | None = None,
        sample: int = 0,
        key: str | None = None,
        literal: bool = False,
    ) -> Estimate: ...
    async def events(self, task_id: str, after: int = 0, limit: int = 1000) -> builtins.list[Event]: ...
    async def external(
        self,
        task_id: str,
        verb: str,
        items: Sequence[str] | None = None,
        *,
        stage: str | None = None,
        reason: str | None = None,
    ) -> Task: ...
    async def external_jobs(self, task_id: str) -> builtins.list[ExternalJob]: ...
    async def extrapolate(self, task_id: str) -> Estimate: ...
    async def failures(self, task_id: str, limit: int = 20) -> builtins.list[tuple[str, str, str, int]]: ...
    def follow(self, task_id: str, *, after: int = 0, poll: float = 0.2) -> AsyncGenerator[Task | Event]: ...
    async def get(self, task_id: str) -> Task: ...
    async def item(self, task_id: str, key: str, stage: str | None = None) -> ItemDetail: ...
    async def items(
        self,
        task_id: str,
        *,
        stage: str | None = None,
        states: Sequence[str] = (),
        keys: Sequence[str] = (),
        degraded: bool | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> builtins.list[Item]: ...
    async def limits(self) -> builtins.list[LimitRow]: ...
    async def list(
        self,
        *,
        states: Sequence[str] = (),
        pipeline: str | None = None,
        owner: str | None = None,
        tag: str | None = None,
        text: str | None = None,
        needs_you: bool = False,
        parent: str | None = None,
        after: str | None = None,
        limit: int = 50,
        sort: str = ...,
        deliveries: bool = True,
    ) -> builtins.list[Task]: ...
    async def make_form(self, task_id: str, form: str, *, earlier: bool = False, partial: bool = False) -> FormFile: ...
    async def merge(self, task_id: str) -> Task: ...
    async def metrics(self) -> Metrics: ...
    def missing(self, task_id: str) -> AsyncGenerator[Result[Any, Any]]: ...
    async def move_files(
        self, to: str | None = None, *, remove: bool = False, on_moved: Callable[[FilesMoved], None] | None = None
    ) -> FilesMoved: ...
    async def open_limit(self, key: str) -> builtins.list[LimitRow]: ...
    async def output(self, task_id: str, key: str, stage: str | None = None, *, earlier: bool = False) -> Any: ...
    async def pause(self, task_id: str, reason: str | None = None) -> Task: ...
    async def raise_budget(
        self,
        task_id: str,
        by: Any = None,
        to: Any = None,
        *,
        strict: bool | None = None,
        allow_unknown_cost: bool | None = None,
    ) -> Task: ...
    async def rerun(self, task_id: str) -> Task: ...
    async def result(
        self, task_id: str, *, earlier: bool = False, form: str | None = None, partial: bool = False
    ) -> Any: ...
    def results(self, task_id: str, stage: str | None = None) -> AsyncGenerator[Result[Any, Any]]: ...
    async def resume(
        self, task_id: str, answer: Mapping[str, Any] | None = None, *, stage: str | None = None
    ) -> Task: ...
    async def retry(
        self,
        task_id: str,
        items: Sequence[str] | None = None,
        *,
        stage: str | None = None,
        options: dict[str, Any] | None = None,
        degraded: bool = False,
        task_options: dict[str, Any] | None = None,
    ) -> Task: ...
    async def set_lane(self, task_id: str, lane: str) -> Task: ...
    def stream(self, task_id: str, *, follow: bool = True, poll: float = 0.2) -> AsyncGenerator[tuple[str, Any]]: ...
    async def submit(
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
    ) -> Task: ...
    async def submit_many(
        self, pipeline: Target, submissions: Iterable[Mapping[str, Any]], **shared: Any
    ) -> builtins.list[Task | Exception]: ...
    async def submit_or_find(self, pipeline: Target, wanted: Submission) -> tuple[Task, bool]: ...
    async def submit_or_find_many(
        self, pipeline: Target, wanted: Sequence[Submission]
    ) -> builtins.list[tuple[Task, bool] | Exception]: ...
    async def typed(self, pipeline: Pipeline) -> Client: ...
    async def wait(self, task_id: str, timeout: float | None = None, *, poll: float = 0.2) -> Task: ...
    async def workers(self) -> builtins.list[WorkerRow]: ...
