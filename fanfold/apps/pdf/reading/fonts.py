"""Gives pdfium a font for Chinese, Japanese and Korean if the document embeds none and the machine has none.

pdfium measures characters by the glyphs of their font. Without a font they have no width, and pdfium drops them from the
text of the page. A font with an empty frame for every character is enough to measure them.
"""

from __future__ import annotations

import ctypes
import struct
from functools import cache
from typing import Any

# Windows character sets by which pdfium requests a font: Shift JIS, Hangul, GB 2312 and Big 5.
_CJK_CHARSETS = frozenset((128, 129, 134, 136))
_FRAME_FONT = 0xF0
"""Handle of the frame font in calls from pdfium: any number but 0."""
_EM, _ASCENT, _DESCENT = 1000, 880, -120
_EPOCH = bytes(8)

Table = tuple[bytes, bytes]


@cache
def install() -> None:
    """Intercept pdfium's font requests, once per process."""
    import pypdfium2.raw as raw

    machine = raw.FPDF_GetDefaultSystemFontInfo()
    if not machine:
        return
    info = _info(raw, machine.contents, machine)
    # pdfium keeps the pointer for the life of the process.
    _kept.extend((info, machine))
    raw.FPDF_SetSystemFontInfo(ctypes.byref(info))


_kept: list[Any] = []


def _info(raw: Any, theirs: Any, machine: Any) -> Any:
    """Callbacks for pdfium's font requests: the machine's own, with the frame font for CJK if it has none."""
    info = raw.FPDF_SYSFONTINFO()
    types = dict(raw.FPDF_SYSFONTINFO._fields_)
    font = frame_font()

    def map_font(_: Any, weight: int, italic: int, charset: int, pitch: int, face: Any, exact: Any) -> Any:
        found = theirs.MapFont(machine, weight, italic, charset, pitch, face, exact) if theirs.MapFont else None
        return found or (_FRAME_FONT if charset in _CJK_CHARSETS else None)

    def get_data(_: Any, handle: Any, table: int, buffer: Any, size: int) -> int:
        if handle != _FRAME_FONT:
            return int(theirs.GetFontData(machine, handle, table, buffer, size))
        if table:
            return 0
        if buffer and size >= len(font):
            ctypes.memmove(buffer, font, len(font))
        return len(font)

    def get_charset(_: Any, handle: Any) -> int:
        known = handle != _FRAME_FONT and theirs.GetFontCharset
        return int(theirs.GetFontCharset(machine, handle)) if known else 1

    def get_name(_: Any, handle: Any, buffer: Any, size: int) -> int:
        known = handle != _FRAME_FONT and theirs.GetFaceName
        return int(theirs.GetFaceName(machine, handle, buffer, size)) if known else 0

    def delete(_: Any, handle: Any) -> None:
        if handle != _FRAME_FONT and theirs.DeleteFont:
            theirs.DeleteFont(machine, handle)

    info.version = 1
    info.EnumFonts = types["EnumFonts"](lambda _, mapper: theirs.EnumFonts(machine, mapper))
    info.MapFont = types["MapFont"](map_font)
    info.GetFont = types["GetFont"](lambda _, face: theirs.GetFont(machine, face) if theirs.GetFont else None)
    info.GetFontData = types["GetFontData"](get_data)
    info.GetFaceName = types["GetFaceName"](get_name)
    info.GetFontCharset = types["GetFontCharset"](get_charset)
    info.DeleteFont = types["DeleteFont"](delete)
    return info


@cache
def frame_font() -> bytes:
    """A TrueType font with one glyph for every character: a frame the size of a Chinese character."""
    glyph = _glyph()
    tables: list[Table] = [
        (b"cmap", _characters()),
        (b"glyf", glyph),
        (b"head", struct.pack(">IIIIHH8s8shhhhHHhhh", 0x10000, 0, 0, 0x5F0F3CF5, 0, _EM, _EPOCH, _EPOCH,
                              0, _DESCENT, _EM, _ASCENT, 0, 8, 2, 1, 0)),
        (b"hhea", struct.pack(">IhhhH11hH", 0x10000, _ASCENT, _DESCENT, 0, _EM, *[0] * 11, 2)),
        (b"hmtx", struct.pack(">HhHh", _EM, 0, _EM, 0)),
        (b"loca", struct.pack(">III", 0, 0, len(glyph))),
        (b"maxp", struct.pack(">IH13H", 0x10000, 2, 8, 2, 0, 0, 2, *[0] * 8)),
    ]  # fmt: skip
    return _file(tables)


def _glyph() -> bytes:
    """Two rectangles; the inner one runs in the opposite direction, so that it is a hole."""
    outer = [(0, _DESCENT), (0, _ASCENT), (_EM, _ASCENT), (_EM, _DESCENT)]
    inner = [(60, _DESCENT + 60), (_EM - 60, _DESCENT + 60), (_EM - 60, _ASCENT - 60), (60, _ASCENT - 60)]
    points = outer + inner
    steps = [
        (x - before_x, y - before_y) for (x, y), (before_x, before_y) in zip(points, [(0, 0), *points], strict=False)
    ]
    head = struct.pack(">hhhhhHHH", 2, 0, _DESCENT, _EM, _ASCENT, 3, 7, 0)
    flags = b"\x01" * len(points)
    return head + flags + struct.pack(">8h8h", *(x for x, _ in steps), *(y for _, y in steps))


def _characters() -> bytes:
    """Map all characters from the space on to the one glyph (a subtable of format 13 needs one entry for that)."""
    subtable = struct.pack(">HHIIIIII", 13, 0, 28, 0, 1, 0x21, 0x10FFFF, 1)
    return struct.pack(">HHHHI", 0, 1, 3, 10, 12) + subtable


def _file(tables: list[Table]) -> bytes:
    offset = 12 + 16 * len(tables)
    index, body = b"", b""
    for tag, data in tables:
        padded = data + bytes(-len(data) % 4)
        index += struct.pack(
            ">4sIII", tag, sum(struct.unpack(f">{len(padded) // 4}I", padded)) % 2**32, offset, len(data)
        )
        body += padded
        offset += len(padded)
    return struct.pack(">IHHHH", 0x10000, len(tables), 64, 2, len(tables) * 16 - 64) + index + body
