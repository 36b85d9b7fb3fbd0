"""The parameters of a submission, and their checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from fanfold.engine.tasks.many_items.new_items import KEY_LENGTH
from fanfold.engine.webhooks.endpoints import check_notify
from fanfold.errors import BadInput
from fanfold.model.awaited.subtask import ParentItem
from fanfold.model.money.budgets import BudgetWish
from fanfold.model.money.estimates import check_sample
from fanfold.model.retry import MOST_RETRIES
from fanfold.model.text.sentences import say
from fanfold.model.text.texts import check_text, shown
from fanfold.store.rows.templates import UsedTemplate
from fanfold.store.store import Transaction

OWNER_LENGTH = 200
TAG_LENGTH = 100
TITLE_LENGTH = 1_000
LONGEST_DELAY = 10 * 365 * 86_400


@dataclass(frozen=True)
class Submission:
    """All parameters of a submission."""

    inputs: Sequence[Any] = ()
    items: Iterable[Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    title: str | None = None
    key: str | None = None
    priority: int = 0
    tags: Sequence[str] = ()
    owner: str = ""
    retry_limit: int | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    straight_through: bool = False
    literal: bool = False
    actor: str = "person"
    budget: BudgetWish | None = None
    sample: int = 0
    """Process only this many items of a stage, then pause; 0 for all."""
    templates: tuple[UsedTemplate, ...] = ()
    """The versions of templates that its options were made from."""
    run_at: datetime | None = None
    """When the task starts; None for at once."""
    delay: float | None = None
    """The same, in seconds from now."""
    notify: Sequence[str] = ()
    """Receivers of webhooks for this task alone: names, or addresses."""
    parent: ParentItem | None = None
    """The item that submits it as a subtask."""
    within: Within | None = None
    """What else happens in the transaction that stores the task."""


class Within(Protocol):
    """Part of the transaction that stores a task."""

    @property
    def admit(self) -> Callable[[Transaction], bool]:
        """Whether the task may be stored."""

    @property
    def note(self) -> Callable[[Transaction, str], None]:
        """Records the task, by its id."""


def checked(wanted: Submission) -> Submission:
    """The submission, if every parameter has the right type and size; BadInput names the one that does not."""
    if wanted.key is not None:
        check_text(wanted.key, "The key", least=1, most=KEY_LENGTH)
    if wanted.title is not None:
        check_text(wanted.title, "The title", most=TITLE_LENGTH)
    check_text(wanted.owner, "The owner", most=OWNER_LENGTH)
    check_items(wanted.items)
    check_mapping(wanted.options, "options")
    check_mapping(wanted.metadata, "metadata")
    priority = _whole(wanted.priority, "The priority")
    if not -(2**31) < priority < 2**31:
        raise BadInput(say("priority_range", value=shown(priority)))
    if wanted.retry_limit is not None and not 0 <= _whole(wanted.retry_limit, "The retry limit") <= MOST_RETRIES:
        raise BadInput(say("retry_limit_range", value=shown(wanted.retry_limit), most=MOST_RETRIES))
    check_sample(wanted.sample)
    check_start(wanted.run_at, wanted.delay)
    check_notify(wanted.notify)
    return replace(wanted, tags=_tags(wanted.tags))


def check_start(run_at: Any, delay: Any) -> None:
    """A start time is an aware time, or a delay of up to ten years; not both."""
    if run_at is not None and delay is not None:
        raise BadInput(say("run_at_or_delay"))
    if run_at is not None and (not isinstance(run_at, datetime) or run_at.utcoffset() is None):
        raise BadInput(say("run_at_aware", value=shown(run_at)))
    is_number = isinstance(delay, int | float) and not isinstance(delay, bool)
    if delay is not None and not (is_number and 0 <= delay <= LONGEST_DELAY):
        raise BadInput(say("delay_range", value=shown(delay)))


def start_time(run_at: datetime | None, delay: float | None, now: datetime) -> datetime | None:
    """When a task starts, by the database's clock; None for at once."""
    start = run_at if delay is None else now + timedelta(seconds=delay)
    return start if start is not None and start > now else None


def check_items(items: Any) -> None:
    """`items` must be an iterable of items. Text or a mapping is refused: it would yield letters or names."""
    if items is not None and (isinstance(items, str | bytes | Mapping) or not hasattr(items, "__iter__")):
        raise BadInput(say("items_no_list", value=shown(items)))


def check_mapping(values: Any, name: str) -> None:
    """Options and metadata must be mappings with text keys."""
    if not isinstance(values, Mapping):
        raise BadInput(say("not_dict", name=name, value=shown(values)))


def _whole(value: Any, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadInput(say("not_whole", what=what, value=shown(value)))
    return value


def _tags(tags: Any) -> tuple[str, ...]:
    if isinstance(tags, str | bytes | Mapping) or not hasattr(tags, "__iter__"):
        raise BadInput(say("tags_no_list", value=shown(tags)))
    return tuple(check_text(tag, "A tag", least=1, most=TAG_LENGTH) for tag in tags)
