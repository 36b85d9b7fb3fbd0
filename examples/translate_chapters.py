"""Translates a text chapter by chapter with a model, and joins the chapters into one file.

python examples/translate_chapters.py
"""

from collections.abc import Iterator

import fanfold as ff
from fanfold.testing import Engine, Request

book = ff.Pipeline("translate-chapters", title="Translate a text")


@book.split
def chapters(task: ff.TaskWork) -> Iterator[ff.NewItem]:
    """One item per chapter; a form feed ends a chapter."""
    for number, text in enumerate(task.input.read_text().split("\f"), 1):
        yield ff.NewItem(key=f"{number:03}", input=text)


@book.each(concurrency=8, timeout=120, retry=ff.Retry(limit=3))
async def translate(item: ff.ItemWork) -> str:
    """One chapter. The answer is kept: a crash or a second run does not pay for it again."""
    answer = await item.ask(f"Translate into English:\n{item.input}")
    return answer.text


@book.merge
def bind(task: ff.TaskWork, results: ff.Results) -> ff.File:
    """All chapters in order, as one file."""
    return task.write("book.md", "\n\n".join(result.output for result in results))


def translated(request: Request) -> str:
    """What the model says here: its answers are scripted, so that the example needs no key."""
    words = {"eins": "one", "zwei": "two", "drei": "three"}
    return f"Chapter {words[request.prompt.split()[-1]]}."


if __name__ == "__main__":
    with Engine() as engine:  # With a key in the environment: ff.run(book, "novel.txt")
        engine.answer(translated)
        task = engine.submit(book, ff.Upload("novel.txt", b"Kapitel eins\fKapitel zwei\fKapitel drei"))
        engine.run()
        print(engine.result(task).read_text())
        print(f"{len(engine.calls(task))} calls, ${engine.cost(task):.2f}")
