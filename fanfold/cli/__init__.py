"""The `fanfold` command; each of its commands is one file, or belongs to an application, and is loaded when it is needed."""

from __future__ import annotations

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
    "Work": ("run", "submit", "worker", "serve", "tick"),
    "Look": ("tasks", "show", "items", "events", "decisions", "calls", "wait", "result", "output", "stream", "top"),
    "Steer": ("pause", "resume", "cancel", "retry", "accept", "decide", "rerun", "merge", "do", "external", "delete"),
    "Operate": ("pipelines", "providers", "workers", "metrics", "doctor", "prune", "tokens", "db"),
}
NAMES = tuple(name for names in SECTIONS.values() for name in names)


def from_applications() -> dict[str, Brought]:
    """The commands that installed applications bring, by name."""
    from fanfold.engine.installed import commands

    return commands(NAMES)


def sections() -> dict[str, tuple[str, ...]]:
    """The names of all commands by section; each application has a section of its own, before the others."""
    brought = sorted(from_applications().values(), key=lambda one: (one.application.name, one.place))
    found: dict[str, tuple[str, ...]] = {}
    for one in brought:
        found[one.application.title] = (*found.get(one.application.title, ()), one.command.name)
    for title, names in SECTIONS.items():
        found[title] = (*found.get(title, ()), *names)
    return found


class Fanfold(click.Group):
    """The group of all commands. It imports a command's module when the command, or its help, is wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command: those of applications first, then in the order of the sections."""
        return [name for names in sections().values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        found: click.Command | None = None
        if cmd_name in NAMES:
            found = importlib.import_module(f"fanfold.cli.commands.{cmd_name}").command
        elif (brought := from_applications().get(cmd_name)) is not None:
            found = brought.load(click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by section, each with its first sentence; nothing of an application is imported for that."""
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
        """Run, and turn every error into a line and an exit code."""
        arguments = list(sys.argv[1:] if args is None else args)
        if not standalone_mode:
            return super().main(arguments, prog_name, complete_var, False, **extra)
        invocation = Invocation()
        try:
            code = super().main(arguments, prog_name, complete_var, False, obj=invocation, **extra)
        except BrokenPipeError:
            # Whoever read our output has seen enough; the interpreter must not complain about it at exit.
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
    """Durable work of the shape: one task, split into items, each processed by itself, merged again.

    \b
    fanfold run demo                      try it: SQLite, no server, nothing to set up
    fanfold run book.py:book novel.txt    run a pipeline of yours; interrupt it, run it again, it goes on
    """


def main() -> None:
    """The entry point of the `fanfold` script."""
    cli(prog_name="fanfold")
