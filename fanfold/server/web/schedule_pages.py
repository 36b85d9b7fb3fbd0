"""The page of schedules: list them, add one, pause, run or remove it."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import Form, Request
from starlette.responses import RedirectResponse, Response

from fanfold.errors import BadInput, FanfoldError
from fanfold.model.schedule import CatchUp, Overlap
from fanfold.model.text.sentences import say
from fanfold.server.api.submitting import pipeline_of
from fanfold.server.app_state import AppState
from fanfold.server.requests.authentication import Access, Asking, At, Changing, Looking
from fanfold.server.threads.database_threads import Router, making, writing
from fanfold.server.web.frame.templating import page

router = Router()
NEXT_SHOWN, RUNS_SHOWN = 3, 5
ZONES = (
    "UTC",
    "Europe/London",
    "Europe/Berlin",
    "America/New_York",
    "America/Los_Angeles",
    "Asia/Shanghai",
    "Asia/Tokyo",
)
"""Suggestions; any IANA name may be typed."""
EMPTY = {
    "name": "",
    "cron": "",
    "zone": "UTC",
    "pipeline": "",
    "overlap": "skip",
    "catch_up": "one",
    "values": "",
    "options": "",
    "budget": "",
}
Field = Annotated[str, Form(max_length=200)]
LongField = Annotated[str, Form(max_length=64_000)]


@router.get("/schedules")
def listed(request: Request, access: Asking, client: Looking, place: At) -> Response:
    """All schedules with their latest runs, and a form for a new one."""
    return _page(request, access, client, place)


@router.post("/schedules/add")
async def add(
    request: Request,
    access: Changing,
    client: Looking,
    place: At,
    name: Field = "",
    cron: Field = "",
    zone: Field = "UTC",
    pipeline: Field = "",
    overlap: Field = "skip",
    catch_up: Field = "one",
    values: LongField = "",
    options: LongField = "",
    budget: Field = "",
) -> Response:
    """Add the schedule, or show the form again with what is wrong."""
    given = {"name": name.strip(), "cron": cron.strip(), "zone": zone.strip(), "pipeline": pipeline}
    given |= {"overlap": overlap, "catch_up": catch_up, "values": values, "options": options, "budget": budget.strip()}
    try:
        known = pipeline_of(place, pipeline)
        wanted = _json(values, list, "inputs")
        takes_items = known.plan().stages[0].kind == "each"
        await making(
            client.schedules.add,
            given["name"],
            given["cron"],
            known,
            *(() if takes_items else wanted),
            zone=given["zone"],
            overlap=overlap,
            catch_up=catch_up,
            items=wanted if takes_items and wanted else None,
            options=_json(options, dict, "options"),
            budget=given["budget"] or None,
            literal=True,
        )
    except FanfoldError as problem:
        return await writing(_page, request, access, client, place, problem.message, given)
    return RedirectResponse("/schedules", 303)


@router.post("/schedules/{name}/{verb}")
async def steer(client: Looking, _access: Changing, name: str, verb: str) -> Response:
    """Pause, resume, run or remove a schedule."""
    if verb not in ("pause", "resume", "run", "remove"):
        raise BadInput(say("no_such_move", verb=verb[:20], state="schedule"))
    done = await writing(getattr(client.schedules, verb), name)
    return RedirectResponse(f"/tasks/{done.id}" if verb == "run" else "/schedules", 303)


def _page(
    request: Request,
    access: Access,
    client: Any,
    place: AppState,
    problem: str | None = None,
    given: dict[str, str] | None = None,
) -> Response:
    names = [one.name for one in client.schedules.list()]
    found = [client.schedules.get(name, runs=RUNS_SHOWN) for name in names]
    return page(
        request,
        "schedules.html",
        access,
        422 if problem else 200,
        schedules=found,
        times={one.name: client.schedules.next_times(one.name, NEXT_SHOWN) for one in found if not one.paused},
        pipelines=sorted(place.pipelines.values(), key=lambda one: one.title),
        overlaps=[one.value for one in Overlap],
        catch_ups=[one.value for one in CatchUp],
        zones=ZONES,
        problem=problem,
        given={**EMPTY, **(given or {})},
    )


def _json(text: str, kind: type[Any], field: str) -> Any:
    if not text.strip():
        return kind()
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise BadInput(say("field_not_json", name=field)) from None
    if not isinstance(found, kind):
        raise BadInput(say("field_not_json", name=field))
    return found
