"""The page of a task's table, the view of one cell, and the decisions that people make there."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Form, Query, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from fanfold.model.decision import PART_LENGTH, DecisionVerdict
from fanfold.server.app_state import AppState
from fanfold.server.requests.authentication import Access, Asking, At, Changing, Looking
from fanfold.server.tables.cells import STATES, TEXT
from fanfold.server.tables.table_windows import ROW_STATES
from fanfold.server.threads.database_threads import Router
from fanfold.server.web.frame.languages import Words, language_of
from fanfold.server.web.frame.templating import fragment, page
from fanfold.server.web.table.cell_words import cell_words
from fanfold.server.web.table.editing import KINDS, typed
from fanfold.server.web.table.record_view import values_of
from fanfold.server.web.task.task_header import forms_of, unit_of

router = Router()
VALUE_LENGTH = 1_000_000
Key = Annotated[str, Query(max_length=1_000)]
Column = Annotated[str, Query(max_length=200)]
Number = Annotated[int, Query(ge=1, le=1_000_000)]
Field = Annotated[str, Form(max_length=1_000)]


@router.get("/tasks/{task_id}/table")
def show(request: Request, access: Asking, client: Looking, task_id: str) -> Response:
    """The page of the table; a script loads the rows that are scrolled into view."""
    task = client.get(task_id)
    return page(
        request,
        "table.html",
        access,
        task=task,
        states=STATES,
        states_said=cell_words(Words(language_of(request))),
        row_states=ROW_STATES,
        forms=forms_of(client, task),
        unit=unit_of(client, task),
    )


@router.get("/tasks/{task_id}/record")
def record(
    request: Request,
    access: Asking,
    client: Looking,
    place: At,
    task_id: str,
    key: Key,
    column: Column,
    row: Number = 1,
) -> Response:
    """The view of one cell for the script. In a browser, the same URL opens the table with the cell selected."""
    if "hx-request" not in request.headers:
        return RedirectResponse(f"/tasks/{task_id}/table?{urlencode({'key': key, 'row': row, 'cell': column})}", 303)
    return _cell(request, access, client, place, task_id, key, row, column)


@router.post("/tasks/{task_id}/record")
def decide(
    request: Request,
    access: Changing,
    client: Looking,
    place: At,
    task_id: str,
    key: Field,
    stage: Field,
    part: Annotated[str, Form(min_length=1, max_length=PART_LENGTH)],
    column: Field,
    verdict: Annotated[DecisionVerdict, Form()],
    row: Annotated[int, Form(ge=1, le=1_000_000)] = 1,
    value: Annotated[str, Form(max_length=VALUE_LENGTH)] = "",
    kind: Annotated[str, Form(pattern=f"^({'|'.join(KINDS)}|none)$")] = TEXT,
) -> Response:
    """Record a decision about a cell. Return the updated cell to a script, and redirect a plain form to the item."""
    text = value.replace("\r\n", "\n")
    meant = typed(text, kind) if verdict is DecisionVerdict.REPLACE and kind != "none" else None
    task = client.decide(task_id, key, part, verdict, meant, stage=stage)
    if "hx-request" in request.headers:
        return _cell(request, access, client, place, task.id, key, row, column)
    chosen = {"key": key, "stage": stage, "row": row, "column": column}
    return RedirectResponse(f"/tasks/{task.id}/item?{urlencode(chosen)}", 303)


def _cell(
    request: Request, access: Access, client: Any, place: AppState, task_id: str, key: str, row: int, column: str
) -> Response:
    task = client.get(task_id)
    values = values_of(place, client, task, key, row, column, access.may_change)
    values |= {"task": task, "in_table": True}
    return HTMLResponse(fragment("_record.html", Words(language_of(request)), **values))
