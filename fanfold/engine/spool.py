"""Where do a million new items wait? In a file, until they all go into the database in one transaction."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fanfold.engine.submit import check_key
from fanfold.model import serial
from fanfold.model.item import NewItem


class Spool:
    """New items on disk, one JSON line each, in order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0

    def fill(self, values: Iterable[Any], fold: Any, limit: int) -> Spool:
        """Write what a split yields; memory stays flat however many there are."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("w", encoding="utf-8") as sink:
            for value in values:
                item = value if isinstance(value, NewItem) else NewItem(input=value)
                self.count += 1
                key = check_key(item.key, self.count)
                text = (
                    None
                    if item.input is None
                    else serial.dump(item.input, f"The input of item {key or self.count}", limit)
                )
                sink.write(json.dumps([key, text if text is None else fold(f"input-{self.count}.json", text)]) + "\n")
        return self

    def __iter__(self) -> Iterator[tuple[str | None, str | None]]:
        with self.path.open(encoding="utf-8") as source:
            for line in source:
                key, text = json.loads(line)
                yield key, text

    def first_duplicate(self) -> str | None:
        """The first key that stands there twice."""
        seen: Counter[str] = Counter()
        for key, _ in self:
            if key is not None:
                seen[key] += 1
                if seen[key] > 1:
                    return key
        return None

    def remove(self) -> None:
        """Forget it."""
        self.path.unlink(missing_ok=True)
