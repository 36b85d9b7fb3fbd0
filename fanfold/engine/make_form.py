"""Makes the forms of a result: runs the application's function in the calling thread, outside transactions."""

from __future__ import annotations

import logging
import re
import shutil
import tempfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from fanfold.engine.queries.results.outputs import no_result
from fanfold.engine.queries.results.task_result import Results
from fanfold.engine.tasks.many_items.reset_items import is_same
from fanfold.errors import FanfoldError, FormFailed, HandlerError, NotFound, TaskStopped
from fanfold.model.item import Result
from fanfold.model.lifecycle import TaskState
from fanfold.model.pipelines.forms import Form
from fanfold.model.task import Task
from fanfold.model.text.sentences import Sentence, say
from fanfold.model.values.files import File

if TYPE_CHECKING:
    from fanfold.engine.client import Client
    from fanfold.model.pipelines.pipeline import Pipeline

log = logging.getLogger("fanfold.forms")
UNFIT = re.compile(r"[\x00-\x1f\x7f/\\]")
MOST_NAME = 120


class FormWork:
    """The input of a form: the task, its result, and the results of its items, all read lazily."""

    def __init__(
        self, client: Client, task: Task, scratch: Path, *, earlier: bool = False, is_partial: bool = False
    ) -> None:
        self._client = client.typed(pipeline_of(client, task, task.pipeline))
        self._earlier = earlier
        self.task = task
        """The public view of the task."""
        self.is_partial = is_partial
        """Whether the task is not completed: ``task.done`` of ``task.total`` items have a result so far."""
        self.scratch = scratch
        """A folder for temporary files; it is removed afterwards."""

    @cached_property
    def result(self) -> Any:
        """The output of the last stage."""
        return self._client.result(self.task.id, earlier=self._earlier)

    def results(self, stage: str | None = None) -> Results[Any, Any]:
        """The results of an `each` stage, as a merge reads them; by default of the last one."""
        return self._client.results(self.task.id, stage)

    def missing(self) -> Iterator[Result[Any, Any]]:
        """The items without a result, with the reason."""
        return self._client.missing(self.task.id)


class FormFile:
    """A finished form: a file in its own folder, removed by ``close`` (or ``with``)."""

    def __init__(self, form: Form, name: str, path: Path, folder: Path) -> None:
        self.form = form
        self.name = name
        """File name of a download."""
        self.path = path
        self._folder = folder

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.path.stat().st_size

    def content(self) -> str | bytes:
        """The whole content: text for a text form, bytes otherwise."""
        return self.path.read_text(encoding="utf-8") if self.form.is_text else self.path.read_bytes()

    def save(self, target: str | Path) -> Path:
        """Copy it to ``target``, a file or an existing folder; returns the path."""
        place = Path(target)
        place = place / self.name if place.is_dir() else place
        shutil.copyfile(self.path, place)
        return place

    def close(self) -> None:
        """Remove the file."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> FormFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def pipeline_of(client: Client, task: Task, what: str) -> Pipeline:
    """The task's pipeline: one given to the client, or an installed one; NotFound says what it is needed for."""
    from fanfold.engine.installed import find_installed

    known = client.pipelines.get(task.pipeline)
    if known is None:
        try:
            known = find_installed(task.pipeline)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            raise NotFound(
                say("pipeline_not_loaded", pipeline=task.pipeline, task=task.id, what=what, error=problem),
                code="unknown_pipeline",
            ) from error
    if known is None:
        raise NotFound(say("pipeline_not_known", pipeline=task.pipeline, what=what), code="unknown_pipeline")
    return known


def make_form(client: Client, task_id: str, name: str, *, earlier: bool = False, partial: bool = False) -> FormFile:
    """The result of a task in one of its forms; FormFailed if the application cannot make it.

    With ``partial``, a form that allows it is made of the results so far, while the task runs or after it has failed.
    """
    task = client.get(task_id)
    forms = pipeline_of(client, task, say("form_not_made", form=name, task=task.id)).forms
    if name not in forms:
        none = say("no_forms", pipeline=task.pipeline, form=name[:100])
        others = say("no_form", pipeline=task.pipeline, form=name[:100], known=list(forms))
        raise NotFound(others if forms else none, code="no_form")
    is_partial = partial and task.state is not TaskState.COMPLETED
    if is_partial and not forms[name].partial:
        raise TaskStopped(
            say("form_not_partial", form=name, task=task.id, state=task.word),
            task_id=task.id,
            state=task.state,
            available_commands=task.available_commands,
        )
    if task.state is not TaskState.COMPLETED and not earlier and not is_partial:
        raise TaskStopped(
            no_result(task), task_id=task.id, state=task.state, available_commands=task.available_commands
        )
    before = client.lookup.row(task.id)
    made = _made(forms[name], client, task, earlier, is_partial)
    if not earlier and not is_partial and not is_same(before, client.lookup.row(task.id)):
        made.close()
        raise TaskStopped(
            say("form_changed", task=task.id, form=name),
            task_id=task.id,
            state=task.state,
        )
    return made


def _made(form: Form, client: Client, task: Task, earlier: bool, is_partial: bool) -> FormFile:
    folder = Path(tempfile.mkdtemp(prefix="fanfold-form-"))
    try:
        scratch = folder / "scratch"
        scratch.mkdir()
        value = _called(form, FormWork(client, task, scratch, earlier=earlier, is_partial=is_partial))
        name = value.name if isinstance(value, File) else file_name(task, form)
        return FormFile(form, name, _written(form, value, folder), folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _called(form: Form, work: FormWork) -> Any:
    try:
        return form.make(work)
    except FanfoldError:
        raise  # No result, or its file is gone: raise the original error, which is the most precise.
    except HandlerError as problem:
        raise FormFailed(_failed(form, work.task, problem.message)) from problem
    except Exception as error:
        log.info("[forms] The form %s of task %s failed.", form.name, work.task.id, exc_info=error)
        text = " ".join(str(error).split())
        raise FormFailed(
            _failed(form, work.task, type(error).__name__ + (f": {text[:300]}" if text else ""))
        ) from error


def _written(form: Form, value: Any, folder: Path) -> Path:
    """The path of the form: text and bytes are written to a file; a path or a file of the task is used as it is."""
    if isinstance(value, File):
        return value.path
    if isinstance(value, Path):
        if not value.is_file():
            raise FormFailed(say("form_no_file", form=form.name, name=value.name))
        return value
    path = folder / f"made{form.ending}"
    if isinstance(value, str):
        path.write_text(value, encoding="utf-8", newline="\n")
    elif isinstance(value, bytes):
        path.write_bytes(value)
    else:
        raise FormFailed(say("form_returned", form=form.name, type=type(value).__name__))
    return path


def _failed(form: Form, task: Task, why: str) -> Sentence:
    return say("form_failed", form=form.name, task=task.id, why=why)


def file_name(task: Task, form: Form) -> str:
    """File name of a download: the task's title with the form's extension."""
    title = UNFIT.sub("_", task.title).strip(" .") or task.id
    stem = re.sub(r"\.[A-Za-z0-9]{1,5}$", "", title) or title
    return stem[:MOST_NAME] + form.ending
