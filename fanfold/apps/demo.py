"""A demonstration pipeline: splits a text into pages, converts each one and binds them together again.

    fanfold run demo

It needs no input, no key and no server. The conversion is simulated: it takes half a second per page, and every ninth
page fails on the first attempt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import fanfold as ff

demo = ff.Pipeline("demo", title="A demonstration")


@demo.split
def pages(task: ff.TaskWork) -> Iterator[ff.NewItem]:
    """One item per page of a generated text; `--option pages=400` makes it longer."""
    for number in range(1, task.options.get("pages", 40) + 1):
        yield ff.NewItem(key=f"{number:03}", input={"text": f"this is page {number}. it was written in small letters."})


@demo.each(retry=ff.Retry(limit=3, first=0.2))
async def convert(item: ff.ItemWork) -> str:
    """Convert one page of text to Markdown."""
    await asyncio.sleep(item.options.get("seconds", 0.5))
    if item.attempt == 1 and item.seq % 9 == 0:
        raise ff.Temporary("The service is busy.")
    sentences = (sentence.capitalize() for sentence in item.input["text"].split(". "))
    return f"## Page {item.seq}\n\n{'. '.join(sentences)}"


@demo.merge
def bind(task: ff.TaskWork, results: ff.Results) -> ff.File:
    """Join all pages, in order, into one file."""
    return task.write("demo.md", "\n\n".join(["# A demonstration", *(result.output for result in results)]) + "\n")
