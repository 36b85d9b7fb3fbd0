"""Draws items per second on a logarithmic scale, with the spread of the rounds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from benchmarks.engines import ratios
from benchmarks.engines.contestants import RAW, Contestant
from benchmarks.engines.ratios import RAW_BATCH, Spread
from benchmarks.engines.report import Report

WIDTH, LEFT, RIGHT, ROW, BAR, TOP, BOTTOM = 920, 360, 90, 26, 15, 46, 34
COLOURS = {"fanfold": "#2563eb", "peer": "#9ca3af", "raw": "#d1a054"}
STYLE = "text{font:13px system-ui,sans-serif;fill:#6b7280}.name{text-anchor:end}.own{font-weight:600;fill:#2563eb}"


def draw(report: Report) -> str:
    """The SVG, fastest first; of the raw statements only those an engine is compared with."""
    bars = sorted(measured(report), key=lambda bar: -bar[1].median)
    if not bars:
        return ""
    least = 10 ** math.floor(math.log10(min(found.least for _, found in bars)))
    most = max(found.most for _, found in bars)
    height = TOP + ROW * len(bars) + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>Items per second</title><style>{STYLE}</style>",
        f'<text x="{LEFT}" y="20">items per second; rounds: {report.results.rounds}, median and spread</text>',
        *axis(least, most, height),
        *(part for at, bar in enumerate(bars) for part in drawn(at, *bar, least, most)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def measured(report: Report) -> Iterator[tuple[Contestant, Spread]]:
    """What is drawn."""
    limits = [one for one in RAW if one.options["batch"] == str(RAW_BATCH) and one.options["synchronous"] == "FULL"]
    for one in [*(one for one in report.contestants if one.kind != "raw"), *limits]:
        found = ratios.spread(list(ratios.rates(report.results, one.name).values()))
        if found is not None:
            yield one, found


def place(value: float, least: float, most: float) -> float:
    """Where a rate lies from left to right."""
    share = (math.log10(value) - math.log10(least)) / max(0.1, math.log10(most) - math.log10(least))
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def axis(least: float, most: float, height: int) -> Iterator[str]:
    """A line for each power of ten."""
    value = least
    while value <= most:
        at = place(value, least, most)
        yield f'<line x1="{at:.1f}" y1="{TOP - 10}" x2="{at:.1f}" y2="{height - BOTTOM}" stroke="#e5e7eb"/>'
        yield f'<text x="{at:.1f}" y="{height - 12}" text-anchor="middle">{value:,.0f}</text>'
        value *= 10


def drawn(at: int, one: Contestant, found: Spread, least: float, most: float) -> Iterator[str]:
    """A name, a bar, a line for the spread, and the figure."""
    top = TOP + ROW * at
    text, middle = top + BAR - 3, top + BAR / 2
    start, end = place(found.least, least, most), place(found.most, least, most)
    width = max(1.0, place(found.median, least, most) - LEFT)
    owned = " own" if one.kind == "fanfold" else ""
    yield f'<text class="name{owned}" x="{LEFT - 10}" y="{text}">{escape(one.name)}</text>'
    yield f'<rect x="{LEFT}" y="{top}" width="{width:.1f}" height="{BAR}" rx="2" fill="{COLOURS[one.kind]}"/>'
    yield f'<line x1="{start:.1f}" y1="{middle}" x2="{end:.1f}" y2="{middle}" stroke="#374151" stroke-width="1.5"/>'
    yield f'<text x="{max(end, LEFT + width) + 8:.1f}" y="{text}">{found.median:,.0f}</text>'
