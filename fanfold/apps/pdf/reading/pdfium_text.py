"""Corrects the characters and the bold extent of pieces from pdfium's own text.

liteparse replaces curly quotes and dashes with straight quotes and hyphens, and knows only the font of a piece's first
character. pdfium has both for every character; a piece is located in pdfium's text by its own text.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

from fanfold.apps.pdf.markdown.pieces import Piece, style

SIMPLIFIED = str.maketrans("‘’‚‛“”„‟–—―‒−‐‑\u00a0\x02\ufffe", "''''\"\"\"\"------- --")
"""Makes curly quotes and dashes straight, as the layout engine does."""
# Characters that may have been replaced: quotes, and hyphens between letters or spaces (not those of "01-05").
_LOST = re.compile(r"['\"]|[^\W\d]-|-[^\W\d]| -|-$|--")
# Fonts are queried one character at a time, so a bold piece is checked only if it may be a run-in title, and a
# monospaced piece only if it has more than one word.
_RUN_IN = re.compile(r"[:.–—-] ")
_LONG = 60
_FONT_NAME_BYTES = 128


def correct(textpage: Any, pieces: list[Piece]) -> None:
    """Restore quotes and dashes in the pieces, and measure the length of their bold start."""
    if any(map(_doubtful, pieces)):
        _correct(textpage, pieces)


def _doubtful(piece: Piece) -> bool:
    if _LOST.search(piece.text):
        return True
    if piece.bold:
        return len(piece.text) > _LONG or _RUN_IN.search(piece.text) is not None
    return piece.mono and " " in piece.text


def _correct(textpage: Any, pieces: list[Piece]) -> None:
    original = textpage.get_text_range()
    simple = original.translate(SIMPLIFIED)
    # pdfium omits characters it cannot map, and then text and font indexes differ.
    same_count = len(original) == textpage.count_chars()
    position = 0
    for piece in pieces:
        start = simple.find(piece.text, position)
        if start < 0:
            start = simple.find(piece.text)
        if start < 0:
            piece.bold = piece.bold and not _doubtful(piece)
            continue
        position = start + len(piece.text)
        # pdfium's own signs for a hyphen at the end of a line
        piece.text = original[start:position].replace("\x02", "-").replace("\ufffe", "-")
        if same_count and (piece.bold or piece.mono):
            _measure(textpage, start, piece)


def _measure(textpage: Any, start: int, piece: Piece) -> None:
    """Clear the bold or monospaced flag of a piece that only begins that way."""
    # The last word may be emphasised as well, so check the middle and not the end.
    middle = start + len(piece.text[: len(piece.text) // 2].rstrip()) - 1
    end_bold, end_mono = _style_at(textpage, start + len(piece.text) - 1)
    bold, mono = _style_at(textpage, max(middle, start))
    if (bold, mono) != (piece.bold, piece.mono):
        # Its size is also that of its first word.
        piece.size *= (_size_at(textpage, max(middle, start)) or 1.0) / (_size_at(textpage, start) or 1.0)
    bold, mono = bold and end_bold, mono and end_mono
    piece.mono = piece.mono and mono
    if piece.bold and not bold:
        piece.bold = False
        piece.bold_length = _bold_length(textpage, start, piece.text)


def _bold_length(textpage: Any, start: int, text: str) -> int:
    """Number of bold characters at the start, in whole words; the first plain word ends the title."""
    end = 0
    for word in text.split(" "):
        # "Title:" is one word, although its colon is often not bold.
        letters = len(word.rstrip(":;,.!?)]")) or len(word)
        if word and not _style_at(textpage, start + end + letters - 1)[0]:
            break
        end += len(word) + 1
    return min(max(end - 1, 0), len(text) - 1)


def _style_at(textpage: Any, index: int) -> tuple[bool, bool]:
    import pypdfium2.raw as raw

    name = ctypes.create_string_buffer(_FONT_NAME_BYTES)
    raw.FPDFText_GetFontInfo(textpage, index, name, _FONT_NAME_BYTES, ctypes.c_int())
    return style(name.value.decode("utf-8", "replace"))


def _size_at(textpage: Any, index: int) -> float:
    import pypdfium2.raw as raw

    return float(raw.FPDFText_GetFontSize(textpage, index))
