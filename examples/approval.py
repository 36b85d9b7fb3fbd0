"""Waits for a person before the step that cannot be undone.

python examples/approval.py
"""

import fanfold as ff
from fanfold.testing import Engine

letters = ff.Pipeline("letters")
sent: list[str] = []


@letters.each
def write(item: ff.ItemWork) -> str:
    """One letter."""
    return f"Dear {item.input}, the library is closed on Monday."


@letters.merge(gate=True, name="send")
def send(task: ff.TaskWork, results: ff.Results) -> int:
    """Send all letters, once somebody has read them and said so (`fanfold resume ID`, or the button on the page)."""
    sent.extend(result.output for result in results)
    return len(sent)


if __name__ == "__main__":
    with Engine() as engine:
        task = engine.submit(letters, items=["Ann", "Ben"])
        engine.run()
        print(f"{engine.task(task).state}: {len(sent)} letters sent")
        for item in engine.items(task):
            print(" ", engine.item(task, item.key).output)
        engine.client.resume(task.id)
        engine.run()
        print(f"{engine.task(task).state}: {engine.result(task)} letters sent")
