"""Turns one function into a durable task: it is retried after an error, and its result is stored.

python examples/one_function.py
"""

import fanfold as ff


@ff.task(timeout=60, retry=ff.Retry(limit=3, first=0.1))
def count_words(task: ff.TaskWork, text: str, longest: int = 20) -> dict[str, int]:
    """How often each word occurs. The first attempt fails, as a service that is busy would."""
    if task.attempt == 1:
        raise ff.Temporary("The service is busy.")
    counts: dict[str, int] = {}
    for word in text.lower().split():
        counts[word[:longest]] = counts.get(word[:longest], 0) + 1
    task.progress(1.0, f"{len(counts)} words")
    return counts


if __name__ == "__main__":
    counts = ff.run(count_words, "the more the better", progress=False)
    print(", ".join(f"{word} {count}" for word, count in counts.items()))
