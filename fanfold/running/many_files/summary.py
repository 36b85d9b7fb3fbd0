"""Summarises a command: a line per source, failed items with their reasons, and the command that redoes them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from fanfold.model.lifecycle import TaskState
from fanfold.model.money.questions import Spending, money
from fanfold.model.text.counting import counted
from fanfold.running.many_files.many import Document, FileCommand
from fanfold.running.terminal.exit_codes import Exit
from fanfold.running.terminal.output_format import duration, one_line

if TYPE_CHECKING:
    from fanfold.engine.client import Client
    from fanfold.model.task import Task

REASONS_SHOWN = 10


@dataclass(frozen=True)
class Missing:
    """An item with no result or a degraded one."""

    key: str
    reason: str

    @property
    def label(self) -> int | str:
        """The key, as a number if it is one."""
        return int(self.key) if self.key.isdecimal() else self.key


def line(command: FileCommand, document: Document) -> str:
    """One source in one line."""
    task = document.task
    if document.problem is not None or task is None:
        said = one_line(document.problem)
        return said if document.path.name in said else f"{document.name}: {said}"
    where = f" → {document.target}" if document.target else ""
    return f"{document.name}{where}: {', '.join(_facts(command, document, task))}"


def _facts(command: FileCommand, document: Document, task: Task) -> list[str]:
    parts = [counted(task.total, command.pipeline.unit) + command.kinds(document.engines)]
    if task.failed:
        parts.append(f"{task.failed} failed")
    if document.degraded:
        parts.append(f"{len(document.degraded)} degraded" + (", accepted" if not task.unaccepted else ""))
    if document.left:
        parts.append(
            f"you have edited {_listed(document.left)}: left unchanged (--fresh writes it again and keeps your copy)"
        )
    if document.moved:
        parts.append(f"the existing file is now {_listed(document.moved)}")
    if document.was_done_before:
        return [*parts, "already done (--fresh does it again)"] if not document.left else parts
    if task.spending:
        parts.append(money(task.spending))
    if task.started_at and task.finished_at:
        parts.append(duration((task.finished_at - task.started_at).total_seconds()))
    return parts


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:3])}{' …' if len(names) > 3 else ''}"


def missing(client: Client, document: Document) -> list[Missing]:
    """Failed items of a source, in order."""
    if document.task is None or not document.task.failed:
        return []
    return [Missing(result.key, one_line(result.error_message)) for result in client.missing(document.task.id)]


def explain(client: Client, command: FileCommand, documents: Sequence[Document]) -> list[str]:
    """Closing lines for a person, beyond the lines already printed."""
    said: list[str] = []
    for document in documents:
        said += _gaps(client, command, document)
        said += _shortfalls(command, document)
        if document.task and document.task.state is TaskState.PAUSED:
            said.append(f"  Once that is fixed: {again(command, document)}")
        if document.task and document.task.state is TaskState.WAITING:
            said.append(f"  To continue: {again(command, document)}")
        if document.task and document.task.stalled:
            said.append(f"  Once that is fixed: fanfold retry {document.task.id}, then {again(command, document)}")
    if len(documents) > 1:
        said.append(_totals(command, documents))
    return said


def _gaps(client: Client, command: FileCommand, document: Document) -> list[str]:
    """List the failed items with reasons and the commands that redo them."""
    gaps = missing(client, document)
    if not gaps or document.task is None:
        return []
    reasons = _reasons(command, document, gaps) if document.problem is None else []
    return [
        *reasons,
        f"  To redo them: {again(command, document)}",
        f"  With another model: fanfold retry {document.task.id} --option provider=NAME --option model=MODEL, "
        "then the same command again",
    ]


def _shortfalls(command: FileCommand, document: Document) -> list[str]:
    """List the degraded items with reasons and the command that redoes only these."""
    if not document.degraded or document.task is None or not document.task.unaccepted:
        return []
    found = [Missing(key, one_line(why)) for key, why in document.degraded.items()]
    return [
        *_reasons(command, document, found, " degraded"),
        f"  To redo only these: fanfold retry {document.task.id} --degraded, then the same command again",
        f"  To keep them as they are: fanfold accept {document.task.id}",
    ]


def _reasons(command: FileCommand, document: Document, gaps: list[Missing], what: str = "") -> list[str]:
    return [
        f"{document.name}: {_numbers(command, group)}{what}: {reason}"
        for reason, group in _by_reason(gaps)[:REASONS_SHOWN]
    ]


def again(command: FileCommand, document: Document) -> str:
    """The command that resumes this source alone."""
    return " ".join([f"fanfold {command.name}", shlex.quote(document.given or str(document.path)), *document.flags])


def exit_code(documents: Sequence[Document], missed: Sequence[str]) -> Exit:
    """Exit code of the command over all sources."""
    held = (TaskState.PAUSED, TaskState.WAITING)
    waiting = any(one.task and (one.task.state in held or one.task.stalled) for one in documents)
    good = [document for document in documents if document.problem is None]
    if waiting:
        return Exit.WAITING
    if not good:
        return Exit.FAILED
    lacking = any(one.task and (one.task.unaccepted or one.task.failed) for one in good)
    incomplete = missed or len(good) < len(documents) or lacking
    return Exit.PARTIAL if incomplete else Exit.OK


def as_json(client: Client, command: FileCommand, document: Document) -> dict[str, Any]:
    """One source, for programs."""
    task = document.task
    one, many = command.pipeline.unit
    degraded = [Missing(key, why) for key, why in document.degraded.items()]
    return {
        "source": document.given or str(document.path),
        "target": str(document.target) if document.target and _is_saved(document) else None,
        "task": task.id if task else None,
        "state": task.status if task else "failed",
        "problem": document.problem,
        many: task.total if task and task.state is TaskState.COMPLETED else 0,
        "done": task.done if task else 0,
        "failed": [{one: gap.label, "reason": gap.reason} for gap in missing(client, document)],
        "engines": dict(document.engines),
        "degraded": [{one: gap.label, "reason": gap.reason} for gap in _ordered(degraded)],
        "accepted": task.accepted if task else 0,
        "spending": task.spending if task else None,
        "moved": document.moved,
        "left": document.left,
    }


def _is_saved(document: Document) -> bool:
    return document.problem is None and document.task is not None and document.task.state is TaskState.COMPLETED


def _by_reason(gaps: list[Missing]) -> list[tuple[str, list[Missing]]]:
    ordered = sorted(gaps, key=lambda gap: gap.reason)
    return [(reason, list(group)) for reason, group in groupby(ordered, key=lambda gap: gap.reason)]


def _ordered(gaps: Sequence[Missing]) -> list[Missing]:
    return sorted(gaps, key=lambda gap: (isinstance(gap.label, str), gap.label))


def _numbers(command: FileCommand, gaps: Sequence[Missing]) -> str:
    shown = ", ".join(str(gap.label) for gap in _ordered(gaps)[:20]) + (" …" if len(gaps) > 20 else "")
    return f"{command.pipeline.unit[len(gaps) != 1]} {shown}"


def _totals(command: FileCommand, documents: Sequence[Document]) -> str:
    unit, noun = command.pipeline.unit, command.noun
    tasks = [document.task for document in documents if document.task and document.problem is None]
    bad = [document.name for document in documents if document.problem is not None]
    failed, degraded = sum(task.failed for task in tasks), sum(task.degraded for task in tasks)
    parts = [counted(len(documents), noun), counted(sum(task.total for task in tasks), unit)]
    parts += [f"{counted(failed, unit)} failed"] if failed else []
    parts += [f"{counted(degraded, unit)} degraded"] if degraded else []
    # Sources done in an earlier run cost nothing in this one.
    now = [one.task.spending for one in documents if one.task and one.problem is None and not one.was_done_before]
    spent = Spending(
        cost=sum(spending.cost for spending in now),
        unpriced=sum(spending.unpriced for spending in now),
        possibly_paid=sum(spending.possibly_paid for spending in now),
    )
    parts += [money(spent)] if spent.cost or spent.unpriced or spent.possibly_paid else []
    listed = ", ".join(bad[:20]) + (" …" if len(bad) > 20 else "")
    return ", ".join(parts) + (f"; {counted(len(bad), noun)} failed: {listed}" if bad else "")
