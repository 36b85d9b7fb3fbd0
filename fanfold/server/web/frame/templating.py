"""Renders pages: templates with everything escaped, translated texts and formatted figures."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from starlette.responses import HTMLResponse

from fanfold.engine.installed import applications
from fanfold.errors import DatabaseProblem
from fanfold.model.money.amounts import told_dollars as dollars
from fanfold.model.money.batch import LaneCounts
from fanfold.model.money.questions import money
from fanfold.model.text.sentences import Sentence, say
from fanfold.model.words import batched_where
from fanfold.server.app_state import AppState, place_of
from fanfold.server.requests.authentication import COOKIE, Access
from fanfold.server.web.frame.languages import LANGUAGES, Words, language_of
from fanfold.server.web.frame.static_files import static
from fanfold.server.web.table.cell_words import cell_words


@cache
def environment() -> Environment:
    """The template environment; everything is escaped unless marked safe."""
    made = Environment(
        loader=PackageLoader("fanfold.server.web"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"duration": duration, "count": count, "size": size, "clock": clock, "iso": iso, "money": money}
    made.filters |= {"rough": rough, "elapsed": elapsed, "dollars": dollars, "in_batches": in_batches}
    made.globals |= {"static": static, "languages": LANGUAGES, "token_cookie": COOKIE}
    made.globals |= {"here": here, "living_workers": living_workers, "typed_example": typed_example}
    made.globals |= {"takes_templates": takes_templates, "cell_words": cell_words}
    return made


def fragment(name: str, words: Words, **values: Any) -> Markup:
    """Render a part of a page. Its values are escaped, so it can be inserted into another template."""
    return Markup(environment().get_template(name).render(t=words, **values))


def page(request: Request, name: str, access: Access | None, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a whole page, or for htmx the requested part."""
    words = Words(language_of(request))
    frame: dict[str, Any] = {"request": request, "path": request.url.path, "access": access, "place": place_of(request)}
    return HTMLResponse(fragment(name, words, **frame, **values), status)


def here(request: Request) -> str:
    """The reader's current URL, to return to; the response to a command does not count."""
    query = urlencode([(name, value) for name, value in request.query_params.multi_items() if name != "lang"])
    return request.url.path + (f"?{query}" if query else "") if request.method == "GET" else "/"


def typed_example() -> str:
    """An example command to type: the first one an application provides."""
    known = (command.example for application in applications() for command in application.commands)
    return next(filter(None, known), "run demo")


def takes_templates(place: AppState) -> bool:
    """Whether a pipeline of this server takes templates; only then do the pages offer them."""
    return any(pipeline.template_kinds for pipeline in place.pipelines.values())


def living_workers(place: AppState) -> int | None:
    """Number of live workers at the live reader's last poll: every page shows it, so it must cost nothing.

    If it saw none, they may have just started, so query the database before raising an alarm. None if the database cannot
    be read, as on the page that says so.
    """
    samples = place.live.samples
    if seen := samples[-1].workers if samples else 0:
        return seen
    try:
        return sum(worker.alive for worker in place.client().workers())
    except DatabaseProblem:
        return None


def duration(seconds: float | None, words: Words) -> str:
    """A span of time for people."""
    if seconds is None:
        return ""
    if seconds < 60:
        return words("{count} s", count=f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.1f}")
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        whole = words("{count} min", count=minutes)
        return whole if minutes >= 10 else words("{minutes} min {seconds} s", minutes=minutes, seconds=f"{rest:02}")
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return words("{hours} h {minutes} min", hours=hours, minutes=f"{minutes:02}")
    return words("{days} d {hours} h", days=hours // 24, hours=hours % 24)


def rough(seconds: float, words: Words) -> str:
    """An estimated span of time, in one unit."""
    if seconds < 55:
        return words("{count} s", count=max(1, round(seconds)))
    minutes = round(seconds / 60)
    return words("{count} min", count=minutes) if minutes < 90 else words("{count} h", count=round(minutes / 60))


def elapsed(seconds: float, words: Words) -> str:
    """A past span of time in its largest unit, rounded down so that it never exceeds the age."""
    if seconds < 60:
        return words("{count} s", count=max(1, int(seconds)))
    minutes = int(seconds) // 60
    if minutes < 60:
        return words("{count} min", count=minutes)
    hours = minutes // 60
    return words("{count} h", count=hours) if hours < 24 else words("{count} d", count=hours // 24)


def count(number: int) -> str:
    """A number with narrow spaces between its thousands."""
    return f"{number:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def size(number: float, words: Words) -> str:
    """A number of bytes for people."""
    if number < 1000:
        return words("{count} bytes", count=f"{number:.0f}")
    for unit in ("kB", "MB"):
        number /= 1000
        if number < 1000:
            return f"{number:.1f} {unit}"
    return f"{number / 1000:.1f} GB"


def clock(moment: datetime | None) -> str:
    """A time in UTC; a script shows it in the reader's zone."""
    return "" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def iso(moment: datetime | None) -> str:
    """A time for machines."""
    return "" if moment is None else moment.astimezone(UTC).isoformat(timespec="seconds")


def in_batches(counts: LaneCounts) -> Sentence:
    """Where the questions of a task are in the batch lane."""
    return say("in_batches", where=batched_where(counts))
