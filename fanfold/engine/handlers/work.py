"""One attempt as its handler sees it: memory, files, progress, streamed output, models, external jobs, child processes."""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from fanfold.engine.handlers import typed_values
from fanfold.engine.handlers.ask import ask
from fanfold.engine.handlers.ask_many import ask_many
from fanfold.engine.handlers.external_job import GRACE_SECONDS, External, ExternalService
from fanfold.engine.handlers.files.attempt_files import bound
from fanfold.engine.handlers.files.kept_files import folded, keep
from fanfold.engine.handlers.stop import NoClock, Stop
from fanfold.engine.handlers.streamed_output import StreamedOutput
from fanfold.engine.handlers.subtask import Subtask, results_of, submit_subtask
from fanfold.engine.handlers.used import has_cost, name_of, with_usage
from fanfold.engine.tasks.submitting.submission import Submission
from fanfold.engine.worker.attempt.attempt_result import MESSAGE_LENGTH, clean
from fanfold.errors import BadInput, Cancelled, JobFailed, LeaseLost, Permanent
from fanfold.model.item import REDONE, Claimed
from fanfold.model.money.batch import DEADLINE, LANE, duration
from fanfold.model.money.budgets import wish
from fanfold.model.money.questions import SCHEMA, Answer, AttemptClock, Check, laid_over
from fanfold.model.pipelines.kept_types import NO_TYPES, KeptTypes
from fanfold.model.pipelines.pipeline import Target
from fanfold.model.plan import Kind
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import Sentence, say
from fanfold.model.values import serial
from fanfold.model.values.files import File
from fanfold.model.values.idempotency import item_key, redone_splits
from fanfold.store.files.private import private_folder
from fanfold.store.store import Store

log = logging.getLogger("fanfold.worker")
PROGRESS_SECONDS = 0.5
ASKED_IN_VAIN = "$asked_in_vain"
"""Memory key under which items of version 0.1 stored bad answers, which are in the ledger now."""
Found = TypeVar("Found")


class Work:
    """One attempt at one item; the base class of what handlers get. Every write carries the lease, and fails once it is lost."""

    def __init__(
        self,
        store: Store,
        row: TaskRow,
        claimed: Claimed,
        stop: Stop | None = None,
        *,
        run_in_child: Callable[..., Awaitable[Any]] | None = None,
        retries_left: int = 0,
        wait_limit: float = 600.0,
        grace_seconds: float = GRACE_SECONDS,
        lane: str = "",
        attempt_of: Work | None = None,
        types: KeptTypes = NO_TYPES,
    ) -> None:
        self._store = store
        self._row = row
        self._claimed = claimed
        self._stop = stop or Stop()
        self._run_in_child = run_in_child
        self.retries_left = retries_left
        """How many more failures this item may have before it counts as failed."""
        self.wait_limit = wait_limit
        """How many seconds an external job may take in total."""
        self.grace_seconds = grace_seconds
        """How long a stopping attempt may wait for an external job that is being started."""
        self._types = types
        self.lane: str = lane if attempt_of is None else attempt_of.lane
        """How the stage asks models: `live`, `batch`, `auto`, or empty if it does not say."""
        self._asked: set[str] = set() if attempt_of is None else attempt_of._asked
        self._attempt_of = attempt_of
        """The item whose `task` this is: marks and usage are recorded for its attempt."""

    def _beside(self, claimed: Claimed) -> Work:
        """The same for another item of a batch; much cheaper than a new one."""
        work = object.__new__(type(self))
        work.__dict__.update(self.__dict__)
        work._claimed, work._stop, work._asked = claimed, Stop(), set()
        work.retries_left = max(0, self.retries_left + self._claimed.failures - claimed.failures)
        return work

    # Class attributes as defaults: most attempts never use these.
    _clock: AttemptClock = NoClock()
    _streamed: StreamedOutput | None = None
    _progress_at = 0.0
    _used_scratch = False
    usage: dict[str, Any] | None = None
    model: str | None = None
    _remembered: dict[str, Any] | None = None
    _jobs: frozenset[str] = frozenset()
    """The names of the external jobs of this attempt."""
    subtasks: frozenset[str] = frozenset()
    """The names of the subtasks that this attempt has asked for."""
    failed_subtasks: tuple[str, ...] = ()
    """The names of those whose failure it has seen."""
    shortfalls: tuple[str, ...] = ()
    """Why the result of this attempt is degraded; empty if it is not."""

    @property
    def _memory(self) -> dict[str, Any]:
        # Not a cached_property: before Python 3.12 all instances share its lock, so one slow read would hold up every handler.
        if self._remembered is None:
            self._remembered = self._load_memory()
        return self._remembered

    def _load_memory(self) -> dict[str, Any]:
        text = self._claimed.memory
        if self._claimed.lease > 1:
            # The previous attempt may have stored something after it was handed back, while this one was claimed.
            with self._store.read() as tx:
                text = tx.settling.memory(self._claimed.id)
        return typed_values.loaded(self, text, "What was remembered") or {}

    @property
    def task_id(self) -> str:
        """The task's public id."""
        return self._row.id

    @cached_property
    def options(self) -> dict[str, Any]:
        """The task's options, overridden by those of this item."""
        return {name: value for name, value in self._all_options.items() if name not in (LANE, DEADLINE)}

    @cached_property
    def _all_options(self) -> dict[str, Any]:
        """The handler's options together with those that say how models are asked."""
        own, said = typed_values.options(self, self._row.options), typed_values.options(self, self._claimed.options)
        said.pop(REDONE, None)
        return laid_over(own, said)

    @property
    def wanted_by(self) -> datetime | None:
        """The deadline for the answers of this task, if it has one."""
        seconds = self._all_options.get(DEADLINE)
        return None if seconds is None else self._row.created_at + timedelta(seconds=duration(seconds))

    @property
    def metadata(self) -> dict[str, Any]:
        """The task's metadata."""
        return typed_values.loaded(self, self._row.extra, "The metadata") or {}

    @property
    def attempt(self) -> int:
        """1 for the first attempt at this item, 2 for the second …"""
        return self._claimed.attempts

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt: pass it to services, so that a call repeated after a crash is not charged twice.

        A person's redo gets a new one: after `rerun`, for an item with a result, or with new options.
        """
        claimed, plan = self._claimed, self._row.plan
        splits: list[int] = []
        if claimed.lineage:
            before = plan.stages[: plan.index(claimed.stage)]
            splits = redone_splits(claimed.lineage, [stage.name for stage in before if stage.kind is Kind.SPLIT])
        return item_key(self._row.id, claimed.stage, claimed.key, (self._row.generation, claimed.generation), splits)

    @property
    def cancelled(self) -> bool:
        """Whether the result is no longer wanted: paused, cancelled, timed out, or given to another worker."""
        return self._stop.is_set()

    def check(self) -> None:
        """Raise Cancelled if the result is no longer wanted. Call it regularly in long loops."""
        if self._stop.is_set():
            raise Cancelled(say("attempt_stopped"))

    @property
    def memory(self) -> dict[str, Any]:
        """The values that ``remember`` stored, in this attempt or an earlier one."""
        return {name: value for name, value in self._memory.items() if name != ASKED_IN_VAIN}

    def remember(self, **values: Any) -> None:
        """Store values durably, at once, for later attempts, even if the task was just paused or cancelled.

        To start external jobs, use ``external``: a process can die between a call and ``remember``.
        """
        self._memory.update(values)
        text = serial.dump(self._memory, "What is to be remembered", self._store.settings.inline_bytes)
        with self._store.write() as tx:
            held = tx.settling.remember(self._claimed.id, self._claimed.lease, text, self._claimed.generation)
        self._still(held)

    def progress(self, share: float, message: str | None = None) -> None:
        """Report how far this item is, from 0 to 1; written at most twice a second, except for the end."""
        self.check()
        now = time.monotonic()
        if now - self._progress_at < PROGRESS_SECONDS and share < 1:
            return
        self._progress_at = now
        told = None if message is None else clean(str(message), MESSAGE_LENGTH)
        with self._store.write() as tx:
            held = tx.settling.note_progress(
                self._claimed.id, self._claimed.lease, min(1.0, max(0.0, float(share))), told
            )
        self._still(held)

    def emit(self, value: Any) -> None:
        """Stream a piece of output that others can read while this runs. Pieces of a lost attempt do not count."""
        self.check()
        if self._streamed is None:
            self._streamed = StreamedOutput(self._store, self._claimed)
        self._still(self._streamed.add(value))

    def flush(self) -> None:
        """Write the buffered streamed pieces now; this happens automatically when the handler returns."""
        if self._streamed is not None:
            self._still(self._streamed.flush())

    def write(self, name: str, data: str | bytes | Path | BinaryIO) -> File:
        """Store a file with the task; return it (alone or inside the result) to make it part of the result."""
        if "/" in name or "\\" in name or name in ("", ".", ".."):
            raise BadInput(say("not_a_file_name", name=name))
        if isinstance(data, Path):
            with data.open("rb") as source:
                return keep(self, name, source)
        raw = data.encode() if isinstance(data, str) else data
        return keep(self, name, BytesIO(raw) if isinstance(raw, bytes) else raw)

    async def local(self, file: File) -> Path:
        """A path to a file on this machine. A file in a bucket is downloaded first, while other items run.

        The copy is removed when the attempt ends.
        """
        return await asyncio.to_thread(lambda: file.path)

    @property
    def scratch(self) -> Path:
        """A folder for files that need not outlive this attempt."""
        folder = self._scratch()
        private_folder(folder)
        self._used_scratch = True
        return folder

    def used(self, *, model: str | None = None, **usage: Any) -> None:
        """Record which model did the work and what it used (tokens, cost); it counts even if the attempt fails later.

        Numbers are added up over the attempt; for other values, the latest counts. Values that cannot be stored (NaN,
        negative or absurd numbers, values that are not JSON) are left out with a warning in the log: a mistake here never
        costs the result. A cost in a stage with ``spends=False`` counts too, and then fails the item.
        """
        if self._attempt_of is not None:
            self._attempt_of.used(model=model, **usage)
            return
        if model is not None:
            self.model = name_of(model) or self.model
        self.usage = with_usage(self.usage, usage, (self._row.pipeline, self._claimed.stage))
        if has_cost(usage) and not self._row.plan.stage(self._claimed.stage).spends:
            raise Permanent(say("stage_spends_nothing", stage=self._claimed.stage), code="spends_nothing")

    def degraded(self, reason: str) -> None:
        """Mark the result of this attempt as degraded, and say why: people see it, and can redo just these items.

        The item still counts as done. Several reasons are joined; a later attempt starts without any.
        """
        if self._attempt_of is not None:
            self._attempt_of.degraded(reason)
            return
        said = reason if isinstance(reason, Sentence) else str(reason).strip()
        self.shortfalls = (*self.shortfalls, said or say("no_reason_given"))

    async def in_child(self, function: Callable[..., Found], *arguments: Any, **named: Any) -> Found:
        """Run a plain function in a child process and await its result: for code that is CPU-bound, crashes or leaks.

        The function must be importable by name; its arguments and result must be picklable. A child that dies costs only
        this attempt.
        """
        found: Found = await (self._run_in_child or _run_here)(function, arguments, named)
        return found

    async def ask(
        self,
        prompt: str,
        *,
        images: Sequence[bytes | File] = (),
        system: str | None = None,
        model: str | None = None,
        fallback: Sequence[str] | None = None,
        check: Check | None = None,
        lane: str | None = None,
        schema: dict[str, Any] | None = None,
        **parameters: Any,
    ) -> Answer:
        """Ask a model. The answer is checked and cached, so the same question is not paid for again.

        ``model`` is `provider:model`, `provider` or a model of the default provider; without it the options `provider` and
        `model` of the task or item decide. ``fallback`` (or the option) names the models to ask when that one fails.
        ``check`` gets the text and returns it, cleaned, or raises BadAnswer. Rate limits do not use up retries, and a
        refused key pauses the task. An answer from a fallback model marks the result as degraded. Raises NoAnswer if no
        model gave an acceptable answer.

        ``schema`` is a JSON Schema for the answer, in the strict dialect of the services (every property required, no others).
        A service that does not know schemas is asked without it, so ``check`` must still judge the answer.

        ``lane="batch"`` (or the option `lane`, or the stage's rule) asks at the service's batch price: the attempt ends, the item
        waits without a worker, and the handler is called again from its start once there is an answer.
        """
        return await ask(
            self,
            prompt,
            images=images,
            system=system,
            model=model,
            fallback=fallback,
            check=check,
            lane=lane,
            parameters=parameters if schema is None else {**parameters, SCHEMA: schema},
        )

    async def ask_many(
        self,
        questions: Iterable[str | Mapping[str, Any]],
        *,
        return_exceptions: bool = False,
        **arguments: Any,
    ) -> list[Any]:
        """Ask several questions at the same time; returns the answers in order.

        Each is a text, or the arguments of ``ask`` as a mapping (``{"prompt": …, "images": […]}``); ``arguments`` are those of
        ``ask`` for all of them. They share the limits and budgets of their provider and task, and each is paid for once: if one
        fails, the answers of the others are kept, and the next attempt asks only what has no answer. With
        ``return_exceptions``, a question without an acceptable answer has its exception in the list.
        """
        return await ask_many(self, questions, arguments, return_exceptions=return_exceptions)

    async def external(
        self,
        *,
        start: Callable[..., Any],
        look: Callable[[Any], Any],
        find: Callable[[str], Any] | None = None,
        cancel: Callable[[Any], Any] | None = None,
        name: str = "job",
        wake: bool = False,
        kind: str = "",
    ) -> Any:
        """Start a job at an external service, once, and return its result; until then the item waits without a worker.

        ``start(key)`` starts the job and returns its id; ``look(id)`` returns the result or ``later(seconds)``. ``find(key)``
        returns the id of a job that may have been started before, or None if there is certainly none; without ``find``, a
        person decides when the outcome is unknown. ``cancel(id)`` is called if the task is cancelled while this runs, and if
        the job takes too long. All may be `def` or `async def`. ``name`` distinguishes several jobs of one item.

        With ``wake``, ``start(key, url)`` also gets a URL to give to the service: a POST to it makes the item look at once. It
        is None if the setting `public_url` is empty. Polling continues, so a lost message costs only time.

        ``kind`` names jobs that take about the same time, such as `service:model`: their usual duration is learned, and the
        first poll of the next one waits that long. Without it, ``look`` is called right after ``start``.
        """
        if name in self._jobs:
            raise Permanent(
                say("external_twice", name=name),
                code="job_name",
            )
        self._jobs = self._jobs | {name}
        try:
            return await External(self, name, ExternalService(start, look, find, cancel, wake, kind)).result()
        except (JobFailed, Permanent):
            self._jobs = self._jobs - {name}  # That job is over; a handler that catches this may start another one.
            raise

    def submit_subtask(
        self,
        pipeline: Target | str,
        *inputs: Any,
        name: str | None = None,
        items: Iterable[Any] | None = None,
        options: dict[str, Any] | None = None,
        title: str | None = None,
        priority: int | None = None,
        tags: Sequence[str] = (),
        metadata: dict[str, Any] | None = None,
        straight_through: bool = False,
        budget: Any = None,
    ) -> Subtask:
        """Submit another task as part of this one, exactly once, and continue; ``result()`` waits for it without a worker.

        ``name`` (by default that of the pipeline) identifies it within the item: every attempt that asks for it gets the same
        task, whatever its other arguments. A redo or rerun gets a new one. Text is never a path here; a ``File`` or a ``Path``
        is copied. Pause, cancel and delete of this task apply to its subtasks too. Not in merge, on_failed or on_cancelled.
        """
        wanted = Submission(
            inputs=inputs,
            items=items,
            options={} if options is None else options,
            title=title,
            priority=self._row.priority if priority is None else priority,
            tags=tags,
            owner=self._row.owner,
            metadata={} if metadata is None else metadata,
            straight_through=straight_through,
            literal=True,
            actor=f"task {self._row.id}",
            budget=wish(budget, strict=False, allow_unknown_cost=False),
        )
        return submit_subtask(self._attempt_of or self, pipeline, name, wanted)

    def subtask_results(self, subtasks: Sequence[Subtask]) -> list[Any]:
        """The results of several subtasks, in order; the item waits once for all of them."""
        return results_of(self._attempt_of or self, subtasks)

    def _scratch(self) -> Path:
        return self._store.scratch / f"{self._row.id}-{self._claimed.id}-{self._claimed.lease}"

    def _bind(self, file: File) -> File:
        return bound(self, file)

    def _unfold(self, text: str | None, hint: Any) -> Any:
        return self._store.unfold(text, self._types.reading, hint, self._bind)

    def _fold(self, name: str, text: str) -> str:
        return folded(self, name, text)

    def _still(self, held: bool) -> None:
        if not held:
            self._stop.set()
            raise LeaseLost(say("lease_lost", key=self.idempotency_key))

    def close(self) -> None:
        """Remove the scratch files, and tell followers of streamed output that nothing more comes."""
        if self._streamed is not None:
            self._streamed.end()
        if self._used_scratch:
            shutil.rmtree(self._scratch(), ignore_errors=True)


async def _run_here(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Run it in a thread: this is already a child process."""
    return await asyncio.to_thread(function, *arguments, **named)
