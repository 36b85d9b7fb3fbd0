"""What failed, and why? Items grouped by their reason, each group with a mark by which a form can name it."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from fanfold.engine.client import Client
from fanfold.model.task import Task
from fanfold.server.web.headline import ask_retry
from fanfold.server.web.words import Words

SHOWN_KEYS = 8
LONG = 240
"""Longer messages are shown with their beginning first."""


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
        return mark_of(self.stage, self.code, self.message)

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
    """The reasons, the most frequent first."""
    return [
        Group(stage, code, message, count, tuple(client.failed_keys(task_id, stage, code, message)[:SHOWN_KEYS]))
        for stage, code, message, count in client.failures(task_id)
    ]


def keys_of(client: Client, task_id: str, mark: str) -> tuple[str, list[str]]:
    """The stage and all keys of a group; no keys when there is no such group any more."""
    for stage, code, message, _ in client.failures(task_id):
        if mark_of(stage, code, message) == mark:
            return stage, client.failed_keys(task_id, stage, code, message)
    return "", []


def mark_of(stage: str, code: str, message: str) -> str:
    """The same for the same reason."""
    return sha256("\0".join((stage, code, message)).encode()).hexdigest()[:24]
