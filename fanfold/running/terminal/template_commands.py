"""What commands about templates share: `fanfold templates`, and commands of applications about their own kind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from fanfold.running.terminal import output_format as printing

if TYPE_CHECKING:
    from fanfold.model.template import Template
    from fanfold.running.terminal.invocation import Invocation

HEADINGS = ("kind", "name", "version", "saved", "by", "note")


def print_templates(
    invocation: Invocation, found: Sequence[Template], none: str, *, headings: Sequence[str] = HEADINGS
) -> None:
    """List templates, or say ``none``."""
    if invocation.json:
        printing.print_json(found)
    elif not found:
        click.echo(none, err=True)
    else:
        rows = [_cells(one) for one in found]
        printing.print_table(headings, [[row[name] for name in headings] for row in rows], right=("version",))


def print_template(invocation: Invocation, found: Template) -> None:
    """Print the body of a template; with --json, everything about it."""
    if invocation.json:
        printing.print_json(found)
    else:
        body = found.body
        click.echo(body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, indent=2))


def save_template(invocation: Invocation, targets: Sequence[Any], kind: str, name: str, text: str, note: str) -> None:
    """Save a text as a template or its next version; ``targets`` are the pipelines that check it."""
    saved = invocation.client(targets).templates.save(kind, name, _body(text), note=note)
    if invocation.json:
        printing.print_json(saved)
    else:
        click.echo(f"Saved {saved.reference}")


def delete_template(invocation: Invocation, kind: str, name: str) -> None:
    """Delete a template with all its versions."""
    count = invocation.client().templates.delete(kind, name)
    if invocation.json:
        printing.print_json({"deleted": name, "versions": count})
    else:
        click.echo(f"Deleted {name} ({count} version{'' if count == 1 else 's'})")


def _cells(one: Template) -> dict[str, Any]:
    saved, note = printing.short_time(one.at), printing.one_line(one.note)
    return {
        "kind": one.kind,
        "name": one.name,
        "version": one.version,
        "saved": saved,
        "by": one.actor,
        "note": note,
    }


def _body(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
