"""Options shared by all commands, and access to the settings, store and client they select."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from fanfold.running.terminal.error_output import Interrupted

if TYPE_CHECKING:
    from fanfold.engine.client import Client
    from fanfold.model.pipelines.pipeline import Pipeline
    from fanfold.settings import Settings
    from fanfold.store.store import Store


@dataclass
class Invocation:
    """Values of the shared options, given before or after the command's name."""

    database: str | None = None
    data: str | None = None
    json: bool = False
    verbose: int = 0
    _open: list[Any] = field(default_factory=list, repr=False)

    def settings(self) -> Settings:
        """The settings, overridden by the command line."""
        from fanfold.settings import load

        return load(database=self.database, data=self.data)

    def store(self, settings: Settings | None = None, *, busy_seconds: float | None = None) -> Store:
        """Open the store; it is closed when the command ends. ``busy_seconds`` is the timeout for SQLite's write lock."""
        from fanfold.store.store import Store

        opened = Store.open(settings or self.settings(), busy_seconds=busy_seconds)
        self._open.append(opened)
        return opened

    def client(self, targets: Iterable[str | Pipeline] = ()) -> Client:
        """A client that knows these pipelines, closed when the command ends."""
        from fanfold.engine.client import Client
        from fanfold.engine.discovery import load

        known = [load(target) if isinstance(target, str) else target for target in targets]
        return Client(store=self.store(), pipelines=known, plain=True)

    def close(self) -> None:
        """Close what was opened."""
        while self._open:
            self._open.pop().close()

    def log(self, level: int) -> None:
        """Log to standard error at ``level``; each -v adds one level."""
        from fanfold.engine.redaction import Formatter

        levels = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG)
        position = min(levels.index(level) + self.verbose, len(levels) - 1)
        handler = EchoHandler()
        if self.settings().log == "json":
            from fanfold.engine.logs import LogLevels, log_json

            # Libraries log a lot: they are shown one level later than ours, but their warnings always.
            log_json(handler, LogLevels(levels[position], levels[max(1, position - 1)]))
            return
        handler.setFormatter(Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
        root = logging.getLogger("fanfold")
        root.handlers[:] = [handler]
        root.setLevel(levels[position])


class EchoHandler(logging.Handler):
    """Writes to the current ``sys.stderr``, so that a progress bar can redraw below the line."""

    def emit(self, record: logging.LogRecord) -> None:
        """One line."""
        click.echo(self.format(record), err=True)


def note(name: str) -> Any:
    """Callback that stores an option's value in the invocation, given before or after the command's name."""

    def keep(context: click.Context, _parameter: click.Parameter, value: Any) -> None:
        if value:
            setattr(context.ensure_object(Invocation), name, value)

    return keep


def shared_options() -> list[click.Option]:
    """The options shared by all commands."""
    return [
        _shared("--database", metavar="URL", help="Database URL [env: FANFOLD_DATABASE]."),
        _shared("--data", metavar="FOLDER", help="Data folder [env: FANFOLD_DATA]."),
        _shared("--json", is_flag=True, help="Print JSON."),
        _shared("--verbose", "-v", count=True, help="Log more; -vv logs everything."),
    ]


def _shared(*names: str, **rules: Any) -> click.Option:
    return click.Option(names, expose_value=False, callback=note(names[0].strip("-")), **rules)


class Command(click.Command):
    """A command with the shared options after its own."""

    def __init__(self, *arguments: Any, **values: Any) -> None:
        super().__init__(*arguments, **values)
        self.params = [*self.params, *shared_options()]

    def invoke(self, context: click.Context) -> Any:
        """Run the command and close what it opened."""
        invocation = context.ensure_object(Invocation)
        if invocation.verbose or os.environ.get("FANFOLD_LOG") == "json":
            invocation.log(logging.WARNING)
        try:
            return super().invoke(context)
        except KeyboardInterrupt as interrupt:
            raise Interrupted(str(interrupt)) from interrupt
        finally:
            invocation.close()


class ListsByDefault(click.Group):
    """A group that lists without a subcommand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words after its name."""
        return super().parse_args(ctx, args or ["list"])
