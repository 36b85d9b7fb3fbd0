"""`fanfold convert`: PDF to Markdown."""

from __future__ import annotations

import logging
import os
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fanfold.cli import printing
from fanfold.cli.exits import Exit
from fanfold.cli.failing import Interrupted
from fanfold.cli.invocation import Command, Invocation
from fanfold.errors import BadInput

if TYPE_CHECKING:
    from fanfold.cli.conversion.documents import Document

LOCAL_PAGES = 96
"""Pages wait together for the window of the document that has them: three windows keep two processes busy."""
GO_ON = "Interrupted; run the same again to go on"


@click.command("convert", cls=Command)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option(
    "-o", "--output", metavar="OUT", help="A file, a folder, or - for the standard output [default: beside the PDF]."
)
@click.option("--pages", metavar="RANGE", help="Which pages: 1-3,7,10- or -5 or last.")
@click.option("--provider", metavar="NAME", help="Who converts: local, or one of `fanfold providers` [default: local].")
@click.option("--model", metavar="MODEL", help="The provider's model, or PROVIDER:MODEL.")
@click.option(
    "--fallback", metavar="MODEL", multiple=True, help="Ask this one when the model before fails. Repeatable."
)
@click.option(
    "--prompt", type=click.File(encoding="utf-8"), help="What the model is told, instead of Fanfold's own prompt."
)
@click.option("--password", metavar="TEXT", help="Opens encrypted PDFs; - asks for it [env: FANFOLD_PDF_PASSWORD].")
@click.option(
    "--ocr", type=click.Choice(["auto", "always", "never"]), default="auto", help="Read pages without text by OCR."
)
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Pages at a time [default: one per core; 8 for models]."
)
@click.option("--join", is_flag=True, help="Join paragraphs and words that a page break splits.")
@click.option("--no-marks", is_flag=True, help="No page marks and lines between pages.")
@click.option("--per-page", is_flag=True, help="Write one file per page as well.")
@click.option("--report", is_flag=True, help="Write a JSON file with model, cost and time of each page as well.")
@click.option("--keep-raw", is_flag=True, help="Keep the raw answers of models, also when they are good.")
@click.option("--fresh", is_flag=True, help="Start anew, and take no answer that was kept.")
@click.pass_obj
def command(invocation: Invocation, /, paths: tuple[str, ...], output: str | None, **given: Any) -> Exit:
    """Convert PDFs to Markdown; run it again and it goes on.

    PATHs are files, folders or patterns. Without a provider the text layer is converted here, and scanned pages by OCR where
    the extra `ocr` is installed; with one, a model sees a picture of each page. The same file with the same options is done,
    and paid, once. Pages that fail are marked in the result and listed at the end.
    """
    invocation.log(logging.ERROR)
    from fanfold.cli.conversion import documents, saving, showing, sources, summary

    found, missed = sources.find(paths)
    for name in missed:
        click.echo(f"{name}: there is no such PDF", err=True)
    if not found:
        return Exit.NOT_FOUND
    options = _options(given)
    targets = sources.targets(found, output)
    flags = _typed(given | {"output": output})
    wanted = [
        documents.Document(source.path, target, options, flags) for source, target in zip(found, targets, strict=True)
    ]
    client = invocation.client(["pdf"])
    with tempfile.TemporaryDirectory(prefix="fanfold-") as scratch:
        _unlock(wanted, given["password"], Path(scratch), client.store.settings)
        ready = [document for document in wanted if document.problem is None]
        shown = showing.show(wanted=not invocation.json)
        for document in wanted:
            if document.problem is not None:
                shown.finish(document.name, summary.line(document))
        run = documents.Run(
            client, saving.Saving(client.store.settings.data_folder), shown, given["fresh"], line=summary.line,
            **_hands(options, given["jobs"]),
        )  # fmt: skip
        finished = documents.convert(run, ready)
    _give(invocation, client, wanted, output)
    if not finished:
        raise Interrupted(GO_ON)
    return summary.exit_code(wanted, missed)


def _give(invocation: Invocation, client: Any, wanted: list[Document], output: str | None) -> None:
    from fanfold.cli import results
    from fanfold.cli.conversion import sources, summary

    if output == sources.STDOUT:
        for document in wanted:
            if document.problem is None and document.task is not None and document.task.state == "completed":
                value = client.result(document.task.id)
                results.send(value["markdown"] if isinstance(value, dict) else value)
    elif invocation.json:
        printing.print_json({"documents": [summary.as_json(client, document) for document in wanted]})
    if not invocation.json:
        for line in summary.explain(client, wanted):
            click.echo(line, err=True)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """What is kept with each task; only what was said, so that the same command is the same task."""
    options: dict[str, Any] = {
        "pages": given["pages"],
        "fallback": list(given["fallback"]),
        "prompt": given["prompt"].read() if given["prompt"] else None,
        "ocr": given["ocr"] if given["ocr"] != "auto" else None,
        "marks": False if given["no_marks"] else None,
        **{name: given[name] or None for name in ("join", "per_page", "report", "keep_raw")},
    }
    said = {name: value for name, value in options.items() if value}
    if given["no_marks"]:
        said["marks"] = False
    return said | _models(given["provider"], given["model"], given["fallback"])


def _typed(given: dict[str, Any]) -> tuple[str, ...]:
    """The options as one would type them again; a password is not repeated."""
    words: list[str] = []
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if not value or name == "fresh" or (name, value) == ("ocr", "auto"):
            continue
        if value is True:
            words.append(option)
        elif name == "password":
            words.append(f"{option} …")
        else:
            values = value if isinstance(value, tuple) else (getattr(value, "name", value),)
            words += [f"{option} {shlex.quote(str(one))}" for one in values]
    return tuple(words)


def _models(provider: str | None, model: str | None, fallback: tuple[str, ...]) -> dict[str, Any]:
    """The provider and model that are meant, looked at before anything is begun."""
    from fanfold.providers.configuration import LOCAL, choose, find, load

    if provider in (None, LOCAL) and not model:
        if fallback:
            raise BadInput("--fallback is for models: say --provider or --model as well.")
        return {}
    known = load()
    if provider == LOCAL:
        raise BadInput(f"{LOCAL} has no models. Leave out --model, or name another provider.")
    if provider is not None:
        find(provider, known)
    entry = f"{provider}:{model}" if provider and model and model.partition(":")[0] not in known else model or provider
    chosen = [choose(one, known) for one in (str(entry), *fallback)]
    for service, _ in chosen:
        if service.lacks_key:
            raise BadInput(f"{service.name} needs a key. Put it into the environment variable {service.key_env}.")
    return {"provider": chosen[0][0].name, "model": chosen[0][1]}


def _hands(options: dict[str, Any], jobs: int | None) -> dict[str, Any]:
    """How many pages are worked on at a time, and in how many processes."""
    if "provider" not in options:
        return {"concurrency": LOCAL_PAGES, "children": jobs}
    if jobs is not None:
        name = options["provider"].upper().replace("-", "_")
        os.environ[f"FANFOLD_PROVIDERS_{name}_CONCURRENCY"] = str(jobs)
    return {"concurrency": jobs or 8, "children": None}


def _unlock(wanted: list[Document], password: str | None, scratch: Path, settings: Any) -> None:
    """Copies without a password, so that the password need not be kept with the tasks."""
    password = password or os.environ.get("FANFOLD_PDF_PASSWORD")
    if not password:
        return
    if password == "-":
        password = str(click.prompt("Password", hide_input=True, err=True))
    from fanfold.apps.pdf.document import unlock
    from fanfold.engine.children import Children
    from fanfold.errors import HandlerError

    children = Children(settings)
    try:
        for number, document in enumerate(wanted):
            target = scratch / str(number) / document.path.name
            target.parent.mkdir()
            child = children.take()
            try:
                child.run(unlock, (document.path, password, target), {"name": document.path.name})
                document.open = target
                children.give_back(child)
            except HandlerError as problem:
                document.problem = str(problem)
                children.discard(child)
    finally:
        children.close()
