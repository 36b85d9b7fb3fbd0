"""The pipeline, and what it declares for people: options, words, sentences, a view, a form and an action."""

from __future__ import annotations

from collections.abc import Iterator

import fanfold as ff

OPTIONS = (
    ff.Option("shortest", "number", "Words with fewer letters are not counted.", 1, at_least=1, at_most=50),
    ff.Option("skip_empty", "flag", "Whether empty lines are left out.", False),
)
say = ff.Catalogue(
    "counting",
    {"recounted": "{count} {count:line is|lines are} counted again"},
    {"zh": {"recounted": "{count} 行将重新统计"}},
)
counting = ff.Pipeline(
    "counting",
    title="Count words",
    options=OPTIONS,
    accepts=(".txt",),
    unit=("line", "lines"),
    view="text",
    words=ff.Vocabulary(
        task={"processing": "counting", "completed": "counted"},
        item={"running": "counting", "done": "counted"},
        languages={"zh": {"Count words": "统计词数", "counting": "统计中", "counted": "已统计"}},
        sentences=say,
    ),
)


@counting.split(phase="read")
def lines(task: ff.TaskWork) -> Iterator[ff.NewItem]:
    """One item per line."""
    for line in task.input.read_text().splitlines():
        if line.strip() or not task.options.get("skip_empty", False):
            yield ff.NewItem(input=line)


@counting.each(phase="count")
def count(item: ff.ItemWork) -> dict[str, object]:
    """The words of one line, in the shape of the view `text`."""
    shortest = item.options.get("shortest", 1)
    words = [word for word in item.input.split() if len(word) >= shortest]
    return {"text": f"{len(words)} words: {' '.join(words)}", "words": len(words)}


@counting.merge(phase="add up")
def total(task: ff.TaskWork, results: ff.Results) -> dict[str, int]:
    """All lines together."""
    counts = [result.output["words"] for result in results]
    return {"lines": len(counts), "words": sum(counts)}


@counting.form("csv", label="Table", media_type="text/csv")
def as_table(work: ff.FormWork) -> str:
    """Each line with its number of words."""
    rows = (f"{result.seq},{result.output['words']}\n" for result in work.results())
    return "line,words\n" + "".join(rows)


@counting.action(
    "recount",
    label="Count again",
    help="Counts every line again with another shortest word.",
    options=[ff.Option("shortest", "number", "Words with fewer letters are not counted.", 1, at_least=1, at_most=50)],
    states=["completed"],
)
def recount(work: ff.ActionWork) -> str:
    """Redo all lines with another option; the workers do it, and the total is added up again."""
    keys = [result.key for result in work.results()]
    work.client.retry(work.task.id, keys, options={"shortest": work.options["shortest"]})
    return say("recounted", count=len(keys))
