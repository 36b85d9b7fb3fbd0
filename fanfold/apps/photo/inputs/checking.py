"""Checks an input picture by decoding it, and writes it again without its metadata.

A photograph carries the place where it was taken, the camera, sometimes a name: none of it is sent to a service.
"""

from __future__ import annotations

import struct
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
    try:
        upright = ImageOps.exif_transpose(picture)
    except (
        SyntaxError,
        ValueError,
        KeyError,
        TypeError,
        OSError,
        struct.error,
    ):
        # Broken EXIF says nothing about the picture.
        upright = picture
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
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError, struct.error) as problem:
        why = "it is no picture" if isinstance(problem, UnidentifiedImageError) else str(problem)
        raise ff.Permanent(say_of_photo("not_decoded", name=name, why=why), code="bad_picture") from None


def save_plain(picture: Any, path: Path) -> None:
    """Write a picture without EXIF, XMP, comments, text and further frames; its colour profile stays."""
    from PIL import Image

    picture, profile = on_screen(picture)
    bare = Image.new(picture.mode, picture.size)
    bare.paste(picture)
    rules: dict[str, Any] = {"quality": 95} if path.suffix in (".jpg", ".webp") else {}
    if profile:
        rules["icc_profile"] = profile
    if path.suffix == ".jpg" and bare.mode not in ("RGB", "L"):
        bare = bare.convert("RGB")
    bare.save(path, **rules)


def on_screen(picture: Any) -> tuple[Any, bytes | None]:
    """A picture in colours that every service and browser knows, and the colour profile that belongs to it.

    Pictures for print (CMYK) become RGB, by their own profile if they have one. A palette becomes the colours that it names,
    with what is transparent in it.
    """
    profile = picture.info.get("icc_profile") or None
    if picture.mode in ("P", "PA"):
        return picture.convert("RGBA" if picture.has_transparency_data else "RGB"), profile
    if picture.mode not in ("CMYK", "YCbCr", "LAB", "HSV"):
        return picture, profile
    if profile is not None and (converted := _by_profile(picture, profile)) is not None:
        return converted, None
    return picture.convert("RGB"), None


def _by_profile(picture: Any, profile: bytes) -> Any:
    """The picture in sRGB; None if its profile cannot be used."""
    from PIL import ImageCms

    try:
        return ImageCms.profileToProfile(picture, BytesIO(profile), ImageCms.createProfile("sRGB"), outputMode="RGB")
    except (ImageCms.PyCMSError, OSError):
        return None
