"""Asks a small model first, and a large one only if the small one's answer is rejected; such results are marked.

python examples/fallback_models.py
"""

import json

import fanfold as ff
from fanfold.testing import Engine, rejected

extract = ff.Pipeline("extract-prices")


def as_json(text: str) -> str:
    """Returns the answer if it is JSON with a price; otherwise it is rejected (but still paid for)."""
    try:
        json.loads(text)["price"]
    except (ValueError, KeyError, TypeError):
        raise ff.BadAnswer("The answer has no price.") from None
    return text


@extract.each(retry=ff.Retry(limit=2))
async def price(item: ff.ItemWork) -> float:
    """The price in one offer."""
    question = f'Answer with {{"price": number}}. Offer: {item.input}'
    answer = await item.ask(question, model="openai:small", fallback=["anthropic:large"], check=as_json)
    return float(json.loads(answer.text)["price"])


if __name__ == "__main__":
    with Engine() as engine:  # Scripted, so that it needs no keys. In production: ff.run(extract, items=[…])
        engine.answers('{"price": 12.5}', "It costs 20 dollars.", "About 20.", rejected(), model="small")
        engine.answer('{"price": 20}', model="large")
        task = engine.submit(extract, items=["12.50 for one", "twenty dollars", "20 each"])
        engine.run()
        print("prices", engine.result(task))
        for item in engine.items(task):
            print(f"  {item.key}: {item.model}{', degraded' if item.degraded else ''}")
        print(f"{len(engine.requests)} questions, ${engine.cost(task):.2f}")
