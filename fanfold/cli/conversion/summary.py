"""What came of it? A line per document, the pages that failed with their reasons, and the command that redoes them."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from fanfold.cli.conversion.documents import Document
from fanfold.cli.exits import Exit
from fanfold.cli.printing import duration, one_line
from fanfold.model.asking import money
from fanfold.model.lifecycle import TaskState

if TYPE_CHECKING:
    from fanfold.engine.client import Client

REASONS_SHOWN = 10


@dataclass(frozen=True)
class Missing:
    """A page without a result."""

    page: int
    reason: str


def line(document: Document) -> str:
    """One document in one line."""
    task = document.task
    if document.problem is not None or task is None:
        return f"{document.name}: {one_line(document.problem)}"
    where = f" → {document.target}" if document.target else ""
    parts = [f"{task.total} page{'s' if task.total != 1 else ''}"]
    if task.failed:
        parts.append(f"{task.failed} failed")
    if task.spending:
        parts.append(money(task.spending))
    if document.before:
        parts.append("done before (--fresh does it anew)")
    elif task.started_at and task.finished_at:
        parts.append(duration((task.finished_at - task.started_at).total_seconds()))
    if document.backup:
        parts.append(f"the file that was there is now {document.backup}")
    return f"{document.name}{where}: {', '.join(parts)}"


def missing(client: Client, document: Document) -> list[Missing]:
    """The pages of a document that failed, in order."""
    if document.task is None or not document.task.failed:
        return []
    return [
        Missing(int(result.input["page"]), one_line(result.error_message))
        for result in client.missing(document.task.id)
    ]


def engines(client: Client, document: Document) -> tuple[Counter[str], list[int]]:
    """How many pages each engine has made, and which pages are not what was asked for but a fallback."""
    made: Counter[str] = Counter()
    fallbacks = []
    if document.task is not None and document.task.state is TaskState.COMPLETED:
        for result in client.results(document.task.id):
            made[result.output.get("engine", "")] += 1
            if result.output.get("fallback"):
                fallbacks.append(int(result.output["page"]))
    return made, fallbacks


def explain(client: Client, documents: Sequence[Document]) -> list[str]:
    """What a person should know at the end, beyond the lines that were said already."""
    said: list[str] = []
    for document in documents:
        gaps = missing(client, document)
        said += [f"{document.name}: {_numbers([gap.page for gap in group])}: {reason}"
                 for reason, group in _by_reason(gaps)[:REASONS_SHOWN]]  # fmt: skip
        if gaps and document.task:
            said.append(f"  To redo them: {again(document)}")
            said.append(
                f"  With another model: fanfold retry {document.task.id} --option provider=NAME --option model=MODEL, "
                "then fanfold worker pdf"
            )
        _, fallbacks = engines(client, document) if not _is_local(document) else (None, [])
        if fallbacks:
            said.append(f"{document.name}: {_numbers(fallbacks)} by fallback")
        if document.task and document.task.state is TaskState.PAUSED:
            said.append(f"  When that is put right: {again(document)}")
    if len(documents) > 1:
        said.append(_totals(documents))
    return said


def again(document: Document) -> str:
    """The command that goes on with this document alone."""
    return " ".join(["fanfold convert", shlex.quote(str(document.path)), *document.flags])


def exit_code(documents: Sequence[Document], missed: Sequence[str]) -> Exit:
    """How the command ended, all documents taken together."""
    paused = any(document.task and document.task.state is TaskState.PAUSED for document in documents)
    good = [document for document in documents if document.problem is None]
    if paused:
        return Exit.WAITING
    if not good:
        return Exit.FAILED
    incomplete = missed or len(good) < len(documents) or any(one.task and one.task.failed for one in good)
    return Exit.PARTIAL if incomplete else Exit.OK


def as_json(client: Client, document: Document) -> dict[str, Any]:
    """One document, for programs."""
    task = document.task
    made, fallbacks = engines(client, document)
    return {
        "source": str(document.path),
        "target": str(document.target) if document.target and document.problem is None else None,
        "task": task.id if task else None,
        "state": task.status if task else "failed",
        "problem": document.problem,
        "pages": task.total if task and task.state is TaskState.COMPLETED else 0,
        "done": task.done if task else 0,
        "failed": [{"page": gap.page, "reason": gap.reason} for gap in missing(client, document)],
        "engines": dict(made),
        "fallbacks": fallbacks,
        "spending": task.spending if task else None,
    }


def _is_local(document: Document) -> bool:
    return "provider" not in document.options


def _by_reason(gaps: list[Missing]) -> list[tuple[str, list[Missing]]]:
    ordered = sorted(gaps, key=lambda gap: gap.reason)
    return [(reason, list(group)) for reason, group in groupby(ordered, key=lambda gap: gap.reason)]


def _numbers(pages: list[int]) -> str:
    shown = ", ".join(str(page) for page in sorted(pages)[:20]) + (" …" if len(pages) > 20 else "")
    return f"page{'s' if len(pages) > 1 else ''} {shown}"


def _totals(documents: Sequence[Document]) -> str:
    tasks = [document.task for document in documents if document.task and document.problem is None]
    bad = sum(document.problem is not None for document in documents)
    pages, failed = sum(task.total for task in tasks), sum(task.failed for task in tasks)
    parts = [f"{len(documents)} documents", f"{pages} pages"]
    parts += [f"{failed} pages failed"] if failed else []
    parts += [f"{bad} documents could not be converted"] if bad else []
    cost = sum(task.spending.cost for task in tasks)
    parts += [f"${cost:.4f}"] if cost else []
    return ", ".join(parts)
