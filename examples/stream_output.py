"""Streams what handlers make while they run, in the order of the items, even if later ones are faster.

python examples/stream_output.py
"""

import threading

import fanfold as ff

story = ff.Pipeline("story")


@story.each(concurrency=2)
def tell(item: ff.ItemWork) -> int:
    """One sentence, word by word."""
    words = item.input.split()
    for word in words:
        item.emit(word)
    return len(words)


if __name__ == "__main__":
    with ff.Client(pipelines=[story]) as client:
        task = client.submit(story, items=["Once upon a time", "there was a worker."])
        worker = ff.Worker([story], store=client.store)
        thread = threading.Thread(target=worker.run, kwargs={"drain": True})
        thread.start()
        for _key, word in client.stream(task.id, follow=True):
            print(word, end=" ", flush=True)
        thread.join()
        print(f"({sum(client.result(task.id))} words)")
