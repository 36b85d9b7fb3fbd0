"""Actions: named operations on a task that an application provides, each with its own options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fanfold.errors import BadPipeline
from fanfold.model.lifecycle import TaskState
from fanfold.model.pipelines.forms import check_name, check_plain
from fanfold.model.pipelines.options import SECRET, Option, declared, schema


@dataclass(frozen=True)
class Action:
    """An action of a pipeline: ``run`` gets an ``ActionWork`` and may return a sentence about what it did."""

    name: str
    run: Callable[[Any], Any]
    label: str
    help: str
    options: Mapping[str, Option]
    states: tuple[TaskState, ...]
    """The task states in which it is offered."""

    @classmethod
    def of(
        cls,
        name: str,
        run: Callable[[Any], Any],
        label: str,
        help: str,
        options: Sequence[Option],
        states: Sequence[str],
    ) -> Action:
        """The action; BadPipeline if it is not valid."""
        check_name("action", name)
        check_plain("action", name, run)
        unknown = [state for state in states if state not in [*TaskState]]
        if unknown:
            raise BadPipeline(
                f"The action {name} names the unknown state {unknown[0]}. Use one of: {', '.join(TaskState)}."
            )
        known = declared(options)
        if secrets := [one.name for one in known.values() if one.kind == SECRET]:
            raise BadPipeline(
                f"The option {secrets[0]} of the action {name} is a secret, which actions do not support."
            )
        offered = tuple(TaskState(state) for state in states) or tuple(TaskState)
        return cls(name, run, label or name.replace("_", " "), help, known, offered)

    def described(self) -> dict[str, Any]:
        """Its description for clients."""
        return {
            "name": self.name,
            "label": self.label,
            "help": self.help,
            "states": [str(state) for state in self.states],
            "options_schema": schema(self.options),
        }
