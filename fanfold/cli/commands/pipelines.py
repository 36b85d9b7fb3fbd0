"""`fanfold pipelines`: what can it do?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.engine.discovery import Announced


@click.command("pipelines", cls=Command)
@click.pass_obj
def command(invocation: Invocation) -> None:
    """List the installed pipelines, and in which forms their results can be had."""
    from fanfold.engine.discovery import installed

    found = [described(name, point) for name, point in sorted(installed().items())]
    if invocation.json:
        printing.print_json(found)
    else:
        rows = [
            (one["name"], one["target"], stages(one), ", ".join(form["name"] for form in one["forms"])) for one in found
        ]
        printing.print_table(("name", "target", "stages", "forms"), rows)


def described(name: str, point: Announced) -> dict[str, Any]:
    """An installed pipeline, or why it cannot be loaded: one broken package must not hide the others."""
    known: dict[str, Any] = {"name": name, "target": point.target, "title": None, "stages": [], "error": None}
    known |= {"forms": []}
    try:
        pipeline = point.load()
    except Exception as error:
        return known | {"error": f"{type(error).__name__}: {error}"}
    made = [{"name": stage.name, "kind": stage.kind, "gate": stage.gate} for stage in pipeline.plan().stages]
    return known | {
        "title": pipeline.title,
        "stages": made,
        "forms": [form.described() for form in pipeline.forms.values()],
    }


def stages(one: dict[str, Any]) -> str:
    """The stages in a few words."""
    return one["error"] or " → ".join(stage["name"] for stage in one["stages"])
