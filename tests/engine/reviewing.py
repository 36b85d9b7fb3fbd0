"""A pipeline whose results are decided about, for tests: pages, and a merge that tells which decisions it has read."""

from collections.abc import Callable
from typing import Any, Self

import fanfold as ff
from tests.installation import HandClock, Installation

QUIET = 0.5
Read = dict[str, dict[str, Any]]


class Review:
    """A text of pages; every call is counted."""

    def __init__(self, installation: Installation, keys: Any = "abc", **rules: Any) -> None:
        self.installation = installation
        self.client = installation.client
        self.keys = keys
        self.calls: list[str] = []
        self.reads: list[Read] = []
        """What each merge has read."""
        self.while_merging: Callable[[], object] | None = None
        self.pipeline = self.made(**rules)
        installation.know(self.pipeline)
        self.task = self.client.submit(self.pipeline)

    def made(self, **rules: Any) -> ff.Pipeline:
        made = ff.Pipeline("review")
        made.split(name="cut")(self.cut)
        made.each(name="read", retry=ff.Retry(limit=0))(self.read)
        made.merge(name="bind", **rules)(self.bind)
        return made

    def cut(self, task: Any) -> Any:
        self.calls.append("cut")
        yield from (ff.NewItem(key, key) for key in self.keys)

    def read(self, item: Any) -> str:
        self.calls.append(item.key)
        return f"text {item.key}"

    def bind(self, task: Any, results: Any) -> Any:
        self.calls.append("bind")
        self.reads.append(decided(results))
        act, self.while_merging = self.while_merging, None
        if act is not None:
            act()
        return self.reads[-1]

    def merged(self) -> Read:
        found: Read = self.client.result(self.task.id)
        return found

    def state(self) -> tuple[str, str]:
        task = self.client.get(self.task.id)
        return task.state, task.stage

    def finish(self) -> Self:
        """Do all the work, and count from here."""
        self.installation.work()
        assert self.state()[0] in ("completed", "waiting"), self.client.get(self.task.id).error_message
        self.calls.clear()
        self.reads.clear()
        return self

    def decide(self, item: str, part: str = "word", verdict: str = "accept", value: Any = None, **more: Any) -> ff.Task:
        return self.client.decide(self.task.id, item, part, verdict, value, **more)

    def settle(self, clock: HandClock, seconds: float = QUIET) -> None:
        """Let the quiet time pass, and do what is due."""
        clock.advance(seconds)
        self.installation.work()


def decided(results: Any) -> Read:
    """The decisions of each result that has any, without who and when."""
    return {
        result.key: {
            part: one.value if one.verdict == "replace" else one.verdict for part, one in result.decisions.items()
        }
        for result in results
        if result.decisions
    }
