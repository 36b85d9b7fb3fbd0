"""`fanfold dispatch`: lets processes of Celery or Ray do the work."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import click

from fanfold.cli import parameters as given
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fanfold.carriers.hint import Carrier
    from fanfold.model.pipelines.pipeline import Pipeline


@click.command("dispatch", cls=Command)
@click.argument("targets", metavar="[TARGET]...", nargs=-1)
@click.option("--carrier", type=click.Choice(["celery", "ray"]), required=True, help="Whose processes do the work.")
@click.option("-A", "--app", metavar="APP", help="Celery: the app, as for `celery -A`.")
@click.option("--address", metavar="ADDRESS", help="Ray: the cluster, as for ray.init; default: a local one.")
@click.option(
    "--hints",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    metavar="N",
    help="Processes that may work for one stage at the same time.",
)
@click.option(
    "--seconds",
    type=given.FiniteRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a process claims items before it ends or waits for the next hint.",
)
@click.option(
    "--resend",
    type=given.FiniteRange(min=0, min_open=True),
    default=15.0,
    show_default=True,
    metavar="SECONDS",
    help="Send a hint again that nobody has followed for this long.",
)
@click.pass_obj
def command(
    invocation: Invocation,
    targets: tuple[str, ...],
    carrier: str,
    app: str | None,
    address: str | None,
    hints: int,
    seconds: float,
    resend: float,
) -> None:
    """Send hints to the processes of a Celery app or a Ray cluster, which then claim and run items, until stopped.

    With Celery the pipelines are those that the app has attached; with Ray, the installed and the named ones. Hints may get lost
    or arrive twice: nothing is lost, and nothing takes effect twice.
    """
    invocation.log(logging.INFO)
    from fanfold.carriers.dispatch import Dispatcher
    from fanfold.engine.worker.signals import heeded

    sender, pipelines = (
        _celery(app, targets, resend) if carrier == "celery" else _ray(invocation, address, targets, hints)
    )
    dispatcher = Dispatcher(invocation.store(), pipelines, sender, hints=hints, seconds=seconds, resend_seconds=resend)
    try:
        with heeded(dispatcher.stop):
            dispatcher.run()
    finally:
        sender.close()


def _celery(app: str | None, targets: tuple[str, ...], resend: float) -> tuple[Carrier, Iterable[Pipeline]]:
    from fanfold.carriers.celery import CeleryCarrier, find_app

    if not app or targets:
        raise click.UsageError(
            "The carrier celery needs -A APP and no TARGET: the app names its pipelines in attach()."
        )
    sender = CeleryCarrier(find_app(app), resend)
    return sender, sender.attached.pipelines.values()


def _ray(
    invocation: Invocation, address: str | None, targets: tuple[str, ...], hints: int
) -> tuple[Carrier, Iterable[Pipeline]]:
    from fanfold.carriers.ray import RayCarrier
    from fanfold.engine.discovery import load_all

    pipelines = load_all(targets)
    grace = invocation.settings().grace_seconds
    return RayCarrier(targets, pipelines, address, hints, grace), pipelines.values()
