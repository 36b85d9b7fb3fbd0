"""What came of it? A line per document, the pages that failed with their reasons, and the command that redoes them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from fanfold.cli.conversion.documents import Document
from fanfold.cli.exits import Exit
from fanfold.cli.printing import duration, one_line
from fanfold.model.asking import Spending, money
from fanfold.model.lifecycle import TaskState

if TYPE_CHECKING:
    from fanfold.engine.client import Client
    from fanfold.model.task import Task

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
        said = one_line(document.problem)
        return said if document.path.name in said else f"{document.name}: {said}"
    where = f" → {document.target}" if document.target else ""
    return f"{document.name}{where}: {', '.join(_facts(document, task))}"


def _facts(document: Document, task: Task) -> list[str]:
    parts = [counted(task.total, "page") + _kinds(document)]
    if task.failed:
        parts.append(f"{task.failed} failed")
    if document.degraded:
        parts.append(f"{len(document.degraded)} degraded")
    if document.left:
        parts.append(
            f"you have edited {_listed(document.left)}: left as it is (--fresh writes it anew and keeps yours)"
        )
    if document.moved:
        parts.append(f"what was there is now {_listed(document.moved)}")
    if document.was_done_before:
        return [*parts, "done before (--fresh does it anew)"] if not document.left else parts
    if task.spending:
        parts.append(money(task.spending))
    if task.started_at and task.finished_at:
        parts.append(duration((task.finished_at - task.started_at).total_seconds()))
    return parts


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:3])}{' …' if len(names) > 3 else ''}"


def _kinds(document: Document) -> str:
    """Who made the pages, where that is not one and the same."""
    known = {"text layer": "text", "ocr": "OCR"}
    if len(document.engines) < 2 and "not read" not in document.engines:
        return ""
    return f" ({', '.join(f'{many} {known.get(kind, kind)}' for kind, many in document.engines.most_common())})"


def counted(number: int, noun: str) -> str:
    """`1 page`, `2 pages`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def missing(client: Client, document: Document) -> list[Missing]:
    """The pages of a document that failed, in order."""
    if document.task is None or not document.task.failed:
        return []
    return [
        Missing(int(result.input["page"]), one_line(result.error_message))
        for result in client.missing(document.task.id)
    ]


def explain(client: Client, documents: Sequence[Document]) -> list[str]:
    """What a person should know at the end, beyond the lines that were said already."""
    said: list[str] = []
    for document in documents:
        gaps = missing(client, document)
        if document.problem is None:
            said += [
                f"{document.name}: {_numbers([gap.page for gap in group])}: {reason}"
                for reason, group in _by_reason(gaps)[:REASONS_SHOWN]
            ]
        if gaps and document.task:
            said.append(f"  To redo them: {again(document)}")
            said.append(
                f"  With another model: fanfold retry {document.task.id} --option provider=NAME --option model=MODEL, "
                "then the same again"
            )
        if document.degraded and document.task:
            shortfalls = [Missing(page, one_line(why)) for page, why in document.degraded.items()]
            said += [
                f"{document.name}: {_numbers([gap.page for gap in group])} degraded: {reason}"
                for reason, group in _by_reason(shortfalls)[:REASONS_SHOWN]
            ]
            said.append(f"  To redo just these: fanfold retry {document.task.id} --degraded, then the same again")
        if document.task and document.task.state is TaskState.PAUSED:
            said.append(f"  When that is put right: {again(document)}")
        if document.task and document.task.stalled:
            said.append(f"  When that is put right: fanfold retry {document.task.id}, then {again(document)}")
    if len(documents) > 1:
        said.append(_totals(documents))
    return said


def again(document: Document) -> str:
    """The command that goes on with this document alone."""
    return " ".join(["fanfold convert", shlex.quote(str(document.path)), *document.flags])


def exit_code(documents: Sequence[Document], missed: Sequence[str]) -> Exit:
    """How the command ended, all documents taken together."""
    waiting = any(one.task and (one.task.state is TaskState.PAUSED or one.task.stalled) for one in documents)
    good = [document for document in documents if document.problem is None]
    if waiting:
        return Exit.WAITING
    if not good:
        return Exit.FAILED
    lacking = any(one.degraded or (one.task and one.task.failed) for one in good)
    incomplete = missed or len(good) < len(documents) or lacking
    return Exit.PARTIAL if incomplete else Exit.OK


def as_json(client: Client, document: Document) -> dict[str, Any]:
    """One document, for programs."""
    task = document.task
    return {
        "source": str(document.path),
        "target": str(document.target) if document.target and _is_saved(document) else None,
        "task": task.id if task else None,
        "state": task.status if task else "failed",
        "problem": document.problem,
        "pages": task.total if task and task.state is TaskState.COMPLETED else 0,
        "done": task.done if task else 0,
        "failed": [{"page": gap.page, "reason": gap.reason} for gap in missing(client, document)],
        "engines": dict(document.engines),
        "degraded": [{"page": page, "reason": why} for page, why in sorted(document.degraded.items())],
        "spending": task.spending if task else None,
        "moved": document.moved,
        "left": document.left,
    }


def _is_saved(document: Document) -> bool:
    return document.problem is None and document.task is not None and document.task.state is TaskState.COMPLETED


def _by_reason(gaps: list[Missing]) -> list[tuple[str, list[Missing]]]:
    ordered = sorted(gaps, key=lambda gap: gap.reason)
    return [(reason, list(group)) for reason, group in groupby(ordered, key=lambda gap: gap.reason)]


def _numbers(pages: list[int]) -> str:
    shown = ", ".join(str(page) for page in sorted(pages)[:20]) + (" …" if len(pages) > 20 else "")
    return f"page{'s' if len(pages) > 1 else ''} {shown}"


def _totals(documents: Sequence[Document]) -> str:
    tasks = [document.task for document in documents if document.task and document.problem is None]
    bad = [document.name for document in documents if document.problem is not None]
    pages, failed = sum(task.total for task in tasks), sum(task.failed for task in tasks)
    degraded = sum(task.degraded for task in tasks)
    parts = [counted(len(documents), "document"), counted(pages, "page")]
    parts += [f"{counted(failed, 'page')} failed"] if failed else []
    parts += [f"{counted(degraded, 'page')} degraded"] if degraded else []
    spent = Spending(
        cost=sum(task.spending.cost for task in tasks),
        unpriced=sum(task.spending.unpriced for task in tasks),
        possibly_paid=sum(task.spending.possibly_paid for task in tasks),
    )
    parts += [money(spent)] if spent.cost or spent.unpriced or spent.possibly_paid else []
    listed = ", ".join(bad[:20]) + (" …" if len(bad) > 20 else "")
    return ", ".join(parts) + (f"; {counted(len(bad), 'document')} could not be converted: {listed}" if bad else "")
