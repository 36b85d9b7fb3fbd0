"""A pipeline that declares what an application may declare, for tests of the engine, the command line and the server."""

import json

import fanfold as ff

lines = ff.Pipeline("lines", title="Lines")


@lines.each(retry=ff.Retry(limit=0))
def number(item: ff.ItemWork) -> str:
    """A line with its number; `bad` is none."""
    if item.input == "bad" and not item.options.get("mend"):
        raise ff.Permanent("no such line")
    return f"{item.seq} {item.input}"


@lines.merge(tolerate=1)
def bind(task: ff.TaskWork, results: ff.Results) -> ff.File:
    """All lines in a file."""
    return task.write("lines.txt", "\n".join(result.output for result in results) + "\n")


@lines.form("table", label="Table", media_type="text/csv", ending=".csv", partial=True)
def as_table(work: ff.FormWork) -> str:
    """Key and text, one line each."""
    return "".join(f"{result.key},{result.output}\n" for result in work.results())


@lines.form("packed", media_type="application/octet-stream", ending=".bin")
def as_bytes(work: ff.FormWork) -> object:
    """Through a file on the way."""
    path = work.scratch / "packed"
    path.write_bytes(b"\x00" + work.result.read_bytes())
    return path


@lines.form("whole", media_type="text/plain", ending=".txt")
def as_it_is(work: ff.FormWork) -> ff.File:
    """The result itself."""
    found: ff.File = work.result
    return found


@lines.form("gaps", media_type="application/json", ending=".json")
def as_gaps(work: ff.FormWork) -> str:
    """What is missing."""
    return json.dumps([gap.key for gap in work.missing()])


@lines.form("broken", media_type="text/plain")
def as_trouble(work: ff.FormWork) -> str:
    """A bug."""
    raise ZeroDivisionError("cannot divide")


@lines.form("refused", media_type="text/plain")
def as_refusal(work: ff.FormWork) -> str:
    """A reason of the application's own."""
    raise ff.Permanent("There is no table in it.")


@lines.form("odd", media_type="text/plain")
def as_number(work: ff.FormWork) -> object:
    """What no form may be."""
    return 7


@lines.action(
    "approve",
    label="Approve",
    options=[ff.Option("note", help="Why."), ff.Option("times", "number", "How often.", 1, at_least=1, at_most=9)],
    states=["completed"],
)
def approve(work: ff.ActionWork) -> str:
    """Say who approved it, and what it was."""
    return (
        f"{work.actor} approved {len(list(work.results()))} lines {work.options['times']} times: {work.options['note']}"
    )


@lines.action("mend", states=["partial"])
def mend(work: ff.ActionWork) -> None:
    """Redo what failed, through a command."""
    work.client.retry(work.task.id, options={"mend": True})


@lines.action("stumble")
def stumble(work: ff.ActionWork) -> None:
    """A bug."""
    raise ZeroDivisionError("cannot divide")


@lines.action("remove")
def remove(work: ff.ActionWork) -> str:
    """Delete the task itself."""
    work.client.delete(work.task.id)
    return "gone"
