"""Writes log lines as JSON, one object per line, with the task, stage, item, attempt and worker that they are about.

The fields of an attempt are in the context of its handler, so lines that the handler logs have them too, in the event loop, in
threads and in child processes. Text lines are unchanged.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from fanfold.engine.redaction import without_keys
from fanfold.model.values.secrets import BLANK, is_secret

if TYPE_CHECKING:
    from fanfold.engine.worker.attempt.caller import AnyCall

SPEAKERS = ("fanfold.worker", "fanfold.sweep")
"""Loggers whose lines begin with the worker or task that they are about: `[%s] …`."""
TASK_ID = re.compile(r"t-[a-z0-9]{12}")
STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName", "fanfold"}
"""Attributes that every log record has; any others were given with ``extra``."""


class LogFields(NamedTuple):
    """The attempt that a line is about."""

    task: str
    stage: str
    item: str
    attempt: int
    worker: str | None


class LogLevels(NamedTuple):
    """The minimum log levels: for our loggers, and for all others."""

    ours: int
    others: int


current_attempt: ContextVar[tuple[AnyCall, Callable[[], str]] | LogFields | None] = ContextVar(
    "fanfold_current_attempt", default=None
)
"""The running attempt, and a function that names its worker. Fields are computed only when something is logged."""
_installed: LogLevels | None = None


def current_fields() -> LogFields | None:
    """The fields of the running attempt."""
    found = current_attempt.get()
    return found if found is None or isinstance(found, LogFields) else _fields(found[0], found[1]())


def about(call: AnyCall, worker: str | None = None) -> dict[str, LogFields]:
    """The ``extra`` for a line about an attempt that is logged outside of its context."""
    return {"fanfold": _fields(call, worker)}


def _fields(call: AnyCall, worker: str | None) -> LogFields:
    return LogFields(call.row.id, call.stage.name, call.name, call.claimed.attempts, worker)


@contextmanager
def logged_as(fields: LogFields | None) -> Iterator[None]:
    """Lines logged in this block are about this attempt."""
    before = current_attempt.set(fields)
    try:
        yield
    finally:
        current_attempt.reset(before)


def log_json(handler: logging.Handler, levels: LogLevels) -> None:
    """Write all log lines of this process as JSON, with one handler."""
    global _installed  # noqa: PLW0603
    handler.setFormatter(JsonFormatter())
    root, ours = logging.getLogger(), logging.getLogger("fanfold")
    root.handlers[:], ours.handlers[:] = [handler], []
    root.setLevel(levels.others)
    ours.setLevel(levels.ours)
    logging.captureWarnings(True)
    _installed = levels


def json_levels() -> LogLevels | None:
    """The log levels of this process, for its children; None if lines are text or another program configures logging."""
    return _installed


class JsonFormatter(logging.Formatter):
    """Formats a record as a JSON object, with known API keys removed. For the logging of your own program.

    Its fields are time, level, logger and message; task, stage, item, attempt and worker where they are known; what was
    given with ``extra``; and ``exception`` with the traceback.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_keys(record.getMessage()),
            **_known(record),
        }
        for name, value in vars(record).items():
            # Libraries such as Ray mark every record for themselves.
            if name not in STANDARD and not name.startswith("_"):
                line.setdefault(name, BLANK if is_secret(name) else _plain(value))
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = without_keys(self.formatException(record.exc_info))
        if record.stack_info:
            line["stack"] = without_keys(self.formatStack(record.stack_info))
        # Half of a surrogate pair cannot be encoded; escaped, it is still valid JSON.
        return json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace").decode("utf-8")


def _known(record: logging.LogRecord) -> dict[str, Any]:
    """The task, item and worker of the line: from its own fields, from the context, or from its first words."""
    fields: LogFields | None = getattr(record, "fanfold", None) or current_fields()
    known = {} if fields is None else fields._asdict()
    if record.name in SPEAKERS and str(record.msg).startswith("[%s] ") and isinstance(record.args, tuple):
        speaker = str(record.args[0])
        name = "task" if TASK_ID.fullmatch(speaker) else "worker"
        known[name] = known.get(name) or speaker
    return {name: _plain(value) for name, value in known.items() if value is not None}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float) and value - value == 0:  # JSON has no infinity and no NaN.
        return value
    return without_keys(str(value))
