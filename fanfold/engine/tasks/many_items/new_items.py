"""Holds new items between the code that yields them and the transactions that write them.

User code never runs inside a transaction, so all items are collected first: a few stay in memory, many go to a file.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.item import NewItem, position_of
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.store.files.private import opener, private_folder
from fanfold.store.items.large.drafts import CHUNK

KEY_LENGTH = 200
CHUNK_CHARACTERS = 4_000_000
"""Most characters written in one transaction, unless a single item has more."""
Row = tuple[str | None, str | None]
Fold = Callable[[str, str], str]
Check = Callable[[str, Callable[[], str]], None]
"""Raises BadInput for an input that the handler could not read; gets its text, and what to call it."""


class NewItems:
    """New items in order, as (key, input) pairs; on disk, one JSON line each, if they do not fit into one chunk."""

    def __init__(self, path: Path, generation: int = 0) -> None:
        self.path = path
        self.count = 0
        self.token: str | None = None
        """Token of the draft that already has all of these items in the database, if any."""
        self.cleared = False
        """Whether the items that these replace are already removed."""
        self.begun = False
        """Whether any replaced item ever ran, which means that the gate of their stage (if any) was passed."""
        self.generation = generation
        """How often a person had the split redone that yielded these items."""
        self.digest: str | None = None
        """A digest that is equal for equal items; set only if ``fill`` was asked to compute it."""
        self._rows: list[Row] | None = []
        self._characters = 0
        self._unkeyed = self._numeric = 0

    @property
    def fits_one_chunk(self) -> bool:
        """Whether one short transaction can write all of them."""
        return self._rows is not None

    def fill(
        self,
        values: Iterable[Any],
        fold: Fold,
        limit: int,
        *,
        digest: bool = False,
        check: Check | None = None,
    ) -> NewItems:
        """Take all items from ``values``, with constant memory. ``fold`` puts large inputs into blobs."""
        made = hashlib.sha256() if digest else None
        sink = None
        try:
            for value in values:
                key, text = self._checked(value, limit, check)
                if made is not None:
                    made.update(_described(key, text))
                row = (key, text if text is None else fold(f"input-{self.count}.json", text))
                if sink is None and not self._keep(row):
                    sink = self._open()
                if sink is not None:
                    sink.write(_line(*row))
        finally:
            if sink is not None:
                sink.close()
        self.digest = None if made is None else made.hexdigest()
        self._check_positions()
        return self

    def _checked(self, value: Any, limit: int | None, check: Check | None = None) -> Row:
        item = value if isinstance(value, NewItem) else NewItem(input=value)
        self.count += 1
        key = check_key(item.key, self.count)
        if key is None:
            self._unkeyed += 1
        elif position_of(key) is not None:
            self._numeric += 1
        if item.input is None:
            return key, None
        text = serial.dump(item.input, lambda: say("input_of_item", item=key or self.count), limit)
        if check is not None:
            check(text, lambda: say("input_of_item", item=key or self.count))
        return key, text

    def _keep(self, row: Row) -> bool:
        """Keep one more in memory; False if it no longer fits."""
        self._characters += len(row[1] or "")
        if self._rows is None or self.count > CHUNK or (self._characters > CHUNK_CHARACTERS and self.count > 1):
            return False
        self._rows.append(row)
        return True

    def _open(self) -> Any:
        """Move the items in memory to a file, to which the rest is appended."""
        private_folder(self.path.parent)
        sink = open(self.path, "w", encoding="utf-8", opener=opener)  # noqa: SIM115 (closed by ``fill``)
        sink.writelines(_line(*row) for row in self._rows or ())
        self._rows = None
        return sink

    def _check_positions(self) -> None:
        """Refuse a key that equals the position of an item without a key, which serves as that item's key."""
        if not self._unkeyed or not self._numeric:
            return
        unkeyed = bytearray(self.count + 1)
        for position, (key, _) in enumerate(self, 1):
            unkeyed[position] = key is None
        for position, (key, _) in enumerate(self, 1):
            named = None if key is None else position_of(key)
            if named is not None and named <= self.count and unkeyed[named]:
                raise BadInput(
                    say("key_like_position", number=position, key=key),
                    code="duplicate_key",
                )

    def __iter__(self) -> Iterator[Row]:
        if self._rows is not None:
            yield from self._rows
            return
        with self.path.open(encoding="utf-8") as source:
            for line in source:
                key, text = json.loads(line)
                yield key, text

    def chunks(self) -> Iterator[tuple[int, list[Row]]]:
        """(number of rows before, next rows) for each short transaction."""
        rows: list[Row] = []
        before = characters = 0
        for row in self:
            characters += len(row[1] or "")
            if rows and (len(rows) == CHUNK or characters > CHUNK_CHARACTERS):
                yield before, rows
                before, rows, characters = before + len(rows), [], len(row[1] or "")
            rows.append(row)
        if rows:
            yield before, rows

    def first_duplicate(self) -> str | None:
        """The first key that occurs twice."""
        seen: Counter[str] = Counter()
        for key, _ in self:
            if key is not None:
                seen[key] += 1
                if seen[key] > 1:
                    return key
        return None

    def remove(self) -> None:
        """Delete the file."""
        if self._rows is None:
            self.path.unlink(missing_ok=True)


def _described(key: str | None, text: str | None) -> bytes:
    """An item for comparison: the order of names in its input does not matter."""
    if text is not None and "{" in text:
        text = json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)
    return _line(key, text).encode()


def digest_of(values: Iterable[Any]) -> str:
    """The digest of these items; nothing is stored."""
    new_items, made = NewItems(Path()), hashlib.sha256()
    for value in values:
        made.update(_described(*new_items._checked(value, None)))
    return made.hexdigest()


def check_key(key: Any, number: int) -> str | None:
    """A valid key: text of 1 to 200 characters."""
    if key is None:
        return None
    text = str(key)
    if not 0 < len(text) <= KEY_LENGTH or "\0" in text:
        raise BadInput(
            say("key_length", number=number, most=KEY_LENGTH, length=len(text)),
            code="bad_key",
        )
    if not text.isascii():
        serial.dump(text, f"The key of item {number}")
    return text


def _line(key: str | None, text: str | None) -> str:
    return f"[{_quoted(key)}, {_quoted(text)}]\n"


def _quoted(text: str | None) -> str:
    """As JSON; the encoder for any value would take four times as long."""
    return "null" if text is None else encode_basestring_ascii(text)
