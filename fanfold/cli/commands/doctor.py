"""`fanfold doctor`: checks the installation and suggests fixes."""

from __future__ import annotations

import click

from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation


@click.command("doctor", cls=Command)
@click.pass_obj
def command(invocation: Invocation) -> Exit:
    """Check the database, clock, disk and work, and suggest fixes."""
    from fanfold.engine.queries.doctor import PROBLEM, examine

    checks = examine(invocation.settings())
    problems = [check for check in checks if check.status == PROBLEM]
    if invocation.json:
        printing.print_json({"healthy": not problems, "checks": checks})
    else:
        printing.print_table(("check", "status", "fact"), [(check.name, check.status, check.fact) for check in checks])
        for check in checks:
            if check.advice:
                typed = f" Run: {check.command}" if check.command else ""
                click.echo(f"\n{check.name}: {check.advice}{typed}")
    return Exit.UNHEALTHY if problems else Exit.OK
