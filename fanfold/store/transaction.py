"""Groups the verbs of the store by noun, for one transaction."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property, lru_cache

import sqlalchemy as sa

from fanfold.errors import DatabaseProblem
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.files.blob_rows import Blobs
from fanfold.store.files.place_rows import FilePlaces
from fanfold.store.items.accept import Accepting
from fanfold.store.items.awaited.external_durations import ExternalDurations
from fanfold.store.items.awaited.external_jobs import Externals
from fanfold.store.items.awaited.subtasks import Subtasks
from fanfold.store.items.claim import Claiming
from fanfold.store.items.count import Counting
from fanfold.store.items.create import Items
from fanfold.store.items.find_work import Looking
from fanfold.store.items.large.drafts import Drafts
from fanfold.store.items.large.reset_queue import Resets
from fanfold.store.items.query import ItemReading
from fanfold.store.items.recover import Recovery
from fanfold.store.items.reset import Resetting
from fanfold.store.items.settle import Settling
from fanfold.store.rows.decisions import Decisions
from fanfold.store.rows.durations import Durations
from fanfold.store.rows.events import Events
from fanfold.store.rows.gate_answers import GateAnswers
from fanfold.store.rows.health import HealthChecks
from fanfold.store.rows.hints import CarriedHints
from fanfold.store.rows.money.answers import Answers, Calls
from fanfold.store.rows.money.batched_questions import BatchedQuestions
from fanfold.store.rows.money.batches import Batches
from fanfold.store.rows.money.budgets import Budgets
from fanfold.store.rows.money.costs import CostSums
from fanfold.store.rows.money.credits import StoredCredits
from fanfold.store.rows.money.rate_limits import RateLimits
from fanfold.store.rows.money.usage_history import UsageHistory
from fanfold.store.rows.removal import Removal
from fanfold.store.rows.schedules import StoredSchedules
from fanfold.store.rows.tasks import Tasks
from fanfold.store.rows.templates import StoredTemplates
from fanfold.store.rows.tokens import Tokens
from fanfold.store.rows.unstopped import Unstopped
from fanfold.store.rows.webhooks import StoredWebhooks
from fanfold.store.rows.workers import Workers
from fanfold.store.schema.statements import fetch_value
from fanfold.store.streams.in_database import Streams
from fanfold.store.upgrade import revisions


class Transaction:
    """One transaction, with the verbs of the store grouped by noun."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    @cached_property
    def tasks(self) -> Tasks:
        """Tasks: add, get, lock, move, list, delete."""
        return Tasks(self.connection, self.clock)

    @cached_property
    def items(self) -> Items:
        """Items: add, copy, and whether a stage is over."""
        return Items(self.connection, self.clock)

    @cached_property
    def claiming(self) -> Claiming:
        """Claims items for a worker."""
        return Claiming(self.connection, self.clock)

    @cached_property
    def looking(self) -> Looking:
        """The search for work: walk, news, due."""
        return Looking(self.connection, self.clock)

    @cached_property
    def drafts(self) -> Drafts:
        """Stages whose items are still being written or removed: begin, refresh, end, remove."""
        return Drafts(self.connection, self.clock)

    @cached_property
    def settling(self) -> Settling:
        """Items leaving their worker: finish, fail, postpone, release."""
        return Settling(self.connection, self.clock)

    @cached_property
    def resetting(self) -> Resetting:
        """Items to be processed again: retry, reopen."""
        return Resetting(self.connection, self.clock)

    @cached_property
    def accepting(self) -> Accepting:
        """Degraded results accepted by a person."""
        return Accepting(self.connection, self.clock)

    @cached_property
    def decisions(self) -> Decisions:
        """People's decisions about parts of results."""
        return Decisions(self.connection, self.clock)

    @cached_property
    def resets(self) -> Resets:
        """Resets of many items: begin, note, clear, end."""
        return Resets(self.connection, self.clock)

    @cached_property
    def removal(self) -> Removal:
        """Removal of tasks: begin, remove, end."""
        return Removal(self.connection, self.clock)

    @cached_property
    def recovery(self) -> Recovery:
        """Items whose worker is gone."""
        return Recovery(self.connection, self.clock)

    @cached_property
    def reading(self) -> ItemReading:
        """Items as readers see them: pages, results, reasons."""
        return ItemReading(self.connection, self.clock)

    @cached_property
    def counting(self) -> Counting:
        """Counts of items by state, mark, model, position and time."""
        return Counting(self.connection, self.clock)

    @cached_property
    def subtasks(self) -> Subtasks:
        """Tasks that items have submitted and wait for."""
        return Subtasks(self.connection, self.clock)

    @cached_property
    def gate_answers(self) -> GateAnswers:
        """What people answered at gates."""
        return GateAnswers(self.connection, self.clock)

    @cached_property
    def events(self) -> Events:
        """The log of what happened."""
        return Events(self.connection, self.clock)

    @cached_property
    def workers(self) -> Workers:
        """Workers, heartbeats, permits."""
        return Workers(self.connection, self.clock)

    @cached_property
    def unstopped(self) -> Unstopped:
        """Handlers that were told to stop and did not."""
        return Unstopped(self.connection, self.clock)

    @cached_property
    def hints(self) -> CarriedHints:
        """Hints that a carrier delivers."""
        return CarriedHints(self.connection, self.clock)

    @cached_property
    def blobs(self) -> Blobs:
        """Rows that reference blobs."""
        return Blobs(self.connection, self.clock)

    @cached_property
    def file_places(self) -> FilePlaces:
        """Buckets that hold files."""
        return FilePlaces(self.connection, self.clock)

    @cached_property
    def streams(self) -> Streams:
        """Streamed output."""
        return Streams(self.connection, self.clock)

    @cached_property
    def externals(self) -> Externals:
        """External jobs: intended, started, unknown."""
        return Externals(self.connection, self.clock)

    @cached_property
    def external_durations(self) -> ExternalDurations:
        """How long external jobs usually take."""
        return ExternalDurations(self.connection, self.clock)

    @cached_property
    def answers(self) -> Answers:
        """Answers of models that need not be paid for again."""
        return Answers(self.connection, self.clock)

    @cached_property
    def calls(self) -> Calls:
        """The ledger of calls to models."""
        return Calls(self.connection, self.clock)

    @cached_property
    def budgets(self) -> Budgets:
        """Budgets: reserve, settle."""
        return Budgets(self.connection, self.clock)

    @cached_property
    def credits(self) -> StoredCredits:
        """Credits of owners: accounts, and the entries of the ledger."""
        return StoredCredits(self.connection, self.clock)

    @cached_property
    def costs(self) -> CostSums:
        """Sums of the ledger."""
        return CostSums(self.connection, self.clock)

    @cached_property
    def usage_history(self) -> UsageHistory:
        """What calls of each pipeline and model have used."""
        return UsageHistory(self.connection, self.clock)

    @cached_property
    def rate_limits(self) -> RateLimits:
        """Rate limits that all workers share: take, hold, refuse, learn."""
        return RateLimits(self.connection, self.clock)

    @cached_property
    def batches(self) -> Batches:
        """Batches of questions at services."""
        return Batches(self.connection, self.clock)

    @cached_property
    def batched(self) -> BatchedQuestions:
        """Questions in the batch lane, and the items that wait for them."""
        return BatchedQuestions(self.connection, self.clock)

    @cached_property
    def templates(self) -> StoredTemplates:
        """Templates by name and version, and the tasks that used them."""
        return StoredTemplates(self.connection, self.clock)

    @cached_property
    def schedules(self) -> StoredSchedules:
        """Schedules, their runs, and tasks that start later."""
        return StoredSchedules(self.connection, self.clock)

    @cached_property
    def webhooks(self) -> StoredWebhooks:
        """Webhooks: where to send which events."""
        return StoredWebhooks(self.connection, self.clock)

    @cached_property
    def durations(self) -> Durations:
        """How long calls of each stage took lately."""
        return Durations(self.connection, self.clock)

    @cached_property
    def tokens(self) -> Tokens:
        """Access tokens of the server."""
        return Tokens(self.connection, self.clock)

    @cached_property
    def health(self) -> HealthChecks:
        """Checks for stuck work."""
        return HealthChecks(self.connection, self.clock)

    def announce(self) -> None:
        """Notify idle workers on commit that there may be work. Only a hint: they also poll."""
        self.clock.dialect.announce(self.connection)

    def misfit(self) -> DatabaseProblem | None:
        """Why this code can no longer use the database, which may have been upgraded meanwhile; None if it can."""
        return revisions.misfit(self.connection)

    def is_read_only(self) -> bool:
        """Whether the database currently refuses writes, like a PostgreSQL standby after a failover."""
        return self.clock.dialect.is_read_only(self.connection)

    def time(self) -> datetime:
        """The database's current time."""
        now: datetime = fetch_value(self.connection, time_statement(self.clock))
        return now


@lru_cache(maxsize=64)
def time_statement(clock: SqlClock) -> sa.Select[tuple[datetime]]:
    """The current time."""
    return sa.select(clock.now)
