"""Which tasks are wanted? The filter of the list: said in the address, so that every view can be shared."""

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
"""The group of what a person should look at: gates, pauses, gaps, items that wait for somebody, fallbacks."""
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
    TaskOrder.UPDATED: "last changed first",
}
USUAL = {("show", "all"), ("sort", TaskOrder.NEWEST)}
"""What an address need not say."""
Said = Annotated[str, Query(max_length=500)]


@dataclass(frozen=True)
class ListFilter:
    """What the list is filtered by; an empty word filters nothing."""

    show: str = "all"
    pipeline: str = ""
    owner: str = ""
    tag: str = ""
    text: str = ""
    sort: str = TaskOrder.NEWEST

    @property
    def narrowed(self) -> bool:
        """Whether more than the state is filtered by."""
        return bool(self.pipeline or self.owner or self.tag or self.text)

    @property
    def anything(self) -> bool:
        """Whether anything is filtered by."""
        return self.narrowed or self.show != "all"

    @property
    def fields(self) -> dict[str, str]:
        """What is filtered by, by name, for an address or the hidden fields of a form."""
        return {name: value for name, value in asdict(self).items() if value and (name, value) not in USUAL}

    def query(self, **others: str) -> str:
        """The filter as the query of an address; ``others`` lie over it."""
        said = self.fields | others
        return urlencode({name: value for name, value in said.items() if value and (name, value) not in USUAL})

    def address(self, **others: str) -> str:
        """The page of the list with this filter; ``others`` lie over it."""
        query = self.query(**others)
        return f"/?{query}" if query else "/"

    def asking(self) -> dict[str, Any]:
        """What a client is asked for."""
        named = {name: value for name, value in asdict(self).items() if name != "show" and value}
        if self.show == NEEDS:
            return {"needs_you": True, **named}
        return {"states": GROUPS[self.show], **named}

    def counted(self, counts: Mapping[str, int], show: str) -> int:
        """How many tasks a group has; what needs a person is not told by the state alone, and counted by itself."""
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
    """The filter that an address says; a group that does not exist shows all, an order that does not exist the newest."""
    return known(ListFilter(show, pipeline, owner, tag, text.strip(), sort))


def known(wanted: ListFilter) -> ListFilter:
    """The filter, with a group and an order that exist and nothing that no database can compare."""
    clean = {name: value.replace("\0", "") for name, value in asdict(wanted).items()}
    usual = {"show": clean["show"] if clean["show"] in GROUPS else "all"}
    usual["sort"] = clean["sort"] if clean["sort"] in [*TaskOrder] else TaskOrder.NEWEST
    return replace(wanted, **(clean | usual))


Filtered = Annotated[ListFilter, Depends(wanted_of)]
