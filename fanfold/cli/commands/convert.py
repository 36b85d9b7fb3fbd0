"""`fanfold convert`: PDF to Markdown."""

from __future__ import annotations

import logging
import os
import shlex
import socket
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from fanfold.cli import printing
from fanfold.cli.exits import Exit
from fanfold.cli.failing import Interrupted
from fanfold.cli.invocation import Command, Invocation
from fanfold.errors import BadInput

if TYPE_CHECKING:
    from fanfold.cli.conversion.documents import Document
    from fanfold.engine.children import Children
    from fanfold.settings import Settings

LOCAL_PAGES = 96
"""Pages wait together for the window of the document that has them: three windows keep two processes busy."""
MODEL_PAGES = 8
WARM = 2
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
    from fanfold.cli.conversion import sources

    found, missed = sources.find(paths)
    for name in missed:
        click.echo(f"{name}: there is no such PDF", err=True)
    if not found:
        return Exit.NOT_FOUND
    targets = sources.targets(found, output)
    options = _options(given)
    children = _children(invocation.settings(), options, given["jobs"])
    try:
        from fanfold.cli.conversion.documents import Document
        from fanfold.cli.conversion.summary import exit_code

        flags = _typed(given | {"output": output})
        wanted = [Document(source.path, target, options, flags) for source, target in zip(found, targets, strict=True)]
        _convert(invocation, wanted, children, given, output)
    finally:
        children.close()
    return exit_code(wanted, missed)


def _convert(
    invocation: Invocation, wanted: list[Document], children: Children, given: dict[str, Any], output: str | None
) -> None:
    from fanfold.cli.conversion import documents, saving, showing, summary

    client = invocation.client(["pdf"])
    with tempfile.TemporaryDirectory(prefix="fanfold-") as scratch:
        _unlock(wanted, given["password"], Path(scratch), children)
        shown = showing.show(wanted=not invocation.json)
        for document in wanted:
            if document.problem is not None:
                shown.finish(document.name, summary.line(document))
        concurrency = LOCAL_PAGES if "provider" not in wanted[0].options else given["jobs"] or MODEL_PAGES
        written = saving.Saving(client.store.settings.data_folder)
        run = documents.Run(client, written, shown, given["fresh"], concurrency, children, summary.line)
        finished = documents.convert(run, [document for document in wanted if document.problem is None])
    _give(invocation, client, wanted, output)
    if not finished:
        raise Interrupted(GO_ON)


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
    from fanfold.providers.services import objection

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
        if reason := objection(service) or _absence(service.base_url, service.name):
            raise BadInput(reason)
    return {"provider": chosen[0][0].name, "model": chosen[0][1]}


def _absence(address: str, name: str) -> str | None:
    """Whether a server that should run on this very machine does not."""
    parts = urlsplit(address)
    if parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        return None
    try:
        socket.create_connection((parts.hostname, parts.port or 80), timeout=2).close()
    except OSError:
        return f"{name} can not be reached at {parts.scheme}://{parts.netloc.rpartition('@')[2]}. Start it first."
    return None


def _children(settings: Settings, options: dict[str, Any], jobs: int | None) -> Children:
    """The processes that read and draw pages, on their way while this one still loads what it needs."""
    from fanfold.engine.children import Children

    is_local = "provider" not in options
    if jobs is not None and not is_local:
        name = options["provider"].upper().replace("-", "_")
        os.environ[f"FANFOLD_PROVIDERS_{name}_CONCURRENCY"] = str(jobs)
    children = Children(
        settings, at_once=jobs if is_local else None, modules=("fanfold.apps.pdf.textlayer", "pypdfium2")
    )
    children.warm(WARM)
    return children


def _unlock(wanted: list[Document], password: str | None, scratch: Path, children: Children) -> None:
    """Copies without a password, so that the password need not be kept with the tasks."""
    password = password or os.environ.get("FANFOLD_PDF_PASSWORD")
    if not password:
        return
    if password == "-":
        password = str(click.prompt("Password", hide_input=True, err=True))
    for number, document in enumerate(wanted):
        target = scratch / str(number) / document.path.name
        target.parent.mkdir()
        document.problem = _unlock_one(document.path, password, target, children)
        document.open = target


def _unlock_one(path: Path, password: str, target: Path, children: Children) -> str | None:
    """In a child process: a damaged file may take the process down that reads it. Returns what is wrong."""
    from fanfold.apps.pdf.document import unlock
    from fanfold.errors import HandlerError

    child = children.take()
    try:
        child.run(unlock, (path, password, target), {"name": path.name})
    except HandlerError as problem:
        children.discard(child)
        return str(problem)
    children.give_back(child)
    return None
