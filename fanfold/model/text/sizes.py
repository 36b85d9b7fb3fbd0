"""Numbers of bytes in words, in the unit that fits: a limit of 900 bytes is not 0 MB."""

from __future__ import annotations


def told_size(number: float, byte: tuple[str, str] = ("byte", "bytes")) -> str:
    """`1 byte`, `900 bytes`, `1.5 kB`, `2 MB`, `5.37 GB`."""
    if number < 1000:
        return f"{number:.0f} {byte[0] if number == 1 else byte[1]}"
    units = ["GB", "MB", "kB"]
    number /= 1000
    while round(number, 2) >= 1000 and len(units) > 1:
        number /= 1000
        units.pop()
    return f"{f'{number:.2f}'.rstrip('0').rstrip('.')} {units[-1]}"
