"""Small pipelines for tests of the engine, whose handlers do what their input says."""

from collections.abc import Callable
from typing import Any

import fanfold as ff


def book(name: str = "book", *, convert: Callable[..., Any] | None = None, **rules: Any) -> ff.Pipeline:
    """Split the input's list, handle every element, and merge the outputs into a list.

    An element "bad" fails for good, "flaky" fails with an ordinary error, anything else comes out in capitals.
    """
    made = ff.Pipeline(name)

    @made.split
    def cut(task: Any) -> Any:
        for number, text in enumerate(task.options["texts"], 1):
            yield ff.NewItem(key=f"p{number}", input=text)

    made.each(**{"name": "convert", "retry": ff.Retry(limit=0), **rules})(convert or shout)

    @made.merge
    def bind(task: Any, results: Any) -> Any:
        return {"pages": [result.output for result in results], "missing": [gap.key for gap in results.missing()]}

    return made


def shout(item: Any) -> Any:
    """The input in capitals, or the failure it names."""
    wish = item.options.get("instead", item.input)
    if wish == "bad":
        raise ff.Permanent("this page is bad", code="bad_page")
    if wish == "flaky":
        raise RuntimeError("the service hiccuped")
    return str(wish).upper()


def batch(name: str = "batch", *, handler: Callable[..., Any] | None = None, **rules: Any) -> ff.Pipeline:
    """Only items, given at submit."""
    made = ff.Pipeline(name)
    made.each(**{"name": "convert", "retry": ff.Retry(limit=0), **rules})(handler or shout)
    return made


def one_step(handler: Callable[..., Any], name: str = "single", **rules: Any) -> ff.Pipeline:
    """One step and nothing else."""
    made = ff.Pipeline(name)
    made.step(**{"name": "only", "retry": ff.Retry(limit=0), **rules})(handler)
    return made
