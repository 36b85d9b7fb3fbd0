"""`fanfold convert`: PDF to Markdown."""

from __future__ import annotations

import logging
import os
import shlex
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from fanfold.apps.pdf.options import OPTIONS
from fanfold.cli import printing
from fanfold.cli.declared import click_options, said, secret
from fanfold.cli.exits import Exit
from fanfold.cli.failing import Interrupted
from fanfold.cli.invocation import Command, Invocation
from fanfold.errors import BadInput

if TYPE_CHECKING:
    from fanfold.cli.conversion.documents import Document
    from fanfold.cli.conversion.saving import Saving
    from fanfold.engine.children import Children
    from fanfold.settings import Settings

LOCAL_PAGES = 96
"""Pages wait together for the window of the document that has them: three windows keep two processes busy."""
MODEL_PAGES = 8
WARM = 2
GO_ON = "Interrupted; run the same again to go on"
PASSWORD = "FANFOLD_PDF_PASSWORD"
NAMED = (
    "pages", "provider", "model", "fallback", "prompt", "password", "ocr", "join", "marks", "per_page", "report", "keep_raw",
)  # fmt: skip
"""The options of a conversion that have a place on the command line."""


@click.command("convert", cls=Command)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option(
    "-o", "--output", metavar="OUT", help="A file, a folder, or - for the standard output [default: beside the PDF]."
)
@click_options(OPTIONS, only=NAMED, notes={"password": f" [env: {PASSWORD}]"})
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Pages at a time [default: one per core; 8 for models]."
)
@click.option("--fresh", is_flag=True, help="Start anew, and take no answer that was kept.")
@click.pass_obj
def command(invocation: Invocation, /, paths: tuple[str, ...], output: str | None, **given: Any) -> Exit:
    """Convert PDFs to Markdown; run it again and it goes on.

    \b
    fanfold convert book.pdf
    fanfold convert papers/ -o markdown/ --jobs 4
    fanfold convert book.pdf --provider openai --pages 1-20

    PATHs are files, folders (searched to the bottom) or patterns. The Markdown is written beside each PDF, or to -o: a name
    with an ending is a file, any other a folder. A name that another document's result has gets a number (book-2.md). A
    file that is not Fanfold's own is kept as NAME.1.bak; one that you have edited stays until --fresh.

    Without a provider the text layer is converted here, and scanned pages by OCR where the extra `ocr` is installed; with
    one, a model sees a picture of each page. The same file with the same options is done, and paid, once. Pages that fail
    are marked in the result and listed at the end, as are those that lost text and those that no model could read and that
    came from the text layer, or by OCR, instead; the exit code is then 7.
    """
    invocation.log(logging.ERROR)
    from fanfold.cli.conversion import sources

    found, missed = sources.find(paths)
    if invocation.json and output == sources.STDOUT:
        raise BadInput("-o - and --json would both go to the standard output. Leave out one of them.")
    if given["pages"] is not None and not given["pages"].strip():
        raise BadInput("--pages is empty. Leave it out for all pages, or say which: 1-3,7,10-")
    for problem in missed:
        click.echo(problem, err=True)
    if not found:
        return Exit.NOT_FOUND
    from fanfold.cli.conversion.saving import Saving

    settings = invocation.settings()
    saving = Saving(settings.data_folder)
    targets = sources.targets(found, output, saving.owner)
    options = _options(given)
    # Where all results stand already there is probably nothing to do, and no process is needed.
    new = any(target is None or saving.owner(target) is None for target in targets)
    children = _children(settings, options, given["jobs"], WARM if new or given["fresh"] else 0)
    try:
        from fanfold.cli.conversion.documents import Document
        from fanfold.cli.conversion.summary import exit_code

        flags = _typed(given | {"output": output})
        wanted = [Document(source.path, target, options, flags) for source, target in zip(found, targets, strict=True)]
        for document in wanted:
            document.problem = sources.objection(document.target) if document.target else None
        _convert(invocation, wanted, saving, children, given, output)
    finally:
        children.close()
    return exit_code(wanted, missed)


def _convert(
    invocation: Invocation,
    wanted: list[Document],
    saving: Saving,
    children: Children,
    given: dict[str, Any],
    output: str | None,
) -> None:
    from fanfold.cli.conversion import documents, finished, showing, summary

    client = invocation.client(["pdf"])
    concurrency = LOCAL_PAGES if "provider" not in wanted[0].options else given["jobs"] or MODEL_PAGES
    run = documents.Run(
        client,
        saving,
        showing.show(wanted=not invocation.json),
        given["fresh"],
        concurrency,
        children,
        summary.line,
        secret(given["password"], PASSWORD),
    )
    for document in wanted:
        if document.problem is not None:
            run.shown.finish(document.name, summary.line(document))
    run.brief = not invocation.json
    left = finished.pass_over(run, [document for document in wanted if document.problem is None])
    if left and not documents.convert(run, left):
        raise Interrupted(GO_ON)
    run.shown.close()
    _give(invocation, client, wanted, output)


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
    chosen = (option for option in OPTIONS if option.name in NAMED and option.name not in ("provider", "model"))
    return said(chosen, given) | _models(given["provider"], given["model"], given["fallback"])


def _typed(given: dict[str, Any]) -> tuple[str, ...]:
    """The options as one would type them again; a password is not repeated."""
    words: list[str] = []
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if not value or name == "fresh":
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
    named = (model or "").partition(":")[0]
    if provider is not None and named in known and named != provider:
        raise BadInput(f"--provider says {provider} and --model says {named}. Name one of them.")
    if LOCAL in fallback[:-1]:
        raise BadInput(f"--fallback {LOCAL} comes last: a page that no model can read is then made here.")
    entry = f"{provider}:{model}" if provider and model and named not in known else model or provider
    chosen = [choose(one, known) for one in (str(entry), *(one for one in fallback if one != LOCAL))]
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


def _children(settings: Settings, options: dict[str, Any], jobs: int | None, warm: int) -> Children:
    """The processes that read and draw pages, on their way while this one still loads what it needs."""
    from fanfold.engine.children import Children

    is_local = "provider" not in options
    if jobs is not None and not is_local:
        name = options["provider"].upper().replace("-", "_")
        os.environ[f"FANFOLD_PROVIDERS_{name}_CONCURRENCY"] = str(jobs)
    at_once = None
    if is_local:
        from fanfold.apps.pdf.turns import ocr_turns

        # One process more than pages are read by OCR at a time: text never waits for a scan.
        at_once = (jobs or settings.children or os.cpu_count() or 1) + 1
        ocr_turns.at_once = at_once - 1
    children = Children(settings, at_once=at_once, modules=("fanfold.apps.pdf.textlayer", "pypdfium2"))
    children.warm(warm)
    return children
