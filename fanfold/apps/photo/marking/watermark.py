"""Draws a visible watermark: a text or a picture, relative to the short side of the picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.photo.marking.fonts import font_for
from fanfold.apps.photo.sentences import say_of_photo

POSITIONS = ("bottom-right", "bottom-left", "top-right", "top-left", "center")
MARGIN_SHARE = 0.02
OUTLINE_SHARE = 0.06
LEAST_PERCENT = 5
"""Least height of a text, in percent of the short side: what GB 45438-2025 asks for."""


@dataclass(frozen=True)
class Mark:
    """How a watermark looks."""

    text: str = ""
    image: Path | None = None
    percent: int = LEAST_PERCENT
    position: str = "bottom-right"
    opacity: int = 80


def marked(picture: Any, mark: Mark) -> Any:
    """A copy of the picture with the watermark; the same picture without one."""
    from PIL import Image

    if not mark.text and mark.image is None:
        return picture
    height = max(8, round(min(picture.size) * mark.percent / 100))
    layer = _picture(mark.image, height, mark.opacity) if mark.image else _text(mark.text, height, mark.opacity)
    layer = _fitted(layer, picture.size)
    base = picture.convert("RGBA")
    cover = Image.new("RGBA", base.size)
    cover.paste(layer, _place(base.size, layer.size, mark.position))
    found = Image.alpha_composite(base, cover)
    return found if picture.mode in ("RGBA", "LA", "PA") else found.convert("RGB")


def _text(text: str, height: int, opacity: int) -> Any:
    """White letters with a dark outline, readable on any ground. The letters are at least ``height`` high."""
    from PIL import Image, ImageDraw

    font = font_for(text, height)
    _, top, _, bottom = font.getbbox(text)
    if 0 < bottom - top < height:  # The size of a font is more than the height of its letters.
        font = font_for(text, math.ceil(height * height / (bottom - top)))
    outline = max(1, round(height * OUTLINE_SHARE))
    left, top, right, bottom = font.getbbox(text, stroke_width=outline)
    layer = Image.new("RGBA", (max(1, round(right - left)), max(1, round(bottom - top))))
    alpha = round(255 * opacity / 100)
    ImageDraw.Draw(layer).text(
        (-left, -top), text, font=font, fill=(255, 255, 255, alpha), stroke_width=outline, stroke_fill=(0, 0, 0, alpha)
    )
    return layer


def _picture(path: Path, height: int, opacity: int) -> Any:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as found:
            layer = found.convert("RGBA")
    except (OSError, UnidentifiedImageError):
        raise ff.Permanent(say_of_photo("bad_mark", path=str(path)), code="bad_mark") from None
    layer = layer.resize((max(1, round(layer.width * height / layer.height)), height))
    layer.putalpha(layer.getchannel("A").point(lambda value: round(value * opacity / 100)))
    return layer


def _fitted(layer: Any, size: tuple[int, int]) -> Any:
    """Make a mark that is wider than the picture narrower."""
    most = round(size[0] * (1 - 2 * MARGIN_SHARE))
    if layer.width <= most:
        return layer
    return layer.resize((max(1, most), max(1, round(layer.height * most / layer.width))))


def _place(size: tuple[int, int], own: tuple[int, int], position: str) -> tuple[int, int]:
    margin = round(min(size) * MARGIN_SHARE)
    if position == "center":
        return (size[0] - own[0]) // 2, (size[1] - own[1]) // 2
    x = margin if position.endswith("left") else size[0] - own[0] - margin
    y = margin if position.startswith("top") else size[1] - own[1] - margin
    return max(0, x), max(0, y)
