"""The page of a task's changes: before and after side by side, decided about change by change."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Depends, Query, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import JSONResponse, Response

from fanfold.model.decision import DecisionVerdict
from fanfold.model.views.changes import STATES
from fanfold.server.api.changes import Kind, Topic
from fanfold.server.api.shapes.shared_shapes import Text
from fanfold.server.changes.change_index import GAP, PageFilter
from fanfold.server.changes.change_windows import LARGEST_WINDOW, ChangeWindows, Told
from fanfold.server.requests.authentication import Asking, At, Changing, Looking
from fanfold.server.threads.database_threads import Router
from fanfold.server.web.changes.change_words import change_words, page_words
from fanfold.server.web.frame.languages import Words, language_of
from fanfold.server.web.frame.templating import page
from fanfold.server.web.item.decide_form import is_merged
from fanfold.server.web.task.task_header import forms_of, unit_of

router = Router()
State = Literal["", "open", "accept", "reject", "replace", "gap"]
Limited = Annotated[Text, Query(max_length=200)]


class ManyDecisions(BaseModel):
    """A decision about all changes that pass the filter of the page."""

    verdict: Literal["accept", "reject", "undo"]
    state: State = ""
    kind: Kind = ""
    topic: Topic = ""
    origin: Text = ""
    chapter: Text = ""
    text: Text = ""
    item: Text = ""

    model_config = ConfigDict(extra="forbid")


@router.get("/tasks/{task_id}/changes")
def show(request: Request, access: Asking, client: Looking, place: At, task_id: str) -> Response:
    """The page of the changes; a script loads the paragraphs that are scrolled into view."""
    task = client.get(task_id)
    t = Words(language_of(request))
    stage = place.changes.of(client.lookup, task.id).stage
    return page(
        request,
        "changes.html",
        access,
        task=task,
        stage=stage,
        states=(*STATES, GAP),
        said=change_words(t),
        script_words=page_words(t) | {"item": t.noun(unit_of(client, task)[0])},
        forms=forms_of(client, task),
        may_decide=access.may_change and is_merged(task, stage),
    )


def filter_of(
    state: State = "",
    kind: Kind = "",
    topic: Topic = "",
    origin: Limited = "",
    chapter: Annotated[Text, Query(max_length=2_000)] = "",
    text: Limited = "",
    item: Annotated[Text, Query(max_length=1_000)] = "",
    whole: bool = False,
) -> PageFilter:
    """The filter of a request."""
    return PageFilter(state, kind, topic, origin, chapter, text, item, whole)


@router.get("/tasks/{task_id}/changes/window")
def window(
    request: Request,
    client: Looking,
    place: At,
    task_id: str,
    wanted: Annotated[PageFilter, Depends(filter_of)],
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=LARGEST_WINDOW)] = 50,
    as_of: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
) -> JSONResponse:
    """Paragraphs for the script, with figures about all changes. With ``as_of``, states are those after that decision."""
    found = ChangeWindows(client, place.changes).window(task_id, wanted, offset, limit, as_of)
    t = Words(language_of(request))
    return JSONResponse(vars(found) | {"rows": [_told(row, t) for row in found.rows]})


@router.post("/tasks/{task_id}/changes/decide")
def decide(client: Looking, _access: Changing, place: At, task_id: str, wish: ManyDecisions) -> JSONResponse:
    """Decide about all changes that pass the filter of the page; the last merge then runs once."""
    wanted = PageFilter(**wish.model_dump(exclude={"verdict"}))
    decided = ChangeWindows(client, place.changes).decide(task_id, wanted, DecisionVerdict(wish.verdict))
    return JSONResponse({"decided": decided})


def _told(row: Told, t: Words) -> Told:
    """A row with its messages in the reader's language."""
    said = {name: t.sentence(row[name]) if row[name] else "" for name in ("gap", "error")}
    return row | said | {"warnings": [t.sentence(one) for one in row["warnings"]]}
