"""Handlers that look which trace they run in: in the event loop, in a thread, in a child process, and in an errand."""

from opentelemetry import trace

import fanfold as ff

traced = ff.Pipeline("traced")


def current_trace() -> str:
    """The trace and the span that are current here."""
    found = trace.get_current_span().get_span_context()
    return f"{found.trace_id:032x}-{found.span_id:016x}"


@traced.split
def cut(task: ff.TaskWork) -> list[str]:
    """One item for each place."""
    return ["here"]


@traced.each
async def loop(item: ff.ItemWork) -> list[str]:
    """In the event loop; and a plain function in a child."""
    return [current_trace(), await item.in_child(current_trace)]


@traced.each
def thread(item: ff.ItemWork) -> str:
    """In a thread."""
    item.used(model="mine", input_tokens=7, cost=0.5)
    return current_trace()


@traced.each(isolate=True)
def child(item: ff.ItemWork) -> str:
    """In a child process."""
    return current_trace()


@traced.merge
def gather(task: ff.TaskWork, results: ff.Results) -> None:
    """Nothing is made of it."""
