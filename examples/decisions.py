"""Lets a person reject or replace individual changes; the result is rebuilt from the decisions without redoing any work.

python examples/decisions.py
"""

from typing import Any

import fanfold as ff
from fanfold.testing import Engine

proofread = ff.Pipeline("proofread-lines")
TYPING_ERRORS = {"teh": "the", "colour": "color"}


@proofread.each
def correct(item: ff.ItemWork) -> dict[str, Any]:
    """The text of an item with the changes that are proposed, each known by a key made from its content."""
    found = [(before, after) for before, after in TYPING_ERRORS.items() if before in item.input]
    changes = [{"before": before, "after": after, "key": ff.part_key(before, after)} for before, after in found]
    return {"text": item.input, "changes": changes}


@proofread.merge(quiet_seconds=1)
def bind(task: ff.TaskWork, results: ff.Results) -> str:
    """All texts, with the changes that nobody has rejected."""
    texts = []
    for result in results:
        text = result.output["text"]
        for change in result.output["changes"]:
            decision = result.decisions.get(change["key"])
            if decision is None or decision.verdict != "reject":
                replaced = decision is not None and decision.verdict == "replace"
                text = text.replace(change["before"], decision.value if decision and replaced else change["after"])
        texts.append(text)
    return " / ".join(texts)


if __name__ == "__main__":
    with Engine() as engine:
        task = engine.submit(proofread, items=["teh house", "a colour"])
        engine.run()
        print(engine.result(task))
        engine.client.decide(task.id, "1", ff.part_key("teh", "the"), "replace", "this")
        engine.client.decide(task.id, "2", ff.part_key("colour", "color"), "reject")
        engine.run()
        print(engine.result(task))
