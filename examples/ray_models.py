"""A stage on a Ray cluster: each process loads its model once, and keeps it between items.

With FANFOLD_DATABASE set on every node of the cluster:

    fanfold dispatch --carrier ray --address auto examples.ray_models:describe
    fanfold submit examples.ray_models:describe cat.png dog.png bird.png
"""

import functools
import os

import fanfold as ff

describe = ff.Pipeline("describe", unit=("picture", "pictures"))


@functools.cache
def model() -> dict[str, int]:
    """Load the model; here it only knows which process has loaded it."""
    return {"loaded_by": os.getpid()}


@describe.each(resources={"CPU": 1})  # With a real model: {"GPU": 0.5}, so that two processes share a GPU.
def look(item: ff.ItemWork) -> dict[str, object]:
    """Describe one picture with the loaded model."""
    return {"picture": item.input, "model": model()["loaded_by"], "process": os.getpid()}
