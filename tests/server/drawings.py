"""Functions that draw pictures in tests. They run in a child process, so they are in a small module."""

import base64
import os
import time
from typing import Any

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
"""A PNG of one pixel."""


def draw(wish: str) -> Any:
    """What the input of the item asks for."""
    if wish == "die":
        os._exit(5)
    if wish == "leave":
        raise SystemExit("leaving")
    if wish == "raise":
        raise ValueError("no ink")
    if wish == "hang":
        time.sleep(3_600)
    return {"rubbish": b"<script>alert(1)</script>", "nothing": None, "text": "a picture"}.get(wish, DOT)


def draw_page(wish: str, page: int = 1) -> bytes:
    """A picture that tells which page was asked for; there are three."""
    if page > 3:
        raise ValueError(f"{wish} has no page {page}")
    return DOT + str(page).encode()
