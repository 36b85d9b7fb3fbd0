"""Submits a task: its row, files and first items appear in one transaction."""

from __future__ import annotations

import json
import logging
import secrets
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from fanfold.engine.credits.price import Units, charge, check_balance, is_priced, keys_of, priced
from fanfold.engine.tasks.many_items.draft import remove_items, write_items
from fanfold.engine.tasks.many_items.new_items import NewItems, digest_of
from fanfold.engine.tasks.moving.advance import make_items
from fanfold.engine.tasks.moving.transitions import described, record
from fanfold.engine.tasks.steering.gate_answers import check_straight_through
from fanfold.engine.tasks.submitting import inputs as given
from fanfold.engine.tasks.submitting.inputs import SubmissionDigest
from fanfold.engine.tasks.submitting.option_checks import check_options, check_types
from fanfold.engine.tasks.submitting.submission import TITLE_LENGTH, Submission, start_time
from fanfold.engine.tasks.submitting.submission import checked as checked_submission
from fanfold.engine.tasks.submitting.unlock import applied, taken_out
from fanfold.engine.tasks.submitting.unpack import unpacked
from fanfold.engine.telemetry.telling import submitting
from fanfold.engine.templates import with_templates
from fanfold.errors import BadInput, DatabaseProblem, FanfoldError, HandlerError, KeyReused, KeyTaken
from fanfold.model.lifecycle import TaskState
from fanfold.model.money.credits import PriceWork
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.plan import Kind, Plan
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.model.values.files import File
from fanfold.store.items.large.drafts import CHUNK, NEW
from fanfold.store.rows.money.budgets import task_scope
from fanfold.store.store import Store, Transaction

log = logging.getLogger("fanfold.submit")
TRIES = 3
BYTES_PER_CHARACTER = 4
"""Maximum bytes of a character in UTF-8."""
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"


class NotWanted(FanfoldError):
    """The transaction that would store the task found that it is no longer wanted."""

    code = "not_wanted"


class Submitted(NamedTuple):
    """A task, and whether this submission created it."""

    row: TaskRow
    is_new: bool


def submit(store: Store, pipeline: Pipeline, wanted: Submission) -> TaskRow:
    """The task of a submission: a new one, or the existing one with its key."""
    return submit_or_find(store, pipeline, wanted).row


def submit_or_find(store: Store, pipeline: Pipeline, wanted: Submission) -> Submitted:
    """A new task with its first items, or the existing task if the key is taken; KeyReused if that is different work.

    The source of the items is exhausted before any transaction begins.
    """
    with submitting(store.settings, pipeline.name, checked_submission(wanted)) as traced:
        return _submit_or_find(store, pipeline, traced)


def _submit_or_find(store: Store, pipeline: Pipeline, wanted: Submission) -> Submitted:
    wanted, secrets = without_secrets(store, pipeline, wanted)
    plan = plan_of(pipeline, wanted)
    existing = _by_key(store, wanted)
    checked = check_submission(pipeline, plan, wanted)
    if existing is not None:
        return Submitted(_compared(existing, pipeline, wanted, checked, _fingerprint(pipeline, wanted, checked)), False)
    made = Making(store, pipeline, plan, wanted)
    try:
        with applied(store, secrets, checked) as usable, unpacked(store, pipeline, usable) as inputs:
            return Submitted(made.keep(checked, inputs), True)
    except KeyTaken:
        made.remove_blobs()
        existing = _by_key(store, wanted)
        if existing is None:
            raise
        return Submitted(_compared(existing, pipeline, wanted, checked, made.fingerprint), False)
    except BaseException:
        made.remove_blobs()
        raise
    finally:
        made.new_items.remove()


def without_secrets(store: Store, pipeline: Pipeline, wanted: Submission) -> tuple[Submission, Any]:
    """The submission with templates in place of their names and without secrets, and the secrets."""
    named, used = with_templates(store, pipeline, wanted.options)
    options, secrets = taken_out(pipeline, named)
    return replace(wanted, options=options, templates=(*wanted.templates, *used)), secrets


def plan_of(pipeline: Pipeline, wanted: Submission) -> Plan:
    """The plan that the task keeps."""
    plan = pipeline.plan()
    if wanted.straight_through:
        check_straight_through(plan)
    return plan.without_gates() if wanted.straight_through else plan


class Making:
    """A task that is being submitted."""

    def __init__(self, store: Store, pipeline: Pipeline, plan: Plan, wanted: Submission) -> None:
        self.store = store
        self.pipeline = pipeline
        self.plan = plan
        self.wanted = wanted
        self.task_id = new_id()
        self.new_items = NewItems(store.scratch / f"submit-{self.task_id}.jsonl")
        self.fingerprint: str | None = None
        self.units: Units = {}
        """What is charged, in credits, by item key."""
        self._files: list[File] = []
        """Blobs of the inputs."""
        self._folded: list[tuple[int, File]] = []
        """Blobs of large item inputs, with the positions of the items."""

    def keep(self, checked: list[Any], usable: list[Any]) -> TaskRow:
        """Write the blobs, then everything else in one transaction; many items are written in short ones before it.

        ``usable`` are the inputs with secrets applied and archives unpacked. The fingerprint covers the given inputs: copies
        may differ each time.
        """
        row = self.prepare(checked, usable)
        try:
            return self._keep_few(row) if self.new_items.fits_one_chunk else self._keep_many(row)
        except BadInput as problem:
            duplicate = self.new_items.first_duplicate() if problem.code == "duplicate_key" else None
            if duplicate is None:
                raise
            raise BadInput(say("items_duplicate", key=duplicate), code=problem.code) from problem

    def prepare(self, checked: list[Any], usable: list[Any]) -> dict[str, Any]:
        """Write the blobs and take the items; returns the row to be written."""
        described = None if self.wanted.key is None else SubmissionDigest(self.pipeline.name, self.wanted.options)
        if self.wanted.items is not None:
            self._take_items(self.wanted.items, digest=described is not None)
        is_same = usable == checked
        if described is not None and not is_same:
            given.describe(described, checked)
        kept = given.copy_in(self.store, self.task_id, usable, self._files, described if is_same else None)
        self.fingerprint = None if described is None else described.fingerprint(self.new_items.digest)
        if self.wanted.items is None and self.pipeline.item_maker is not None:
            self._take_items(self.pipeline.item_maker(kept, dict(self.wanted.options)), digest=False)
        self._ask_price(kept)
        row = _row(self.task_id, self.pipeline, self.plan, self.wanted, kept, checked)
        row |= {"fingerprint": self.fingerprint} | self._start()
        if self.wanted.parent is not None:
            row |= {"parent": self.wanted.parent.task, "parent_item": self.wanted.parent.item}
        if self.wanted.notify:
            row["notify"] = json.dumps(list(self.wanted.notify))
        return row

    def _ask_price(self, kept: list[Any]) -> None:
        if not is_priced(self.store.settings, self.pipeline, self.wanted.owner):
            return
        keys = keys_of(self.new_items) if self.new_items.count else ()
        wanted = self.wanted
        work = PriceWork(kept, dict(wanted.options), dict(wanted.metadata), wanted.owner, keys)
        self.units = priced(self.pipeline, work)
        check_balance(self.store, wanted.owner, self.units)
        self.plan = replace(self.plan, priced=True)

    def _start(self) -> dict[str, Any]:
        """The values of a task that starts later."""
        if self.wanted.run_at is None and self.wanted.delay is None:
            return {}
        with self.store.read() as tx:
            start = start_time(self.wanted.run_at, self.wanted.delay, tx.time())
        return {} if start is None else {"start_at": start, "state": TaskState.WAITING.value}

    def _admit(self, tx: Transaction) -> None:
        if self.wanted.within is not None and not self.wanted.within.admit(tx):
            raise NotWanted(f"{self.pipeline.name} is no longer wanted")

    def _take_items(self, items: Iterable[Any], *, digest: bool) -> None:
        limit = self.store.settings.result_bytes
        try:
            self.new_items.fill(items, self._fold, limit, digest=digest, check=self._check_input)
        except HandlerError as problem:
            raise BadInput(problem.message, code=problem.code) from problem
        if not self.new_items.count:
            raise BadInput(say("items_empty"))

    def _check_input(self, text: str, what: Callable[[], str]) -> None:
        types = self.pipeline.kept_types
        types.check(text, types.input(self.plan.stages[0].name), what)

    def _fold(self, name: str, text: str) -> str:
        if len(text) * BYTES_PER_CHARACTER <= self.store.settings.inline_bytes:
            return text
        text, file = self.store.fold(self.task_id, name, text)
        if file is not None:
            self._folded.append((self.new_items.count, file))
        return text

    def _keep_few(self, row: dict[str, Any]) -> TaskRow:
        with self.store.write() as tx:
            return self.add(tx, row)

    def add(self, tx: Transaction, row: dict[str, Any]) -> TaskRow:
        """Write a task with few items."""
        self._admit(tx)
        number = tx.tasks.add(row, self.wanted.tags)
        tx.blobs.add_files(number, [file for _, file in self._folded])
        return self._begin(tx, number, self.new_items if self.new_items.count else None)

    def _keep_many(self, row: dict[str, Any]) -> TaskRow:
        """Write the items under a reserved task number, and then the task."""
        for _ in range(TRIES):
            with self.store.write() as tx:
                number = tx.tasks.reserve_number()
                tx.drafts.begin(number, row["stage"], NEW, self.task_id)
            try:
                begun = self._write(number, row)
            except BaseException:
                self._give_up(number, row["stage"])
                raise
            if begun is not None:
                return begun
        raise FanfoldError(say("items_too_slow"), code="too_slow")

    def _write(self, number: int, row: dict[str, Any]) -> TaskRow | None:
        """Write the items, then the task; None if the sweep considered this abandoned, as after a long sleep of the machine."""
        stage, positions = row["stage"], [position for position, _ in self._folded]

        def name_blobs(tx: Transaction, first: int, behind: int) -> None:
            some = self._folded[bisect_left(positions, first) : bisect_left(positions, behind)]
            tx.blobs.add_files(number, [file for _, file in some])

        if not write_items(
            self.store.transact, number, stage, self.task_id, self.new_items, may=lambda tx: True, note=name_blobs
        ):
            return None
        with self.store.write() as tx:
            tx.items.analyze(self.new_items.count)
        with self.store.write() as tx:
            if not tx.drafts.refresh(number, stage, self.task_id):
                return None
            self._admit(tx)
            tx.tasks.add({"number": number, **row}, self.wanted.tags)
            tx.drafts.end(number, [stage])
            return self._begin(tx, number, None)

    def _give_up(self, number: int, stage: str) -> None:
        """Remove what was written so far; if the database is unreachable, the sweep does it later."""
        try:
            remove_items(
                self.store.transact, number, stage, self.task_id, may=lambda tx: _unnamed(tx, number), keep=False
            )
        except DatabaseProblem as problem:
            log.warning("Leaving the items of a failed submission to the sweep: %s", problem)

    def _begin(self, tx: Transaction, number: int, items: NewItems | None) -> TaskRow:
        tx.blobs.add_files(number, self._files)
        row = tx.tasks.get(number)
        assert row is not None
        make_items(tx, row, row.plan.stages[0], items)
        tx.templates.use(number, self.wanted.templates)
        if (wish := self.wanted.budget) is not None:
            rules = {"strict": wish.strict, "allow_unknown": wish.allow_unknown_cost}
            tx.budgets.put(task_scope(number), wish.cap, task=number, **rules)
        record(
            tx,
            {self.pipeline.name: self.pipeline},
            row,
            described(row, "submit", None, row.state, self.wanted.actor, row.stage),
        )
        if self.wanted.within is not None:
            self.wanted.within.note(tx, row.id)
        charge(tx, self.store.settings, row, self.units, self.wanted.actor)
        tx.announce()
        return row

    def remove_blobs(self) -> None:
        """Remove the blobs: the task was not created."""
        self.store.shelf.delete(file.key for file in [*self._files, *(file for _, file in self._folded)])


def _unnamed(tx: Transaction, number: int) -> bool:
    """Remove the blob rows of a task that was not created. The caller removes the files."""
    return tx.blobs.drop_some(number, CHUNK) is not None


def _by_key(store: Store, wanted: Submission) -> TaskRow | None:
    if wanted.key is None:
        return None
    with store.read() as tx:
        return tx.tasks.by_key(wanted.owner, wanted.key)


def _fingerprint(pipeline: Pipeline, wanted: Submission, checked: list[Any]) -> str:
    """The fingerprint of a submission; nothing is stored."""
    known = SubmissionDigest(pipeline.name, wanted.options)
    given.describe(known, checked)
    digest = None
    if wanted.items is not None:
        digest = digest_of(wanted.items)
    return known.fingerprint(digest)


def _compared(
    existing: TaskRow, pipeline: Pipeline, wanted: Submission, checked: list[Any], fingerprint: str | None
) -> TaskRow:
    """The task with the key, if it is the same work; KeyReused if it is not."""
    if existing.fingerprint is not None:
        same = existing.fingerprint == fingerprint
    else:  # Submitted by a version without fingerprints.
        kept = [(one.name, one.size) if isinstance(one, File) else one for one in serial.load(existing.input) or []]
        now = [given.size_of(one) if isinstance(one, Path | given.Upload) else one for one in checked]
        options = serial.load(serial.dump(wanted.options, "The options"))
        same = (existing.pipeline, serial.load(existing.options) or {}, kept) == (pipeline.name, options, now)
    if not same:
        raise KeyReused(say("key_reused", key=wanted.key, task=existing.id))
    return existing


def check_submission(pipeline: Pipeline, plan: Plan, wanted: Submission) -> list[Any]:
    """The checked inputs; every possible error is raised before anything is stored."""
    starts_with_items = plan.stages[0].kind is Kind.EACH
    if starts_with_items and wanted.items is None and pipeline.item_maker is None:
        raise BadInput(say("needs_items", pipeline=pipeline.name, stage=plan.stages[0].name))
    if not starts_with_items and wanted.items is not None:
        raise BadInput(say("makes_own_items", pipeline=pipeline.name, stage=plan.stages[0].name))
    serial.dump([wanted.options, wanted.metadata], "What was submitted")
    check_options(pipeline, wanted.options)
    inputs = given.check(wanted.inputs, text_is_path=not (pipeline.calls_with_arguments or wanted.literal))
    check_types(pipeline, wanted.options, wanted.metadata, inputs)
    if (
        pipeline.accepts
        and wanted.items is None
        and not any(isinstance(value, Path | given.Upload | File) for value in inputs)
    ):
        wanted_files = " or ".join(pipeline.accepts)
        raise BadInput(
            f"{pipeline.title} needs a file that ends with {wanted_files}, and none was given. Give one as an input.",
            code="no_file",
        )
    return inputs


def new_id() -> str:
    """A new public id, short enough to read out and random enough to be unique."""
    return "t-" + "".join(secrets.choice(ALPHABET) for _ in range(12))


def _row(
    task_id: str, pipeline: Pipeline, plan: Plan, wanted: Submission, kept: list[Any], checked: list[Any]
) -> dict[str, Any]:
    first = plan.stages[0]
    named = next((value.name for value in checked if isinstance(value, Path | given.Upload)), pipeline.title)
    return {
        "id": task_id,
        "pipeline": pipeline.name,
        "title": (wanted.title or named)[:TITLE_LENGTH],
        "state": TaskState.WAITING.value if first.gate else TaskState.ACTIVE.value,
        "stage": first.name,
        "plan": plan.to_json(),
        "input": serial.dump(kept, "The input"),
        "options": serial.dump(wanted.options, "The options"),
        "extra": serial.dump(wanted.metadata, "The metadata"),
        "owner": wanted.owner,
        "priority": wanted.priority,
        "key": wanted.key,
        "retry_limit": wanted.retry_limit,
        "sample": wanted.sample or None,
    }
