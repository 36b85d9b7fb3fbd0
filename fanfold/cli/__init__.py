"""The `fanfold` command group. Each command is one module here or comes from an application, and is imported on demand."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from fanfold.running.terminal.error_output import Interrupted, report
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Invocation, shared_options

if TYPE_CHECKING:
    from fanfold.engine.installed import Brought

SECTIONS = {
    "Work": ("run", "submit", "estimate", "schedule", "worker", "dispatch", "serve", "tick"),
    "Inspect": (
        "tasks",
        "show",
        "items",
        "events",
        "decisions",
        "calls",
        "costs",
        "batches",
        "wait",
        "result",
        "output",
        "stream",
        "top",
    ),
    "Steer": (
        "pause",
        "resume",
        "cancel",
        "retry",
        "accept",
        "decide",
        "rerun",
        "merge",
        "do",
        "budget",
        "lane",
        "external",
        "delete",
    ),
    "Operate": (
        "pipelines",
        "templates",
        "providers",
        "limits",
        "credits",
        "webhooks",
        "workers",
        "metrics",
        "doctor",
        "prune",
        "files",
        "tokens",
        "db",
    ),
}
COLLECT_AFTER = 20_000
"""Garbage is collected after this many new objects."""
COLLECT_FIRST_AFTER = 200_000
"""The first collection comes after this many: about as many objects stay of the modules that a command loads."""
NAMES = tuple(name for names in SECTIONS.values() for name in names)


def from_applications() -> dict[str, Brought]:
    """Commands of installed applications, by name."""
    from fanfold.engine.installed import commands

    return commands(NAMES)


def sections() -> dict[str, tuple[str, ...]]:
    """All command names by section. Every application has its own section, ahead of the built-in ones."""
    brought = sorted(
        from_applications().values(), key=lambda one: (one.application.order, one.application.name, one.place)
    )
    found: dict[str, tuple[str, ...]] = {}
    for one in brought:
        found[one.application.title] = (*found.get(one.application.title, ()), one.command.name)
    for title, names in SECTIONS.items():
        found[title] = (*found.get(title, ()), *names)
    return found


class Fanfold(click.Group):
    """The top-level group. Imports a command's module only when the command or its help is requested."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All commands: applications first, then in section order."""
        return [name for names in sections().values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the command, or return None if there is none of that name."""
        found: click.Command | None = None
        if cmd_name in NAMES:
            found = importlib.import_module(f"fanfold.cli.commands.{cmd_name}").command
        elif (brought := from_applications().get(cmd_name)) is not None:
            found = brought.load(click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List commands by section with their short help, without importing any application code."""
        brought = from_applications()
        for section, names in sections().items():
            known = ((name, None if name in brought else self.get_command(ctx, name)) for name in names)
            rows = [
                (name, command.get_short_help_str(90) if command else brought[name].command.help)
                for name, command in known
            ]
            with formatter.section(section):
                formatter.write_dl(rows)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and turn every error into one line and an exit code."""
        arguments = list(sys.argv[1:] if args is None else args)
        if not standalone_mode:
            return super().main(arguments, prog_name, complete_var, False, **extra)
        invocation = Invocation()
        try:
            code = super().main(arguments, prog_name, complete_var, False, obj=invocation, **extra)
        except BrokenPipeError:
            # The reader closed the pipe (`| head`). Redirect stdout so that the flush at exit does not raise again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = Exit.OK
        except click.Abort:
            code = report(Interrupted(), as_json="--json" in arguments)
        except Exception as error:
            code = report(error, as_json="--json" in arguments, verbose=bool(invocation.verbose))
        sys.exit(int(code) if isinstance(code, int) else Exit.OK.value)


@click.group(
    cls=Fanfold,
    params=shared_options(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Every command has its own --help. Ids may be shortened as long as they are unambiguous.",
)
@click.version_option(package_name="fanfold", message="fanfold %(version)s")
def cli() -> None:
    """Durable fan-out: split a task into items, process each one, merge the results.

    \b
    fanfold run demo                      try it: SQLite, no server, nothing to set up
    fanfold run book.py:book novel.txt    run your own pipeline; interrupt it, run it again, and it resumes
    """


def main() -> None:
    """The entry point of the `fanfold` script."""
    collect_rarely()
    cli(prog_name="fanfold")


def collect_rarely() -> None:
    """Collect no garbage while a command loads its modules, nor at its end.

    With Python's default, collecting took a tenth of the start. At the end, Python would look several times through all that is
    left, which took a third of the processor time of a short command (0.24 of 0.69 s).
    """
    gc.set_threshold(COLLECT_FIRST_AFTER)
    gc.callbacks.append(_after_first)
    atexit.register(gc.freeze)


def _after_first(phase: str, _info: dict[str, int]) -> None:
    if phase == "stop" and _after_first in gc.callbacks:
        gc.callbacks.remove(_after_first)
        gc.set_threshold(COLLECT_AFTER)
