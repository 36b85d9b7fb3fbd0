"""Runs a command that converts files into files, from the typed names to the exit code."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from fanfold.errors import BadInput
from fanfold.running.many_files import sources
from fanfold.running.many_files.arriving import arrived
from fanfold.running.many_files.sources import Endings
from fanfold.running.terminal.error_output import Interrupted
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.output_format import print_json

if TYPE_CHECKING:
    from fanfold.engine.client import Client
    from fanfold.engine.worker.processes.children import Children
    from fanfold.model.money.budgets import BudgetWish
    from fanfold.running.many_files.many import Document, FileCommand
    from fanfold.running.many_files.saving import Saving
    from fanfold.running.many_files.sources import Source
    from fanfold.running.terminal.invocation import Invocation
    from fanfold.settings import Settings

GO_ON = "Interrupted; run it again to resume"


@dataclass(frozen=True)
class Asked:
    """The parsed command line."""

    paths: Sequence[str]
    output: str | None
    options: dict[str, Any]
    """Options stored with each task."""
    flags: tuple[str, ...]
    """The options as they would be typed again."""
    fresh: bool = False
    secret: str | None = None
    concurrency: int = 8
    budget: BudgetWish | None = None
    sample: int | None = None
    """Only estimate the cost, from this many sample items of each source; None to do the work."""


SMALL_FILE = 100_000
"""Bytes of a file that one process reads before a second one has started."""


@dataclass(frozen=True)
class Processes:
    """Child processes needed by a command."""

    modules: tuple[str, ...]
    """Modules they import."""
    at_once: int | None = None
    warm: int = 0
    """Processes started right away if there is work to do."""


def perform(
    invocation: Invocation,
    asked: Asked,
    endings: Endings,
    command: Callable[[], FileCommand],
    processes: Callable[[Settings], Processes],
) -> Exit:
    """Run the command. ``command`` is imported last, while the child processes start."""
    if invocation.json and asked.output == sources.STDOUT:
        raise BadInput("-o - and --json both write to standard output. Use only one of them.")
    settings = invocation.settings()
    output = asked.output
    if output is None and set(asked.paths) == {sources.STDIN}:
        output = sources.STDOUT
    with arrived(asked.paths, endings, settings) as (found, missed):
        for problem in missed:
            click.echo(problem, err=True)
        if not found:
            return Exit.NOT_FOUND
        return _performed(
            invocation, replace(asked, output=output), endings, command, processes(settings), found, missed
        )


def _performed(
    invocation: Invocation,
    asked: Asked,
    endings: Endings,
    command: Callable[[], FileCommand],
    processes: Processes,
    found: list[Source],
    missed: list[str],
) -> Exit:
    from fanfold.running.many_files.saving import Saving

    settings = invocation.settings()
    saving = Saving(settings.data_folder)
    targets = sources.targets(found, endings, asked.output, saving.owner)
    # If every result file exists, there is probably nothing to do and no process is needed.
    new = any(target is None or saving.owner(target) is None for target in targets)
    pool = Pool(settings, replace(processes, warm=warm_for(found, processes.warm)), is_needed=new or asked.fresh)
    try:
        from fanfold.running.many_files.many import Document
        from fanfold.running.many_files.summary import exit_code

        wanted = [
            Document(source.path, target, asked.options, asked.flags, source.given)
            for source, target in zip(found, targets, strict=True)
        ]
        _run(invocation, asked, command(), wanted, saving, pool)
    finally:
        pool.close()
    if asked.sample is not None:
        return Exit.PARTIAL if missed else Exit.OK
    return exit_code(wanted, missed)


def warm_for(found: list[Source], usual: int) -> int:
    """How many processes to start right away: one for a single small file, which the start of others would only delay."""
    is_small = len(found) == 1 and found[0].path.is_file() and found[0].path.stat().st_size < SMALL_FILE
    return min(usual, 1) if is_small else usual


class Pool:
    """The child processes of a command: started first if they are probably needed, otherwise when there is work."""

    def __init__(self, settings: Settings, wanted: Processes, *, is_needed: bool) -> None:
        self._settings = settings
        self._wanted = wanted
        self._children: Children | None = None
        if is_needed:
            self.children()

    def children(self) -> Children:
        """The processes; some of them are started at the first call."""
        if self._children is None:
            from fanfold.engine.worker.processes.children import Children

            self._children = Children(self._settings, at_once=self._wanted.at_once, modules=self._wanted.modules)
            self._children.warm(self._wanted.warm)
        return self._children

    def close(self) -> None:
        """End them."""
        if self._children is not None:
            self._children.close()


def _run(
    invocation: Invocation,
    asked: Asked,
    command: FileCommand,
    wanted: list[Document],
    saving: Saving,
    pool: Pool,
) -> None:
    from fanfold.running.many_files import finished, many, summary
    from fanfold.running.terminal.display import display

    client = invocation.client([command.pipeline])
    run = many.Run(
        command,
        client,
        saving,
        display(wanted=not invocation.json, unit=command.pipeline.unit),
        asked.fresh,
        asked.concurrency,
        None,
        summary.line,
        asked.secret,
        asked.budget,
        brief=not invocation.json,
    )
    for document in wanted:
        document.problem = sources.objection(document.target) if document.target else None
        if document.problem is not None:
            run.finish(document)
    if asked.sample is not None:
        from fanfold.running.many_files.estimating import estimates
        from fanfold.running.terminal.estimate_output import print_estimates

        run.children = pool.children()
        run.shown.close()
        print_estimates(estimates(run, wanted, asked.sample), as_json=invocation.json)
        return
    left = finished.pass_over(run, [document for document in wanted if document.problem is None])
    if left:
        run.children = pool.children()
        from fanfold.running.many_files.conducting import run_all

        if not run_all(run, left):
            raise Interrupted(GO_ON)
    run.shown.close()
    _give(invocation, client, command, wanted, asked.output)


def _give(
    invocation: Invocation, client: Client, command: FileCommand, wanted: list[Document], output: str | None
) -> None:
    """Print the results to standard output, a JSON document for programs, or a summary for people."""
    from fanfold.running.many_files import summary
    from fanfold.running.terminal import result_output

    if output == sources.STDOUT:
        for document in wanted:
            if document.problem is None and document.task is not None and document.task.state == "completed":
                result_output.send(command.main(client.result(document.task.id)))
    elif invocation.json:
        print_json({command.noun[1]: [summary.as_json(client, command, document) for document in wanted]})
    if not invocation.json:
        for line in summary.explain(client, command, wanted):
            click.echo(line, err=True)


def typed(given: dict[str, Any], *, secrets: Sequence[str] = (), but: Sequence[str] = ("fresh",)) -> tuple[str, ...]:
    """Options as they would be typed again, with secrets left out."""
    words: list[str] = []
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if not value or name in but:
            continue
        if value is True:
            words.append(option)
        elif name in secrets:
            words.append(f"{option} …")
        else:
            values = value if isinstance(value, tuple) else (getattr(value, "name", value),)
            words += [f"{option} {shlex.quote(str(one))}" for one in values]
    return tuple(words)
