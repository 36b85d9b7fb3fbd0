"""Fanfold: a durable engine for work of the shape one task → N items → merge, kept in SQLite or PostgreSQL.

    import fanfold as ff

    book = ff.Pipeline("translate")

The public surface is ``__all__``; everything in it is loaded when it is first used, so that importing Fanfold is cheap.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanfold.cli.awaiting import arun as arun
    from fanfold.cli.running import run as run
    from fanfold.engine.client import Client as Client
    from fanfold.engine.context import ItemWork as ItemWork
    from fanfold.engine.context import TaskWork as TaskWork
    from fanfold.engine.inputs import Upload as Upload
    from fanfold.engine.results import Results as Results
    from fanfold.engine.worker import Worker as Worker
    from fanfold.errors import Ambiguous as Ambiguous
    from fanfold.errors import BadAnswer as BadAnswer
    from fanfold.errors import BadInput as BadInput
    from fanfold.errors import BadOption as BadOption
    from fanfold.errors import BadPipeline as BadPipeline
    from fanfold.errors import Cancelled as Cancelled
    from fanfold.errors import ChildDied as ChildDied
    from fanfold.errors import DatabaseProblem as DatabaseProblem
    from fanfold.errors import FanfoldError as FanfoldError
    from fanfold.errors import HandlerError as HandlerError
    from fanfold.errors import HoldItem as HoldItem
    from fanfold.errors import IllegalMove as IllegalMove
    from fanfold.errors import JobFailed as JobFailed
    from fanfold.errors import LeaseLost as LeaseLost
    from fanfold.errors import NoAnswer as NoAnswer
    from fanfold.errors import NotFound as NotFound
    from fanfold.errors import PauseTask as PauseTask
    from fanfold.errors import Permanent as Permanent
    from fanfold.errors import TaskStopped as TaskStopped
    from fanfold.errors import Temporary as Temporary
    from fanfold.model.asking import Answer as Answer
    from fanfold.model.asking import Check as Check
    from fanfold.model.asking import Spending as Spending
    from fanfold.model.external import ExternalJob as ExternalJob
    from fanfold.model.files import File as File
    from fanfold.model.item import Item as Item
    from fanfold.model.item import NewItem as NewItem
    from fanfold.model.item import Result as Result
    from fanfold.model.item import later as later
    from fanfold.model.lifecycle import ItemState as ItemState
    from fanfold.model.lifecycle import TaskState as TaskState
    from fanfold.model.options import Option as Option
    from fanfold.model.options import read_options as read_options
    from fanfold.model.pipeline import Pipeline as Pipeline
    from fanfold.model.pipeline import task as task
    from fanfold.model.retry import Retry as Retry
    from fanfold.model.task import Change as Change
    from fanfold.model.task import Event as Event
    from fanfold.model.task import Task as Task

__version__ = "0.1.0"

_HOMES = {
    "Ambiguous": "errors",
    "Answer": "model.asking",
    "BadAnswer": "errors",
    "BadInput": "errors",
    "BadOption": "errors",
    "BadPipeline": "errors",
    "Cancelled": "errors",
    "Change": "model.task",
    "Check": "model.asking",
    "ChildDied": "errors",
    "Client": "engine.client",
    "DatabaseProblem": "errors",
    "Event": "model.task",
    "ExternalJob": "model.external",
    "FanfoldError": "errors",
    "File": "model.files",
    "HandlerError": "errors",
    "HoldItem": "errors",
    "IllegalMove": "errors",
    "Item": "model.item",
    "ItemState": "model.lifecycle",
    "ItemWork": "engine.context",
    "JobFailed": "errors",
    "LeaseLost": "errors",
    "NewItem": "model.item",
    "NoAnswer": "errors",
    "NotFound": "errors",
    "Option": "model.options",
    "PauseTask": "errors",
    "Permanent": "errors",
    "Pipeline": "model.pipeline",
    "Result": "model.item",
    "Results": "engine.results",
    "Retry": "model.retry",
    "Spending": "model.asking",
    "Task": "model.task",
    "TaskState": "model.lifecycle",
    "TaskStopped": "errors",
    "TaskWork": "engine.context",
    "Temporary": "errors",
    "Upload": "engine.inputs",
    "Worker": "engine.worker",
    "arun": "cli.awaiting",
    "later": "model.item",
    "read_options": "model.options",
    "run": "cli.running",
    "task": "model.pipeline",
}

__all__ = [
    "Ambiguous",
    "Answer",
    "BadAnswer",
    "BadInput",
    "BadOption",
    "BadPipeline",
    "Cancelled",
    "Change",
    "Check",
    "ChildDied",
    "Client",
    "DatabaseProblem",
    "Event",
    "ExternalJob",
    "FanfoldError",
    "File",
    "HandlerError",
    "HoldItem",
    "IllegalMove",
    "Item",
    "ItemState",
    "ItemWork",
    "JobFailed",
    "LeaseLost",
    "NewItem",
    "NoAnswer",
    "NotFound",
    "Option",
    "PauseTask",
    "Permanent",
    "Pipeline",
    "Result",
    "Results",
    "Retry",
    "Spending",
    "Task",
    "TaskState",
    "TaskStopped",
    "TaskWork",
    "Temporary",
    "Upload",
    "Worker",
    "arun",
    "later",
    "read_options",
    "run",
    "task",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fanfold' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"fanfold.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
