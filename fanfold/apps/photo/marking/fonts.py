"""Finds a font that has all characters of a text. The usual font has none of Chinese, Japanese or Korean."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.photo.sentences import say_of_photo

FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts", "/Library/Fonts",
           "/System/Library/Fonts", "C:/Windows/Fonts")  # fmt: skip
ENDINGS = (".ttf", ".otf", ".ttc", ".otc")
PREFERRED = ("noto", "source", "wqy", "droid", "dejavu", "liberation", "pingfang", "msyh")
UNUSUAL = ("serif", "mono", "math", "condensed", "light", "emoji", "symbol")
VARIABLE = "FANFOLD_PHOTO_FONT"


def font_for(text: str, size: int) -> Any:
    """A font of a size that has every character of the text; ff.Permanent names a way to get one."""
    from PIL import ImageFont

    path = _path_for(frozenset(one for one in text if not one.isspace()), os.environ.get(VARIABLE, ""))
    if path is None:
        raise ff.Permanent(say_of_photo("no_font", text=text[:40], variable=VARIABLE), code="no_font")
    return ImageFont.truetype(path, size)


@lru_cache(maxsize=64)
def _path_for(characters: frozenset[str], named: str) -> str | None:
    for path in _candidates(named):
        if _has(path, characters):
            return path
    return None


def _candidates(named: str) -> Iterator[str]:
    if named:
        yield named
        return
    found = [
        path
        for folder in FOLDERS
        for path in sorted(Path(folder).expanduser().rglob("*"))
        if path.suffix.lower() in ENDINGS and "bold" not in path.name.lower() and "italic" not in path.name.lower()
    ]
    yield from (str(path) for path in sorted(found, key=_rank))


def _rank(path: Path) -> tuple[bool, int, int, str]:
    """Plain sans-serif fonts first, well-known ones before others, and short names: those are the regular ones."""
    name = path.name.lower()
    known = next((place for place, word in enumerate(PREFERRED) if name.startswith(word)), len(PREFERRED))
    return any(word in name for word in UNUSUAL), known, len(name), name


def _has(path: str, characters: frozenset[str]) -> bool:
    """Whether a font draws each character differently from one that no font has."""
    from PIL import ImageFont

    try:
        font = ImageFont.truetype(path, 24)
        missing = _drawn(font, "\U0010fffd")
        return all(_drawn(font, one) != missing for one in characters)
    except OSError:
        return False


def _drawn(font: Any, character: str) -> tuple[Any, bytes]:
    mask = font.getmask(character)
    return mask.size, bytes(mask)
