"""Formats a number with its noun in the singular or plural."""

from __future__ import annotations


def counted(number: int, noun: tuple[str, str]) -> str:
    """`1 page`, `2 pages`."""
    return f"{number} {noun[number != 1]}"


ITEMS = ("item", "items")
