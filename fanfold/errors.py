"""The errors of Fanfold. Each has a stable code, and its message states a fact and what to do.

FanfoldError
├── NotFound            an unknown task, item, pipeline or file
├── Ambiguous           a shortened id matches several tasks
├── IllegalMove         the command is not possible in the task's state
├── BadInput            an option, key, file or value that cannot be used
│   ├── BadTemplate     a template that its application cannot use
│   └── BadOption       an option that the pipeline does not have, or a value that it does not allow
├── Unreadable          a stored value no longer fits the types in the code
├── NotEnoughCredits    the owner has fewer credits than the task costs
├── KeyTaken            the idempotency key already has a task
├── KeyReused           the idempotency key belongs to a task with different work
├── BadPipeline         the definition of a pipeline is not valid
├── DatabaseProblem     malformed URL, no connection, wrong version
├── TaskStopped         the awaited task ended without a result
├── FormFailed          the application cannot make this form of the result
├── ActionFailed        the application could not carry out this action
└── LeaseLost           this attempt no longer owns its item

HandlerError            what a handler may raise on purpose
├── Permanent           do not retry
│   ├── NoAnswer        no model of the chain gave an acceptable answer
│   └── SubtaskFailed   a subtask ended without a result
├── Temporary           retry after a while
│   └── JobFailed       an external job failed: start another one
├── PauseTask           every item would fail for the same reason: pause the task for a person
├── HoldItem            this item cannot continue without a person; the others can
├── BadAnswer           a model's answer is not acceptable
├── ChildDied           the child process that ran it died
└── Cancelled           raised in a handler whose result is no longer wanted
"""

from __future__ import annotations

from typing import Any


class FanfoldError(Exception):
    """The base class of the errors that Fanfold raises to its users."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code

    @property
    def sentence(self) -> Any:
        """The message with its ``code`` and ``parameters``, if it was made from them; otherwise None."""
        return self.message if hasattr(self.message, "parameters") else None


class NotFound(FanfoldError):
    """Something that was named does not exist."""

    code = "not_found"


class Ambiguous(FanfoldError):
    """A shortened id matches more than one task."""

    code = "ambiguous"


class IllegalMove(FanfoldError):
    """The command is not possible in the task's state; ``available_commands`` lists those that are."""

    code = "illegal_move"

    def __init__(self, message: str, *, code: str | None = None, available_commands: tuple[str, ...] = ()) -> None:
        super().__init__(message, code=code)
        self.available_commands = available_commands


class BadInput(FanfoldError):
    """An argument cannot be used; nothing was changed."""

    code = "bad_input"


class BadTemplate(BadInput):
    """A template that its application cannot use; ``problems`` has a sentence for each mistake."""

    code = "bad_template"

    def __init__(self, message: str, problems: tuple[str, ...]) -> None:
        super().__init__(message)
        self.problems = problems


class BadOption(BadInput):
    """An option that the pipeline does not have, or a value it does not allow; ``field`` is the option's name."""

    code = "bad_option"

    def __init__(self, message: str, *, field: str = "", code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.field = field


class Unreadable(FanfoldError):
    """A stored value no longer fits the types in the code, or its type is not known here. The value is not changed."""

    code = "unreadable"


class NotEnoughCredits(FanfoldError):
    """The owner has fewer credits than this costs; nothing was begun."""

    code = "not_enough_credits"

    def __init__(self, message: str, *, balance: int, price: int) -> None:
        super().__init__(message)
        self.balance = balance
        self.price = price


class KeyTaken(FanfoldError):
    """Another task has this idempotency key; submit returns that one instead."""

    code = "key_taken"


class KeyReused(FanfoldError):
    """The idempotency key belongs to a task with a different pipeline, options, inputs or items."""

    code = "key_reused"


class BadPipeline(FanfoldError):
    """A pipeline's definition is not valid."""

    code = "bad_pipeline"


class DatabaseProblem(FanfoldError):
    """The database cannot be used as it is. ``public`` is the message for untrusted readers: it omits the database's address."""

    code = "database"

    def __init__(self, message: str, *, code: str | None = None, public: str = "") -> None:
        super().__init__(message, code=code)
        self.public = public


DATABASE_CODES = {
    "unreachable": "It does not answer, or currently refuses writes. Workers wait for it and keep their results.",
    "refused": "It refused a value, such as one that is too large.",
    "misfit": "A statement does not fit its tables: they belong to another version, or permissions are missing.",
    "damaged": "Its file is corrupt.",
    "data_folder": "The data folder cannot be written to.",
    "files_unreachable": "The bucket with the files does not answer. Workers wait for it.",
    "files_refused": "The bucket with the files refuses access, or does not exist. Workers wait until it is accessible.",
    "file_damaged": "A file does not have the size that was written: it was changed where it is stored, or cut off on its way.",
    "files_unsafe": "The bucket with the files does not support `If-None-Match`, or holds another file under the same key.",
    "read_only": "It is read-only for this account.",
    "ephemeral": "A SQLite file on the disk of a cloud function, which is lost with the instance.",
    "foreign_database": "It has tables that are not Fanfold's.",
    "half_made": "Some of its tables are missing.",
    "unreleased_database": "It has a revision that only development versions had.",
    "older_database": "It has an older revision: upgrade it first.",
    "newer_database": "It was made by a newer version of Fanfold.",
    "outdated": "It was upgraded meanwhile, and this version of Fanfold can no longer use it.",
    "locked": "An upgrade did not get the locks it needs; nothing was changed.",
    "workers_alive": "Workers are alive that could not continue after the upgrade; nothing was changed.",
    "no_database": "There is no database to copy.",
    "copy": "It could not be copied.",
}
"""Codes of a DatabaseProblem that say more than `database`, and their meaning."""


class TaskStopped(FanfoldError):
    """An awaited task ended or stopped without a result."""

    code = "task_stopped"

    def __init__(self, message: str, *, task_id: str, state: str, available_commands: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.task_id = task_id
        self.state = state
        self.available_commands = available_commands


class FormFailed(FanfoldError):
    """The application's code could not make a form of the result; the result itself is unchanged."""

    code = "form_failed"


class ActionFailed(FanfoldError):
    """The application's code could not carry out an action; an event of the task says so too."""

    code = "action_failed"


class LeaseLost(FanfoldError):
    """This attempt no longer owns its item: whatever it writes is discarded."""

    code = "lease_lost"


class HandlerError(Exception):
    """The base class of errors that a handler raises on purpose."""

    code = "error"

    def __init__(self, message: str = "", *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class Permanent(HandlerError):
    """A retry would not help: the item fails now."""

    code = "permanent"


class Temporary(HandlerError):
    """A retry may help: the item waits (``after`` seconds, or the stage's back-off) and runs again.

    ``counts=False`` means that nothing was tried, as after a 429: no retry is used up. ``by`` names the service to wait for,
    for people who look at the task.
    """

    code = "temporary"

    def __init__(
        self,
        message: str = "",
        *,
        after: float | None = None,
        code: str | None = None,
        counts: bool = True,
        by: str | None = None,
    ) -> None:
        super().__init__(message, code=code)
        self.after = None if after is None else float(after)
        self.counts = counts
        self.by = by


class JobFailed(Temporary):
    """Raised by ``look`` when an external job has failed: the next attempt starts a new one, with a new key.

    It counts as a failure of the item. Raise ``Permanent`` instead to prevent another attempt.
    """

    code = "job_failed"


class PauseTask(HandlerError):
    """Every other item would fail for the same reason (a refused key, an empty account): pause the task and say why.

    The item is handed back without a failure counted; a person resumes the task when the reason is gone.
    """

    code = "pause"


class NotAsked(BaseException):
    """``ask`` could not send its question (budget, rate limit, key): ends the attempt as ``reason`` says, nothing counted.

    Not an Exception, so that a handler with `except Exception` does not return a result without an answer.
    """

    def __init__(self, reason: HandlerError) -> None:
        super().__init__(reason)
        self.reason = reason


class HoldItem(HandlerError):
    """This item cannot continue until a person has acted; the other items of the task continue.

    The item waits, with the message as the reason that people see, until somebody retries it. No retry is used up.
    """

    code = "hold"


class BadAnswer(HandlerError):
    """The answer is not acceptable; ``ask`` then tries changed parameters and the next model of the chain."""

    code = "bad_answer"


class NoAnswer(Permanent):
    """No model of the chain gave an acceptable answer; ``reasons`` has one sentence for each model tried."""

    code = "no_answer"

    def __init__(self, message: str = "", *, code: str | None = None, reasons: tuple[str, ...] = ()) -> None:
        super().__init__(message, code=code)
        self.reasons = reasons


class SubtaskFailed(Permanent):
    """A subtask failed, was cancelled, or is partial; ``task_id`` and ``state`` say which one, and how it ended.

    If nobody catches it, the item fails. When a person retries the item, the subtask is retried too.
    """

    code = "subtask_failed"

    def __init__(self, message: str = "", *, code: str | None = None, task_id: str = "", state: str = "") -> None:
        super().__init__(message, code=code)
        self.task_id = task_id
        self.state = state


class ChildDied(HandlerError):
    """The child process died before it answered. This counts as a crash; the item runs again up to ``crash_limit`` times."""

    code = "crash"


class Cancelled(HandlerError):
    """The task was paused or cancelled, or another worker has the item; do not catch it."""

    code = "cancelled"
