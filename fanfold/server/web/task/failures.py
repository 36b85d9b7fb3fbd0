"""Groups failed items by reason; each group has a mark that identifies it in a form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256

from fanfold.engine.client import Client
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.model.lifecycle import ItemState
from fanfold.model.plan import Kind
from fanfold.model.task import Task
from fanfold.server.web.frame.languages import Words
from fanfold.server.web.task.task_header import ask_retry

SHOWN_KEYS = 8
SHOWN_GROUPS = 20
SHOWN_REASONS = 5
READ_GROUPS = 500
LONG = 240
"""Longest message shown in full; of longer ones, only the beginning is shown at first."""
PARTICULAR = re.compile(r"\b[0-9a-f]{8,}\b|\d+(?:[.,:]\d+)*")
"""Numbers and ids, in which messages with the same reason differ."""


@dataclass(frozen=True)
class FailureGroup:
    """Items that failed for one reason; ``keys`` lists the first few."""

    stage: str
    code: str
    message: str
    """The group's message, or one of several that differ only in numbers or ids."""
    count: int
    keys: tuple[str, ...]
    is_one: bool = True

    @property
    def mark(self) -> str:
        """Identifies the group in a form, because messages may be long and browsers change line endings."""
        return mark_of(self.stage, self.code, masked(self.message))

    def shown(self, t: Words) -> str:
        """The message in the reader's language, without numbers and ids that differ."""
        said = t.sentence(self.message)
        return said if self.is_one else masked(said)

    def is_long(self, t: Words) -> bool:
        """Whether only the beginning of the message is shown at first."""
        said = self.shown(t)
        return len(said) > LONG or said.count("\n") > 2

    def beginning(self, t: Words) -> str:
        """The first words of a long message."""
        return " ".join(self.shown(t)[:LONG].split()) + " …"

    def asks(self, task: Task, t: Words) -> str:
        """Confirmation question before they are retried."""
        return ask_retry(task, self.count, t)


def groups(client: Client, task_id: str) -> list[FailureGroup]:
    """Failure groups, most frequent first; messages that differ only in numbers or ids form one group."""
    found: dict[tuple[str, str, str], tuple[str, int, int]] = {}
    for stage, code, message, count in client.failures(task_id, READ_GROUPS):
        name = (stage, code, masked(message))
        example, before, kinds = found.get(name, (message, 0, 0))
        found[name] = (example, before + count, kinds + 1)
    chosen = sorted(found.items(), key=lambda pair: -pair[1][1])[:SHOWN_GROUPS]
    return [
        FailureGroup(
            stage,
            code,
            example,
            count,
            tuple(_first_keys(client, task_id, stage, code, example)),
            kinds == 1,
        )
        for (stage, code, _), (example, count, kinds) in chosen
    ]


def asks_models(client: Client, task: Task, group: FailureGroup) -> bool:
    """Whether another model could help: the stage works on items, or a model was called.

    Splits and merges work on files, and an encrypted or empty file is the same for every model.
    """
    kind = next((stage.kind for stage in task.stages if stage.name == group.stage), None)
    if kind == Kind.EACH:
        return True
    failed = client.items(task.id, stage=group.stage, states=[ItemState.FAILED], limit=1)
    return any(item.spending for item in failed)


def shortfalls(client: Client, task_id: str, t: Words) -> list[tuple[str, int]]:
    """Reasons of degraded items with counts; reasons that differ only in numbers or ids are one."""
    found: dict[str, tuple[str, int, int]] = {}
    for _, reason, count in WebQueries(client.lookup).shortfalls(task_id, READ_GROUPS):
        example, before, kinds = found.get(masked(reason), (reason, 0, 0))
        found[masked(reason)] = (example, before + count, kinds + 1)
    many = sorted(found.values(), key=lambda one: -one[1])[:SHOWN_REASONS]
    said = [(t.sentence(example), count, kinds) for example, count, kinds in many]
    return [(reason if kinds == 1 else masked(reason), count) for reason, count, kinds in said]


def _first_keys(client: Client, task_id: str, stage: str, code: str, message: str) -> list[str]:
    return WebQueries(client.lookup).failed_keys(task_id, stage, code, message, SHOWN_KEYS)


def keys_of(client: Client, task_id: str, mark: str) -> tuple[str, list[str]]:
    """The stage and all keys of a group; no keys if the group no longer exists."""
    for group in groups(client, task_id):
        if group.mark == mark:
            failed = WebQueries(client.lookup).failed_like(task_id, group.stage, group.code)
            wanted = masked(group.message)
            return group.stage, [key for key, message in failed if masked(message) == wanted]
    return "", []


def masked(message: str) -> str:
    """A message without numbers and ids."""
    return PARTICULAR.sub("…", message)


def mark_of(stage: str, code: str, message: str) -> str:
    """Hash that is equal for equal reasons."""
    return sha256("\0".join((stage, code, message)).encode()).hexdigest()[:24]
