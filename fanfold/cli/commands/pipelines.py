"""`fanfold pipelines`: lists the installed pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.engine.installed import Installed


@click.command("pipelines", cls=Command)
@click.pass_obj
def command(invocation: Invocation) -> None:
    """List the installed pipelines and the forms their results come in."""
    from fanfold.engine.installed import installed

    found = [described(one) for one in sorted(installed(), key=lambda one: (one.name, one.hidden_by, one.target))]
    if invocation.json:
        printing.print_json(found)
    else:
        rows = [
            (one["name"], one["target"], stages(one), ", ".join(form["name"] for form in one["forms"])) for one in found
        ]
        printing.print_table(("name", "target", "stages", "forms"), rows)


def described(one: Installed) -> dict[str, Any]:
    """Describe a pipeline, or the error that keeps it from loading: one broken package must not hide the others."""
    known: dict[str, Any] = {"name": one.name, "target": one.target, "hidden_by": one.hidden_by or None}
    known |= {"title": None, "stages": [], "error": one.problem or None, "forms": []}
    if (pipeline := one.pipeline) is None:
        return known
    made = [{"name": stage.name, "kind": stage.kind, "gate": stage.gate} for stage in pipeline.plan().stages]
    return known | {
        "title": pipeline.title,
        "stages": made,
        "forms": [form.described() for form in pipeline.forms.values()],
    }


def stages(one: dict[str, Any]) -> str:
    """Stage names in order, or the error."""
    return one["error"] or " → ".join(stage["name"] for stage in one["stages"])
