"""Runs `fanfold extract`: finds the documents, runs one task for all of them in this process, and saves the table."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import fanfold as ff
from fanfold.apps.extract.sentences import say_of_extract
from fanfold.apps.extract.table.table_file import FORMS, place
from fanfold.running.terminal import models, result_output
from fanfold.running.terminal.error_output import Interrupted
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.output_format import print_json

if TYPE_CHECKING:
    from fanfold.model.money.budgets import BudgetWish
    from fanfold.running.terminal.invocation import Invocation

TABLE = "table.csv"
STDOUT = "-"
JOBS = 8
REASONS_SHOWN = 5


@dataclass(frozen=True)
class Wanted:
    """The parsed command line."""

    paths: Sequence[str]
    output: str | None
    options: dict[str, Any]
    template: str | None = None
    manifest: str | None = None
    task: str | None = None
    suggest: str | None = None
    gold: str | None = None
    jobs: int | None = None
    fresh: bool = False
    budget: BudgetWish | None = None
    sample: int | None = None

    @property
    def target(self) -> Path:
        """Where the table goes."""
        return Path(self.output or TABLE)

    @property
    def form(self) -> str:
        """The form of the table, by the ending of its file."""
        if self.output == STDOUT:
            return "csv"
        form = FORMS.get(self.target.suffix.lower())
        if form is None:
            raise ff.BadInput(say_of_extract("table_ending", file=str(self.target), endings=list(FORMS)))
        return form


def perform(invocation: Invocation, wanted: Wanted) -> Exit:
    """Run the command: draft a template, change a task, or extract."""
    from fanfold.apps.extract.pipeline import extract
    from fanfold.apps.extract.suggesting import suggest

    client = invocation.client([extract, suggest])
    if "provider" in wanted.options and wanted.jobs is not None:
        models.limit_calls(wanted.options["provider"], wanted.jobs)
    if wanted.suggest is not None:
        return _suggest(client, wanted)
    if wanted.task is not None:
        return _change(invocation, client, wanted)
    if wanted.form and not wanted.paths and not wanted.manifest:
        raise ff.BadInput(say_of_extract("no_documents_named"))
    options = wanted.options | {"template": template_text(client, wanted.template)}
    # Archives are unpacked into the folder, and copied with the task.
    with tempfile.TemporaryDirectory(prefix="fanfold-extract-") as folder:
        inputs = documents(wanted, Path(folder))
        if wanted.sample is not None:
            return _estimate(invocation, client, inputs, options, wanted.sample)
        task = _run(client, wanted, inputs, options)
    return finish(invocation, client, wanted, task)


def _suggest(client: ff.Client, wanted: Wanted) -> Exit:
    """Draft a template from the first documents, and print it or write it to a file."""
    from fanfold.apps.extract.documents.finding import sources
    from fanfold.apps.extract.fresh import Wish, afresh
    from fanfold.apps.extract.suggesting import MOST_DOCUMENTS, suggest
    from fanfold.running.one import run_task

    with tempfile.TemporaryDirectory(prefix="fanfold-extract-") as folder:
        found = sources(wanted.paths, folder=Path(folder)).found[:MOST_DOCUMENTS]
        if not found:
            raise ff.BadInput(say_of_extract("no_sample"))
        chosen = {name: wanted.options[name] for name in ("provider", "model") if name in wanted.options}
        options = afresh(chosen | {"purpose": wanted.suggest}, wanted.fresh)
        paths = tuple(one.path for one in found)
        task = run_task(client, Wish(suggest, paths, None, options, wanted.fresh, 1, False, wanted.budget))
    result_output.write_result(client.result(task.id), wanted.output or STDOUT)
    return Exit.OK


def _change(invocation: Invocation, client: ff.Client, wanted: Wanted) -> Exit:
    """Change the columns of a task, compare it with known values, or both. New cells are asked in this process."""
    task = client.get(str(wanted.task))
    if wanted.template is not None:
        text = template_text(client, wanted.template)
        click.echo(client.do(task.id, "columns", {"template": text}).message, err=True)
    task = _worked(client, client.get(task.id), wanted)
    return finish(invocation, client, wanted, task)


def _worked(client: ff.Client, task: ff.Task, wanted: Wanted) -> ff.Task:
    """Work on an existing task in this process until it ends. Raises TaskStopped if it ends without a table."""
    from fanfold.apps.extract.pipeline import extract
    from fanfold.running.one import RunStop, RunWish, way_out, work
    from fanfold.running.terminal.display import display

    shown = display(wanted=True)
    try:
        while task.state is ff.TaskState.ACTIVE and not task.stalled:
            task = work(client, RunWish(extract, concurrency=wanted.jobs or JOBS), task, shown, RunStop())
    finally:
        shown.close()
    if task.state is not ff.TaskState.COMPLETED:
        raise ff.TaskStopped(way_out(task), task_id=task.id, state=task.state)
    return task


def documents(wanted: Wanted, folder: Path) -> tuple[Any, ...]:
    """The inputs of the task: the files and their manifest data. Unreadable files become rows as well."""
    from fanfold.apps.extract.documents import manifests
    from fanfold.apps.extract.documents.finding import sources
    from fanfold.apps.extract.items import inputs_of

    manifest = wanted.manifest or next(
        (path for path in wanted.paths if path.lower().endswith(manifests.ENDINGS)), None
    )
    paths = [path for path in wanted.paths if path != manifest]
    found = sources(paths, manifest=None if manifest is None else Path(manifest), folder=folder)
    if not (found.found or found.refused):
        raise ff.BadInput(say_of_extract("no_documents", paths=list(wanted.paths)))
    if not found.found:
        raise ff.BadInput(
            say_of_extract("nothing_readable", reasons=[one.reason for one in found.refused[:REASONS_SHOWN]])
        )
    return tuple(inputs_of(found))


def template_text(client: ff.Client, given: str | None) -> str:
    """The template as a task option: its text, or the name and version of a stored one. Mistakes are reported at once."""
    from fanfold.apps.extract.template.reading import BadTemplate, names_model, read_template, template_of_model

    if given is None:
        raise ff.BadInput(say_of_extract("no_template"))
    path = Path(given)
    try:
        if path.is_file():
            return read_template(path.read_text(encoding="utf-8-sig")).text()
        if names_model(given):
            return template_of_model(given).text()
    except BadTemplate as problem:
        raise ff.BadInput(say_of_extract("template_mistakes", file=given, mistakes=problem.mistakes)) from None
    except (ImportError, AttributeError) as error:
        raise ff.BadInput(say_of_extract("no_model", place=given, why=str(error))) from None
    except UnicodeDecodeError:
        raise ff.BadInput(
            say_of_extract("template_mistakes", file=given, mistakes=[say_of_extract("not_utf8")])
        ) from None
    try:
        return client.templates.get("extract", given).reference
    except (ff.NotFound, ff.BadInput):
        raise ff.NotFound(say_of_extract("template_not_found", name=given)) from None


def _run(client: ff.Client, wanted: Wanted, inputs: tuple[Any, ...], options: dict[str, Any]) -> ff.Task:
    from fanfold.apps.extract.fresh import Wish, afresh
    from fanfold.apps.extract.pipeline import extract
    from fanfold.running.one import run_task

    options = afresh(options, wanted.fresh)
    try:
        return run_task(
            client, Wish(extract, inputs, None, options, wanted.fresh, wanted.jobs or JOBS, False, wanted.budget)
        )
    except KeyboardInterrupt as interrupt:
        raise Interrupted(str(interrupt)) from interrupt


def _estimate(
    invocation: Invocation, client: ff.Client, inputs: tuple[Any, ...], options: dict[str, Any], sample: int
) -> Exit:
    from fanfold.apps.extract.pipeline import extract
    from fanfold.running.terminal.estimate_output import print_estimates

    made = client.estimate(extract, *inputs, options=options, sample=sample)
    print_estimates([(extract.title, made)], as_json=invocation.json)
    return Exit.OK


def finish(invocation: Invocation, client: ff.Client, wanted: Wanted, task: ff.Task) -> Exit:
    """Save the table and print a summary."""
    result = client.result(task.id)
    if wanted.output == STDOUT:
        with client.make_form(task.id, wanted.form) as made:
            result_output.send_file(made.path)
        return result_output.ended_well(task)
    written = result_output.written(partial(_saved, client, task, result), str(wanted.target))
    if invocation.json:
        print_json({"task": task, "result": result, "files": [str(path) for path in written]})
        return result_output.ended_well(task)
    for line in summary(task, result):
        click.echo(line, err=True)
    if wanted.gold is not None:
        click.echo(client.do(task.id, "gold", {"gold": wanted.gold}).message)
    result_output.list_missing(client, task)
    return result_output.ended_well(task)


def _saved(client: ff.Client, task: ff.Task, result: dict[str, Any], target: Path) -> list[Path]:
    """Write the table over an earlier one by Fanfold. A file that is edited or not by Fanfold is kept under a new name.

    The ledger names the table as its own source: many documents have no other, and a table of another task, such as one
    with a changed template, is replaced too.
    """
    from fanfold.running.many_files.saved_results import stamp_of
    from fanfold.running.many_files.saving import Saving

    saved = Saving(client.store.settings.data_folder).save(place(result, target), target, target, stamp=stamp_of(task))
    for name in saved.moved:
        click.echo(say_of_extract("kept_as", file=str(target), name=name), err=True)
    return [target]


def summary(task: ff.Task, result: dict[str, Any]) -> list[str]:
    """A summary of the table, and how to see the doubtful cells."""
    cells = result["cells"]
    counted = ", ".join(f"{count} {state}" for state, count in cells.items())
    told = [say_of_extract("table_summary", rows=result["rows"], columns=len(result["columns"]), cells=counted or "0")]
    if any(cells.get(state) for state in ("weak", "unsupported", "invalid", "conflict")):
        told.append(say_of_extract("look_at_doubtful", task=task.id))
    return [str(line) for line in told]
