"""Writes a picture with its labels, in the wanted format, and reads the labels back."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from fanfold.apps.photo.marking.provenance import read_label

FORMATS = {"jpeg": ("JPEG", ".jpg"), "png": ("PNG", ".png"), "webp": ("WEBP", ".webp"), "avif": ("AVIF", ".avif")}
"""The formats of finished pictures, with Pillow's name and the ending."""
PNG_KEYWORD = "XML:com.adobe.xmp"
QUALITY = {"JPEG": 92, "WEBP": 90, "AVIF": 80}


def encoded(picture: Any, kind: str, packet: bytes, profile: bytes | None = None) -> bytes:
    """The bytes of a file with the XMP packet and a colour profile.

    PNG has the packet in an iTXt chunk, which Pillow's argument `xmp` does not write.
    """
    name, _ = FORMATS[kind]
    rules: dict[str, Any] = {"icc_profile": profile} if profile else {}
    if name == "PNG":
        from PIL.PngImagePlugin import PngInfo

        info = PngInfo()
        info.add_itxt(PNG_KEYWORD, packet.decode())
        rules["pnginfo"] = info
    else:
        rules |= {"xmp": packet, "quality": QUALITY[name]}
    if name == "JPEG" and picture.mode not in ("RGB", "L"):
        picture = picture.convert("RGB")
    sink = BytesIO()
    picture.save(sink, name, **rules)
    return sink.getvalue()


def label_of(content: bytes) -> tuple[str, dict[str, str]]:
    """The source type and the label of a finished picture, read from its bytes."""
    from PIL import Image

    with Image.open(BytesIO(content)) as picture:
        found = picture.info.get("xmp") or picture.info.get(PNG_KEYWORD) or b""
    return read_label(found)
