"""Formats output: JSON for programs, tables on a terminal, plain aligned lines elsewhere."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Any

import click

from fanfold.model.text.moments import told_at
from fanfold.model.text.sentences import sentences_in
from fanfold.model.values.codecs import codec_of

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""Characters that a spreadsheet takes for the beginning of a formula."""
STYLES = {
    "completed": "green", "done": "green", "ok": "green", "failed": "red", "problem": "red", "partial": "yellow",
    "warning": "yellow", "retrying": "yellow", "paused": "magenta", "waiting": "magenta", "cancelled": "dim",
}  # fmt: skip


def plain(value: Any) -> Any:
    """Convert a value to JSON types: records to objects, times to UTC, files with their path."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        found = {field.name: plain(getattr(value, field.name)) for field in fields(value) if field.name != "shelf"}
        if "sentences" in found:
            found["sentences"] = sentences_in(found)
        return found | ({"path": place} if (place := _place(value)) else {})
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(inner) for inner in value]
    codec = None if value is None or isinstance(value, str | int | float) else codec_of(type(value))
    return value if codec is None else plain(codec.encode(value))


def _place(value: Any) -> str | None:
    return value.where if getattr(value, "shelf", None) is not None else None


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """Print one JSON document."""
    click.echo(printable(json.dumps(plain(value), ensure_ascii=False, indent=indent)))


def printable(text: str) -> str:
    """Text that any terminal accepts: messages may quote an argument that is not valid UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def on_terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()


def one_line(value: Any) -> str:
    """Text reduced to one line of printable characters."""
    text = "".join(letter if letter.isprintable() else " " for letter in str("" if value is None else value))
    return " ".join(text.split())


def print_table(headings: Sequence[str], rows: Iterable[Sequence[Any]], *, right: Sequence[str] = ()) -> None:
    """Print rows under headings. Only the last column may be truncated, and only on a terminal."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    if on_terminal():
        _rich_table(headings, cells, right)
    else:
        _plain_table(headings, cells, right)


def print_csv(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows as CSV; text that a spreadsheet would take for a formula is marked as text."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(headings)
    writer.writerows([f"'{text}" if text.startswith(FORMULAS) else text for text in row] for row in rows)
    click.echo(sink.getvalue(), nl=False)


def _rich_table(headings: Sequence[str], rows: list[list[str]], right: Sequence[str]) -> None:
    from rich.console import Console

    Console(highlight=False).print(rich_table(headings, rows, right))


def rich_table(headings: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = ()) -> Any:
    """A borderless table for a terminal. The last column takes the remaining width; the others are never truncated."""
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    lines = list(rows)
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for column, heading in enumerate(headings):
        width = max(map(cell_len, (heading, *(line[column] for line in lines))))
        last = column == len(headings) - 1
        side: Any = "right" if heading in right else "left"
        table.add_column(heading, justify=side, no_wrap=True, overflow="ellipsis", min_width=None if last else width)
    for line in lines:
        table.add_row(*(Text(cell, STYLES.get(cell, "")) for cell in line))
    return table


def _plain_table(headings: Sequence[str], rows: list[list[str]], right: Sequence[str]) -> None:
    from rich.cells import cell_len

    lines = [list(headings), *rows]
    widths = [max(cell_len(line[column]) for line in lines) for column in range(len(headings))]
    for line in lines:
        padded = (
            " " * (width - cell_len(cell)) + cell if heading in right else cell + " " * (width - cell_len(cell))
            for heading, cell, width in zip(headings, line, widths, strict=True)
        )
        click.echo("  ".join(padded).rstrip())


def print_fields(pairs: Iterable[tuple[str, Any]]) -> None:
    """Print name and value pairs, one per line, skipping empty values."""
    known = [(name, one_line(value)) for name, value in pairs if value not in (None, "", (), {}, [])]
    width = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        click.echo(f"{click.style(name.ljust(width), dim=True)}  {click.style(value, fg=_colour(value))}")


def _colour(value: str) -> str | None:
    style = STYLES.get(value)
    return style if style != "dim" else None


def short_time(moment: datetime | None) -> str:
    """A time for people: local, with the zone name, and without the date if it is today."""
    if moment is None:
        return ""
    now = datetime.now(UTC)
    is_today = moment.astimezone().date() == now.astimezone().date()
    return told_at(moment, now, seconds=is_today, zone=None)


def duration(seconds: float | None) -> str:
    """A span of time for people."""
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def size(count: int) -> str:
    """A number of bytes for people."""
    amount = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            break
        amount /= 1000
    return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
