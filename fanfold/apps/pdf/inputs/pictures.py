"""Writes a picture as a PDF, one page per frame, so that everything after it is the same as for a scan."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import fanfold as ff
from fanfold.apps.pdf.sentences import say_of_pdf

if TYPE_CHECKING:
    from PIL import Image

MOST_PIXELS = 200_000_000
"""Pixels of one frame; a larger one would fill the memory."""
_USUAL_DPI = 150.0
_SANE_DPI = (50.0, 1200.0)


def as_pdf(path: Path, target: Path, *, name: str, limit_pages: int) -> int:
    """Write the frames of a picture as the pages of ``target``; returns how many there are."""
    from PIL import Image, ImageSequence, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # Checked below, with a message of our own.
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of damaged metadata, which does not matter here.
            with Image.open(path) as picture:
                _check(picture, name, limit_pages)
                frames = (_flat(frame) for frame in ImageSequence.Iterator(picture))
                resolution = _resolution(picture)
                first = next(frames)
                first.save(target, "PDF", save_all=True, append_images=frames, resolution=resolution, quality=92)
                return int(getattr(picture, "n_frames", 1))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError) as error:
        raise ff.Permanent(say_of_pdf("picture_damaged", file=name), code="broken_picture") from error


def _check(picture: Image.Image, name: str, limit_pages: int) -> None:
    frames = int(getattr(picture, "n_frames", 1))
    if frames > limit_pages:
        raise ff.Permanent(
            say_of_pdf("too_many_pages", file=name, pages=frames, limit=limit_pages), code="too_many_pages"
        )
    if picture.width * picture.height > MOST_PIXELS:
        megapixels = picture.width * picture.height // 1_000_000
        raise ff.Permanent(
            say_of_pdf("picture_too_large", file=name, megapixels=megapixels, limit=MOST_PIXELS // 1_000_000),
            code="too_large",
        )


def _flat(frame: Image.Image) -> Image.Image:
    """A frame the right way up, on white paper."""
    from PIL import Image, ImageOps

    if frame.width * frame.height > MOST_PIXELS:
        raise ValueError("a frame is too large")
    turned = ImageOps.exif_transpose(frame)
    if turned.mode in ("1", "L", "RGB"):
        return turned.convert("L") if turned.mode == "1" else turned.copy()
    clear = turned.convert("RGBA")
    paper = Image.new("RGB", clear.size, "white")
    paper.paste(clear, mask=clear.getchannel("A"))
    return paper


def _resolution(picture: Image.Image) -> float:
    found = picture.info.get("dpi", (_USUAL_DPI,))[0]
    least, most = _SANE_DPI
    return float(found) if found and least <= float(found) <= most else _USUAL_DPI
