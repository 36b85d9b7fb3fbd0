"""The public surface: every name once, with its home. ``__init__.py`` loads a name when it is first used."""

from fanfold.engine.client import Client as Client
from fanfold.engine.context import ItemWork as ItemWork
from fanfold.engine.context import TaskWork as TaskWork
from fanfold.engine.queries.results import Results as Results
from fanfold.engine.tasks.inputs import Upload as Upload
from fanfold.engine.worker.loop import Worker as Worker
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
from fanfold.model.application import AppCommand as AppCommand
from fanfold.model.application import Application as Application
from fanfold.model.asking import Answer as Answer
from fanfold.model.asking import Check as Check
from fanfold.model.asking import Spending as Spending
from fanfold.model.external import ExternalJob as ExternalJob
from fanfold.model.files import File as File
from fanfold.model.item import BEGAN_AGAIN as BEGAN_AGAIN
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
from fanfold.running.awaited import arun as arun
from fanfold.running.one import run as run

__version__: str
__all__: list[str]
