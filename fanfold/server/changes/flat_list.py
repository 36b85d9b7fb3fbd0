"""Lists the changes of a task one after the other, page by page, and decides about many."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from fanfold.engine.client import Client
from fanfold.errors import BadInput
from fanfold.model.decision import DecisionVerdict, NewDecision
from fanfold.model.text.sentences import say
from fanfold.model.views.changes import OPEN, ChangeFilter, ListedChange, changes_by_paragraph

CURSOR = re.compile(r"(\d{1,9})\.(\d{1,9})")
MOST_AT_ONCE = 200_000
"""Most changes decided about in one request."""


def changes(
    client: Client, task_id: str, wanted: ChangeFilter, after: str, limit: int
) -> tuple[list[ListedChange], str]:
    """The next wanted changes, in whole paragraphs (so there may be a few more than ``limit``), and the cursor after them."""
    found: list[ListedChange] = []
    last = ""
    for cursor, some in _from(client, task_id, wanted, after):
        if len(found) >= limit:
            return found, last
        found += some
        last = cursor
    return found, ""


def decide_all(client: Client, task_id: str, wanted: ChangeFilter, verdict: DecisionVerdict) -> int:
    """Decide about all wanted changes; returns how many decisions are new."""
    listed = ((one.item, one.key, one.state) for _, some in _from(client, task_id, wanted, "") for one in some)
    return decide_each(client, task_id, listed, verdict)


def decide_each(
    client: Client,
    task_id: str,
    changes: Iterable[tuple[str, str, str]],
    verdict: DecisionVerdict,
    stage: str | None = None,
) -> int:
    """Decide about these changes, given as item, key and state, unless that is their state; returns how many are new."""
    meant = OPEN if verdict is DecisionVerdict.UNDO else verdict.value
    new = (NewDecision(item, key, verdict) for item, key, state in changes if state != meant)
    decisions = list(islice(new, MOST_AT_ONCE))
    if decisions:
        client.decide_many(task_id, decisions, stage=stage)
    return len(decisions)


def _from(
    client: Client, task_id: str, wanted: ChangeFilter, after: str
) -> Iterator[tuple[str, tuple[ListedChange, ...]]]:
    """The changes of each paragraph after a cursor, with the next cursor: the position of the item, and the place in it."""
    seq, passed = _cursor(after)
    for result in client.results(task_id).after(max(0, seq - 1)):
        for place, some in enumerate(changes_by_paragraph(result, wanted), 1):
            if result.seq > seq or place > passed:
                yield f"{result.seq}.{place}", some


def _cursor(after: str) -> tuple[int, int]:
    if not after:
        return 0, 0
    found = CURSOR.fullmatch(after)
    if found is None:
        raise BadInput(say("bad_change_cursor", cursor=after[:40]))
    return int(found[1]), int(found[2])
