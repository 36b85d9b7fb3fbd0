"""`fanfold photo`: makes pictures with an image service and saves them to a folder."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import fanfold as ff
from fanfold.apps.photo.options import OPTIONS
from fanfold.apps.photo.sentences import say_of_photo
from fanfold.model.money.amounts import dollars, parts_of, told
from fanfold.running.terminal import output_format as printing
from fanfold.running.terminal.declared import budget_options, budget_wish, click_options, said
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.invocation import Command, Invocation

if TYPE_CHECKING:
    from fanfold.apps.photo.configuration import ServiceSettings
    from fanfold.model.money.budgets import BudgetWish

NAMED = (
    "count", "scene", "parameters", "service", "seed", "format", "watermark", "watermark_percent", "watermark_position",
    "watermark_opacity",
)  # fmt: skip
NAME_LENGTH = 40


@click.command("photo", cls=Command)
@click.argument("prompt", metavar="PROMPT", default="")
@click.option(
    "--image",
    "images",
    multiple=True,
    metavar="IMAGE",
    help="An input picture: a file, a URL, a data URI, or a key in the object storage.",
)
@click.option("-o", "--output", metavar="FOLDER", default=".", help="The folder for the pictures [default: this one].")
@click_options(OPTIONS, only=NAMED, templates=("scene",))
@click.option("--estimate", is_flag=True, help="Only say what it would cost.")
@budget_options
@click.option("--fresh", is_flag=True, help="Make new pictures, even if the same ones were made before.")
@click.pass_obj
def command(
    invocation: Invocation,
    /,
    prompt: str,
    images: tuple[str, ...],
    output: str,
    estimate: bool,
    fresh: bool,
    **given: Any,
) -> Exit:
    """Make pictures with an image service; run it again and it resumes.

    \b
    fanfold photo "a red dress in a garden" --count 4 -o out/
    fanfold photo "the same dress, from behind" --image dress.jpg
    fanfold photo "a red dress" --scene studio --parameters mood=calm

    Services are configured in fanfold.toml. The same prompt, pictures and options are paid for once. A job that a service
    may have accepted is never started again blindly: `fanfold external ID` shows it. Pictures that failed are listed, and the
    exit code is 7.
    """
    from fanfold.apps.photo import configuration

    invocation.log(logging.ERROR)
    settings = configuration.load()
    options = said(OPTIONS, given)
    if prompt:
        options["prompt"] = prompt
    try:
        service = settings.chosen(options.get("service", ""))
    except ff.Permanent as problem:
        raise ff.BadInput(problem.message, code=problem.code) from None
    if estimate:
        return _estimate(invocation, service, int(options.get("count", 1)))
    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise ff.BadInput(f"{folder} is not a folder. Give the folder for the pictures: -o out/")
    budget = _affordable(budget_wish(given), service, int(options.get("count", 1)))
    return _made(invocation, _inputs(images), options, folder, fresh, budget)


def _inputs(images: tuple[str, ...]) -> tuple[Any, ...]:
    """Files as paths, which are copied; anything else as it is, to be read by the first step."""
    found: list[Any] = []
    for one in images:
        is_text = one.startswith(("http://", "https://", "data:"))
        path = None if is_text else Path(one)
        if path is not None and not path.is_file() and (path.suffix and "/" not in one):
            raise ff.NotFound(f"There is no file {one}.")
        found.append(path if path is not None and path.is_file() else {"image": one})
    return tuple(found)


def _affordable(budget: BudgetWish | None, service: ServiceSettings, count: int) -> BudgetWish | None:
    """The budget, if the pictures fit into it. All are ordered side by side, so it could not stop those that do not."""
    if budget is None:
        return None
    if service.price is None:
        if not budget.allow_unknown_cost:
            raise ff.BadInput(say_of_photo("budget_price_unknown", service=service.name), code="budget_price_unknown")
    elif (cost := count * parts_of(service.price)) > budget.cap:
        said = say_of_photo(
            "budget_too_small", count=count, service=service.name, cost=told(cost), cap=told(budget.cap)
        )
        raise ff.BadInput(said, code="budget_too_small")
    return budget


def _made(
    invocation: Invocation,
    inputs: tuple[Any, ...],
    options: dict[str, Any],
    folder: Path,
    fresh: bool,
    budget: BudgetWish | None,
) -> Exit:
    """Run the task here, and save what it made."""
    from fanfold.apps.photo.pipeline import photo
    from fanfold.running.one import RunWish, run_task

    client = invocation.client([photo])
    task = run_task(client, RunWish(photo, inputs, None, options, fresh, budget=budget), progress=not invocation.json)
    result = client.result(task.id)
    saved = _saved(result, folder, options.get("prompt", ""), task.id)
    if invocation.json:
        printing.print_json({"task": task.id, "images": [str(path) for path in saved], "missing": result["missing"]})
    else:
        _told(task.id, saved, result["missing"])
    return Exit.PARTIAL if result["missing"] else Exit.OK


def _saved(result: dict[str, Any], folder: Path, prompt: str, task_id: str) -> list[Path]:
    """Save the pictures under the beginning of the prompt, the task and their number."""
    words = re.sub(r"[^\w]+", "-", prompt).strip("-")[:NAME_LENGTH].strip("-") or "picture"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [
            image["file"].save(folder / f"{words}-{task_id[-4:]}-{image['file'].name}") for image in result["images"]
        ]
    except OSError as error:
        raise ff.BadInput(f"Cannot write to {folder}: {error.strerror or error}.") from None


def _told(task_id: str, saved: list[Path], missing: list[dict[str, Any]]) -> None:
    for path in saved:
        click.echo(f"Wrote {path} ({printing.size(path.stat().st_size)})", err=True)
    for one in missing:
        click.echo(f"Picture {one['picture']} failed: {one['reason']}", err=True)
    if missing:
        click.echo(f"To make them again: fanfold retry {task_id}, then run this again", err=True)


def _estimate(invocation: Invocation, service: ServiceSettings, count: int) -> Exit:
    cost = None if service.price is None else count * parts_of(service.price)
    pictures = f"{count} {'picture' if count == 1 else 'pictures'}"
    if invocation.json:
        known = None if cost is None else dollars(cost)
        printing.print_json({"service": service.name, "pictures": count, "cost": known})
    elif cost is None:
        click.echo(f"{pictures} by {service.name}: the cost is unknown. Set its price in fanfold.toml.")
    else:
        click.echo(f"{pictures} by {service.name}: {told(cost)}")
    return Exit.OK
