"""What can go wrong? One family of errors, each with a stable code, a fact and a way out.

FanfoldError
├── NotFound            an unknown task, item, pipeline or file
├── Ambiguous           a shortened id fits several tasks
├── IllegalMove         the command is not possible in the task's state
├── BadInput            an option, key, file or value that cannot be used
│   └── BadOption       an option that the pipeline does not have, or a value that it cannot be
├── Unreadable          a kept value does not fit the types of the code any more
├── KeyTaken            the idempotency key has a task already
├── KeyReused           the idempotency key belongs to a task with other work
├── BadPipeline         the definition of a pipeline makes no sense
├── DatabaseProblem     malformed URL, no connection, wrong version
├── TaskStopped         the task one waited for ended without a result
├── FormFailed          the application cannot make this form of the result
├── ActionFailed        the application could not carry out this action
└── LeaseLost           this attempt no longer owns its item

HandlerError            what a handler may raise on purpose
├── Permanent           do not try again
│   └── NoAnswer        no model of the chain gave an answer that could be taken
├── Temporary           try again, after a while
│   └── JobFailed       an external job came to a bad end: start another one
├── PauseTask           nothing of this task can go well now: pause it for a person
├── HoldItem            this item cannot go on without a person; the others can
├── BadAnswer           a model's answer that must not be taken
├── ChildDied           the child process that ran it died
└── Cancelled           raised inside a handler whose task was paused, cancelled or handed on
"""

from __future__ import annotations

from typing import Any


class FanfoldError(Exception):
    """The base of everything Fanfold raises to the people who use it."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code

    @property
    def sentence(self) -> Any:
        """The message with its ``code`` and ``parameters``, if it was made from them; else None."""
        return self.message if hasattr(self.message, "parameters") else None


class NotFound(FanfoldError):
    """Something that was named does not exist."""

    code = "not_found"


class Ambiguous(FanfoldError):
    """A shortened id fits more than one task."""

    code = "ambiguous"


class IllegalMove(FanfoldError):
    """The table of moves does not allow this command now; ``available_commands`` are those that it does allow."""

    code = "illegal_move"

    def __init__(self, message: str, *, code: str | None = None, available_commands: tuple[str, ...] = ()) -> None:
        super().__init__(message, code=code)
        self.available_commands = available_commands


class BadInput(FanfoldError):
    """What was given cannot be used; nothing was changed."""

    code = "bad_input"


class BadOption(BadInput):
    """An option that the pipeline does not have, or a value it cannot have; ``field`` is the option's name."""

    code = "bad_option"

    def __init__(self, message: str, *, field: str = "", code: str | None = None) -> None:
        super().__init__(message, code=code)
        self.field = field


class Unreadable(FanfoldError):
    """A kept value does not fit the types of the code, or its type is not known here. The value stays as it was kept."""

    code = "unreadable"


class KeyTaken(FanfoldError):
    """Another task has this idempotency key; submit returns that one instead."""

    code = "key_taken"


class KeyReused(FanfoldError):
    """The idempotency key belongs to a task with another pipeline, other options, inputs or items."""

    code = "key_reused"


class BadPipeline(FanfoldError):
    """A pipeline's definition makes no sense."""

    code = "bad_pipeline"


class DatabaseProblem(FanfoldError):
    """The database cannot be used as it is. ``public`` is what a stranger may know: nothing of where it is, or nothing at all."""

    code = "database"

    def __init__(self, message: str, *, code: str | None = None, public: str = "") -> None:
        super().__init__(message, code=code)
        self.public = public


DATABASE_CODES = {
    "unreachable": "It does not answer, or takes no writes for now. Workers wait for it and keep their results in hand.",
    "refused": "It refused a value, such as one that is too large.",
    "misfit": "A statement does not fit its tables: they are of another version, or rights are missing.",
    "damaged": "Its file is broken.",
    "data_folder": "The data folder cannot be written to.",
    "read_only": "It is read-only for this account.",
    "foreign_database": "It has tables that are not Fanfold's.",
    "half_made": "Only some of its tables are there.",
    "unreleased_database": "It is of a revision that only development versions had.",
    "older_database": "It is of an older revision: upgrade it first.",
    "newer_database": "It was made by a newer version of Fanfold.",
    "outdated": "It was upgraded meanwhile, and this version of Fanfold cannot go on with it.",
    "locked": "An upgrade did not get the locks it needs; nothing was changed.",
    "workers_alive": "Workers are alive that could not go on after the upgrade; nothing was changed.",
    "no_database": "There is no database to copy.",
    "copy": "It could not be copied.",
}
"""The codes of a DatabaseProblem that tell more than `database`, and what they mean."""


class TaskStopped(FanfoldError):
    """A task that was waited for ended, or stopped, without a result."""

    code = "task_stopped"

    def __init__(self, message: str, *, task_id: str, state: str, available_commands: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.task_id = task_id
        self.state = state
        self.available_commands = available_commands


class FormFailed(FanfoldError):
    """The application's own code could not make a form of the result; the result itself is as it was."""

    code = "form_failed"


class ActionFailed(FanfoldError):
    """The application's own code could not carry out an action; the event of the task says so too."""

    code = "action_failed"


class LeaseLost(FanfoldError):
    """This attempt no longer owns its item: whatever it writes is discarded."""

    code = "lease_lost"


class HandlerError(Exception):
    """The base of what a handler raises on purpose."""

    code = "error"

    def __init__(self, message: str = "", *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class Permanent(HandlerError):
    """Trying again would not help: the item fails now."""

    code = "permanent"


class Temporary(HandlerError):
    """Trying again may help: the item waits (``after`` seconds, or the stage's back-off) and runs again.

    ``counts=False`` says that nothing was tried, as after a 429: the item's retries are not used up. ``by`` names the service
    that is waited for, for the people who look at the task.
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
    """What ``look`` raises for an external job that came to a bad end: the next attempt starts a new one, with a new key.

    It counts as a failure of the item. ``Permanent`` says the same, but without another attempt.
    """

    code = "job_failed"


class PauseTask(HandlerError):
    """Every other item would fail for the same reason (a refused key, an empty account): pause the task and say why.

    The item is handed back unharmed; a person resumes the task when the reason is gone.
    """

    code = "pause"


class HoldItem(HandlerError):
    """This item cannot go on until a person has done something; the other items of the task go on.

    The item waits, with the message as the reason that people see, until somebody retries it. No retry is used up.
    """

    code = "hold"


class BadAnswer(HandlerError):
    """An answer that must not be taken; ``ask`` then tries changed parameters, and the next model of the chain."""

    code = "bad_answer"


class NoAnswer(Permanent):
    """No model of the chain gave an answer that could be taken; ``reasons`` has one sentence for each that was tried."""

    code = "no_answer"

    def __init__(self, message: str = "", *, code: str | None = None, reasons: tuple[str, ...] = ()) -> None:
        super().__init__(message, code=code)
        self.reasons = reasons


class ChildDied(HandlerError):
    """The child process ended before it answered; the item counts as lost with it, and runs again a few times."""

    code = "crash"


class Cancelled(HandlerError):
    """The task was paused or cancelled, or the item was handed on; let it pass through."""

    code = "cancelled"
