"""What failed, and why? Items grouped by their reason, each group with a mark by which a form can name it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256

from fanfold.engine.client import Client
from fanfold.model.task import Task
from fanfold.server.web.languages import Words
from fanfold.server.web.task_header import ask_retry

SHOWN_KEYS = 8
SHOWN_GROUPS = 20
SHOWN_REASONS = 5
READ_GROUPS = 500
LONG = 240
"""Longer messages are shown with their beginning first."""
PARTICULAR = re.compile(r"\b[0-9a-f]{8,}\b|\d+(?:[.,:]\d+)*")
"""What sets apart the messages of one and the same reason: numbers and ids."""


@dataclass(frozen=True)
class Group:
    """Items that failed for one reason; ``keys`` are the first of them."""

    stage: str
    code: str
    message: str
    count: int
    keys: tuple[str, ...]

    @property
    def mark(self) -> str:
        """Names the group in a form: a message may be long, and browsers change the ends of lines."""
        return mark_of(self.stage, self.code, masked(self.message))

    @property
    def is_long(self) -> bool:
        """Whether the message is shown with its beginning first."""
        return len(self.message) > LONG or self.message.count("\n") > 2

    @property
    def beginning(self) -> str:
        """The first words of a long message."""
        return " ".join(self.message[:LONG].split()) + " …"

    def asks(self, task: Task, t: Words) -> str:
        """What is asked before they are retried."""
        return ask_retry(task, self.count, t)


def groups(client: Client, task_id: str) -> list[Group]:
    """The reasons, the most frequent first; messages that differ in numbers or ids only are one reason."""
    found: dict[tuple[str, str, str], tuple[str, int, int]] = {}
    for stage, code, message, count in client.failures(task_id, READ_GROUPS):
        name = (stage, code, masked(message))
        example, before, kinds = found.get(name, (message, 0, 0))
        found[name] = (example, before + count, kinds + 1)
    chosen = sorted(found.items(), key=lambda pair: -pair[1][1])[:SHOWN_GROUPS]
    return [
        Group(
            stage,
            code,
            example if kinds == 1 else mask,
            count,
            tuple(_first_keys(client, task_id, stage, code, example)),
        )
        for (stage, code, mask), (example, count, kinds) in chosen
    ]


def shortfalls(client: Client, task_id: str) -> list[tuple[str, int]]:
    """Why items are not what was asked for, and how many each; reasons that differ in numbers or ids only are one."""
    found: dict[str, tuple[str, int, int]] = {}
    for _, reason, count in client.shortfalls(task_id, READ_GROUPS):
        example, before, kinds = found.get(masked(reason), (reason, 0, 0))
        found[masked(reason)] = (example, before + count, kinds + 1)
    many = sorted(found.items(), key=lambda pair: -pair[1][1])[:SHOWN_REASONS]
    return [(example if kinds == 1 else mask, count) for mask, (example, count, kinds) in many]


def _first_keys(client: Client, task_id: str, stage: str, code: str, message: str) -> list[str]:
    return client.failed_keys(task_id, stage, code, message, SHOWN_KEYS)


def keys_of(client: Client, task_id: str, mark: str) -> tuple[str, list[str]]:
    """The stage and all keys of a group; no keys when there is no such group any more."""
    for group in groups(client, task_id):
        if group.mark == mark:
            failed = client.failed_like(task_id, group.stage, group.code)
            wanted = masked(group.message)
            return group.stage, [key for key, message in failed if masked(message) == wanted]
    return "", []


def masked(message: str) -> str:
    """A message without what is particular to one item."""
    return PARTICULAR.sub("…", message)


def mark_of(stage: str, code: str, message: str) -> str:
    """The same for the same reason."""
    return sha256("\0".join((stage, code, message)).encode()).hexdigest()[:24]
