"""Checks an input picture by decoding it, and writes it again without its metadata.

A photograph carries the place where it was taken, the camera, sometimes a name: none of it is sent to a service.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.photo.sentences import say_of_photo

FORMATS = {"JPEG": ".jpg", "MPO": ".jpg", "PNG": ".png", "WEBP": ".webp"}
"""Formats that are taken, and how each is sent on."""
MADE = ("JPEG", "PNG", "WEBP", "AVIF", "GIF")
"""Formats in which services deliver pictures."""


@dataclass(frozen=True)
class Checked:
    """A picture that was decoded."""

    path: Path
    width: int
    height: int


def checked(name: str, content: bytes, target: Path, pixels: int) -> Checked:
    """Decode an input picture and write it to ``target`` (without an ending) upright, and without metadata."""
    from PIL import ImageOps

    picture = decoded(name, content, pixels, tuple(FORMATS))
    kind = str(picture.format)
    upright = ImageOps.exif_transpose(picture)
    path = target.with_suffix(FORMATS[kind])
    save_plain(upright, path)
    return Checked(path, *upright.size)


def decoded(name: str, content: bytes, pixels: int, formats: tuple[str, ...] = MADE) -> Any:
    """The picture, completely decoded; ff.Permanent if it is none, too large, or cut off."""
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            picture = Image.open(BytesIO(content))
            if picture.width * picture.height > pixels:
                raise ff.Permanent(
                    say_of_photo("too_many_pixels", name=name, width=picture.width, height=picture.height, most=pixels),
                    code="too_many_pixels",
                )
            if picture.format not in formats:
                said = say_of_photo("bad_format", name=name, format=picture.format, known=list(formats))
                raise ff.Permanent(said, code="bad_format")
            picture.load()
            return picture
    except Image.DecompressionBombError:
        raise ff.Permanent(say_of_photo("bomb", name=name), code="too_many_pixels") from None
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError) as problem:
        why = "it is no picture" if isinstance(problem, UnidentifiedImageError) else str(problem)
        raise ff.Permanent(say_of_photo("not_decoded", name=name, why=why), code="bad_picture") from None


def save_plain(picture: Any, path: Path) -> None:
    """Write a picture without EXIF, XMP, comments and text; its colour profile stays."""
    from PIL import Image

    bare = Image.new(picture.mode, picture.size)
    bare.paste(picture)
    if picture.mode == "P" and picture.palette is not None:
        bare.putpalette(picture.palette)
    rules: dict[str, Any] = {"quality": 95} if path.suffix in (".jpg", ".webp") else {}
    if profile := picture.info.get("icc_profile"):
        rules["icc_profile"] = profile
    if path.suffix == ".jpg" and bare.mode not in ("RGB", "L", "CMYK"):
        bare = bare.convert("RGB")
    bare.save(path, **rules)
