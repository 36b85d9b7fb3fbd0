"""`fanfold providers`: lists the configured model services and tests one."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import click

from fanfold.errors import BadInput
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.providers.configuration import Provider


@click.command("providers", cls=Command)
@click.argument("action", required=False, type=click.Choice(["test"]))
@click.argument("name", required=False)
@click.option("--model", metavar="MODEL", help="Model to test instead of the provider's default.")
@click.pass_obj
def command(invocation: Invocation, action: str | None, name: str | None, model: str | None) -> Exit:
    """List the configured model services with their prices, or test one: fanfold providers test NAME.

    They come from [providers.NAME] in fanfold.toml and from the environment. A test makes one small call.
    """
    from fanfold.providers.configuration import find, load

    known = load()
    if action is None:
        _list(invocation, list(known.values()))
        return Exit.OK
    if name is None:
        raise BadInput(f"Name a provider: fanfold providers test NAME. Known providers: {', '.join(known)}.")
    return _test(invocation, find(name, known), model)


def _list(invocation: Invocation, known: list[Provider]) -> None:
    rows = [_facts(provider) for provider in known]
    if invocation.json:
        printing.print_json(rows)
        return
    headings = ("name", "kind", "model", "price", "price_source", "key", "address")
    printing.print_table(headings, [[row[heading] for heading in headings] for row in rows])
    click.echo("\nPrices are US dollars per million tokens.")


def _facts(provider: Provider) -> dict[str, Any]:
    from fanfold.providers.costs.price_list import listed_price

    key = f"{provider.key_env}: {'set' if provider.key else 'not set'}" if provider.key_env else "none needed"
    price = listed_price(provider, provider.model)
    return {
        "name": provider.name,
        "kind": provider.kind,
        "model": provider.model,
        "key": key,
        "address": provider.address,
        "concurrency": provider.concurrency,
        "timeout": provider.timeout,
        "price": price.told,
        "price_input": price.input,
        "price_output": price.output,
        "price_source": f"{price.source}, {price.dated}" if price.dated else price.source,
    }


def _test(invocation: Invocation, provider: Provider, model: str | None) -> Exit:
    """Make one small call and report its duration and cost."""
    from fanfold.errors import Permanent
    from fanfold.providers.asking import try_once
    from fanfold.providers.services.service import objection

    if reason := objection(provider):
        raise BadInput(reason)
    chosen = model or provider.model
    if not chosen:
        raise BadInput(f"{provider.name} has no default model. Name one: --model MODEL")
    started = time.monotonic()
    try:
        reply = asyncio.run(try_once(provider, chosen, "Answer with the single word: ready"))
    except Permanent as problem:
        if invocation.json:
            printing.print_json({"name": provider.name, "model": chosen, "ok": False, "problem": str(problem)})
        else:
            click.echo(f"{provider.name}: {problem}", err=True)
        return Exit.FAILED
    seconds = round(time.monotonic() - started, 2)
    cost = reply.usage.cost
    if invocation.json:
        printing.print_json(
            {
                "name": provider.name,
                "model": chosen,
                "ok": True,
                "answer": reply.text,
                "seconds": seconds,
                "usage": reply.usage,
            }
        )
    else:
        price = "unknown cost" if cost is None else f"${cost:.6f}"
        click.echo(
            f"{provider.name}:{chosen} answered in {seconds:g} s ({price}): {printing.one_line(reply.text)[:80]}"
        )
    return Exit.OK
