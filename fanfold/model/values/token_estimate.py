"""Estimates the tokens of a text without a vocabulary. Measured: English 4.5 bytes per token, Chinese 1.2 characters."""

from __future__ import annotations

BYTES_PER_TOKEN = 4.2
"""Bytes per token of ASCII text."""
TOKENS_PER_CHARACTER = 0.85
"""Bytes per token of any other text."""
TOKENS_PER_IMAGE = 1_500


def guessed_tokens(*texts: str | None) -> int:
    """The estimated tokens of all texts together."""
    total = 0.0
    for text in texts:
        if text:
            plain = len(text.encode("ascii", "ignore"))
            total += plain / BYTES_PER_TOKEN + (len(text) - plain) * TOKENS_PER_CHARACTER
    return round(total)
