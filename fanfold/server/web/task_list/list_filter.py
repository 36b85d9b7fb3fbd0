"""The filter of the task list, kept in the URL so that every view can be shared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Depends, Query

from fanfold.model.lifecycle import TaskState
from fanfold.model.task import TaskOrder

GROUPS: dict[str, tuple[TaskState, ...]] = {
    "all": (),
    "active": (TaskState.ACTIVE,),
    "needs": (),
    "done": (TaskState.COMPLETED,),
    "failed": (TaskState.FAILED,),
    "cancelled": (TaskState.CANCELLED,),
}
NEEDS = "needs"
"""The group of tasks that need a person: gates, pauses, missing items, held items, degraded items."""
LABELS = {
    "all": "All",
    "active": "Active",
    "needs": "Needs you",
    "done": "Done",
    "failed": "Failed",
    "cancelled": "Cancelled",
}
ORDERS = {
    TaskOrder.NEWEST: "newest first",
    TaskOrder.OLDEST: "oldest first",
    TaskOrder.UPDATED: "recently changed first",
}
USUAL = {("show", "all"), ("sort", TaskOrder.NEWEST)}
"""Defaults that a URL omits."""
Said = Annotated[str, Query(max_length=500)]


@dataclass(frozen=True)
class ListFilter:
    """The filter of the list; an empty field filters nothing."""

    show: str = "all"
    pipeline: str = ""
    owner: str = ""
    tag: str = ""
    text: str = ""
    sort: str = TaskOrder.NEWEST

    @property
    def narrowed(self) -> bool:
        """Whether it filters by more than the state."""
        return bool(self.pipeline or self.owner or self.tag or self.text)

    @property
    def anything(self) -> bool:
        """Whether it filters at all."""
        return self.narrowed or self.show != "all"

    @property
    def fields(self) -> dict[str, str]:
        """The active filters by name, for a URL or the hidden fields of a form."""
        return {name: value for name, value in asdict(self).items() if value and (name, value) not in USUAL}

    def query(self, **others: str) -> str:
        """The filter as a URL query; ``others`` override it."""
        said = self.fields | others
        return urlencode({name: value for name, value in said.items() if value and (name, value) not in USUAL})

    def address(self, **others: str) -> str:
        """URL of the list with this filter; ``others`` override it."""
        query = self.query(**others)
        return f"/?{query}" if query else "/"

    def asking(self) -> dict[str, Any]:
        """The filter as arguments for the client."""
        named = {name: value for name, value in asdict(self).items() if name != "show" and value}
        if self.show == NEEDS:
            return {"needs_you": True, **named}
        return {"states": GROUPS[self.show], **named}

    def counted(self, counts: Mapping[str, int], show: str) -> int:
        """Number of tasks in a group; tasks that need a person are counted separately, because the state alone does not tell."""
        states = GROUPS[show] or tuple(TaskState)
        return counts.get(NEEDS, 0) if show == NEEDS else sum(counts.get(state, 0) for state in states)


def wanted_of(
    show: Said = "all",
    pipeline: Said = "",
    owner: Said = "",
    tag: Said = "",
    text: Said = "",
    sort: Said = TaskOrder.NEWEST,
) -> ListFilter:
    """The filter of a URL; an unknown group means all, an unknown order means newest first."""
    return known(ListFilter(show, pipeline, owner, tag, text.strip(), sort))


def known(wanted: ListFilter) -> ListFilter:
    """The filter with a valid group and order, and without text that databases cannot compare."""
    clean = {name: value.replace("\0", "") for name, value in asdict(wanted).items()}
    usual = {"show": clean["show"] if clean["show"] in GROUPS else "all"}
    usual["sort"] = clean["sort"] if clean["sort"] in [*TaskOrder] else TaskOrder.NEWEST
    return replace(wanted, **(clean | usual))


Filtered = Annotated[ListFilter, Depends(wanted_of)]
