"""Calls a service with many items at a time: embeddings, classification, any bulk request.

python examples/batch_handler.py
"""

import fanfold as ff

words = ff.Pipeline("word-vectors")


def embed(texts: list[str]) -> list[list[float]]:
    """Stands for a service that takes many texts in one request."""
    return [[float(len(text)), float(text.count("a"))] for text in texts]


@words.each(batch=64, tolerate=1)
def vectors(items: list[ff.ItemWork[str, list[float]]]) -> list[list[float] | Exception]:
    """One request for up to 64 words. An empty word fails alone; the others are kept."""
    found = embed([item.input for item in items])
    for item in items:
        item.used(model="tiny-embedder", cost=0.0001)
    return [
        vector if item.input else ff.Permanent("an empty word has no vector")
        for item, vector in zip(items, found, strict=True)
    ]


@words.merge
def together(task: ff.TaskWork, results: ff.Results) -> str:
    """What came out of it."""
    return f"{sum(1 for _ in results)} vectors, {sum(1 for _ in results.missing())} missing"


if __name__ == "__main__":
    print(ff.run(words, items=["banana", "", *(f"word {number}" for number in range(98))], progress=False))
