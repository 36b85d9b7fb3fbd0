"""A pipeline as a user writes it: chapters are translated by a model and bound again."""

from __future__ import annotations

from collections.abc import Iterator

import fanfold as ff

book = ff.Pipeline("translation")


@book.split
def chapters(task: ff.TaskWork) -> Iterator[ff.NewItem]:
    """One item per chapter."""
    for number, text in enumerate(task.input.read_text().split("\f"), 1):
        yield ff.NewItem(key=f"{number:03}", input={"text": text})


@book.each(timeout=300, retry=ff.Retry(limit=2, first=5))
async def translate(item: ff.ItemWork) -> str:
    """One chapter."""
    answer = await item.ask(f"Translate: {item.input['text']}")
    return answer.text


@book.merge
def bind(task: ff.TaskWork, results: ff.Results) -> str:
    """All chapters in order."""
    return "\n".join(result.output for result in results)


NOVEL = ff.Upload("novel.txt", b"eins\fzwei\fdrei")
