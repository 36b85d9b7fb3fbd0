"""The page of one item: its picture beside its output, with cost and changes."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from fanfold.model.decision import PART_LENGTH, Decision, DecisionVerdict
from fanfold.model.item import ItemDetail
from fanfold.model.lifecycle import ItemState
from fanfold.model.plan import Kind
from fanfold.model.task import Task
from fanfold.server.api.shapes.json_values import file_url
from fanfold.server.app_state import AppState
from fanfold.server.requests.authentication import Access, Asking, At, Looking
from fanfold.server.requests.hiding import without_secrets
from fanfold.server.web.frame.chosen_view import view_of
from fanfold.server.web.frame.markdown import rendered
from fanfold.server.web.frame.model_choices import choices
from fanfold.server.web.frame.positions import key_at
from fanfold.server.web.frame.templating import page
from fanfold.server.web.images.item_pictures import picture_values
from fanfold.server.web.item.decide_form import is_merged, parts_of
from fanfold.server.web.item.diff import changes
from fanfold.server.web.item.record_fields import record_values
from fanfold.server.web.task import result_view as outcome
from fanfold.server.web.views import show as show_output
from fanfold.server.web.views.shown import Shown

router = APIRouter()
SHOWN_CHARACTERS = 400_000
SHOWN_DECISIONS = 500
Tab = Literal["rendered", "source", "changes"]
Key = Annotated[str, Query(max_length=1_000)]
Stage = Annotated[str | None, Query(max_length=100)]


@router.get("/tasks/{task_id}/item")
def show(
    request: Request,
    access: Asking,
    client: Looking,
    place: At,
    task_id: str,
    key: Key = "",
    stage: Stage = None,
    tab: Tab | None = None,
    position: Annotated[int | None, Query(ge=0, le=1_000_000_000)] = None,
    row: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    column: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """Show one item; a request by position is resolved to its key."""
    task = client.get(task_id)
    if position is not None and stage:
        found = {"key": key_at(client, task.id, stage, position), "stage": stage}
        return RedirectResponse(f"/tasks/{task.id}/item?{urlencode(found)}", 303)
    detail = client.item(task.id, key, stage)
    decided = client.decisions(task.id, stage=detail.item.stage, item=detail.item.key, limit=SHOWN_DECISIONS)
    may_decide = access.may_change and detail.item.state == ItemState.DONE and is_merged(task, detail.item.stage)
    parts = parts_of(client, task, detail.item.stage, detail.item.key) if may_decide else None
    record = record_values(place, client, task, detail, (row, column), access.may_change)
    record |= picture_values(place, client, task, detail, may_change=access.may_change)
    return _page(request, access, place, task, detail, decided, parts, tab, record)


def _page(
    request: Request,
    access: Access,
    place: AppState,
    task: Task,
    detail: ItemDetail,
    decided: list[Decision],
    parts: list[str] | None,
    tab: Tab | None,
    record: dict[str, Any],
) -> HTMLResponse:
    view = view_of(place.pipelines, task)
    made, before = show_output(view, detail.output, task.id), show_output(view, detail.previous, task.id)
    usual: Tab = "rendered" if made is None or made.is_markdown else "source"
    is_redone = before is not None and detail.item.state == ItemState.DONE
    chosen = usual if tab is None or (tab == "changes" and not is_redone) else tab
    stage = next((one for one in task.stages if one.name == detail.item.stage), None)
    pipeline = place.pipelines.get(task.pipeline)
    is_each = stage is not None and stage.kind == Kind.EACH
    return page(
        request,
        "item.html",
        access,
        task=task,
        detail=detail,
        item=detail.item,
        total=stage.total if stage else 1,
        tab=chosen,
        wanted=tab or chosen,
        is_redone=is_redone,
        made=made,
        shown=made.text[:SHOWN_CHARACTERS] if made else "",
        rendered=rendered(made.text) if made and made.is_markdown and chosen == "rendered" else None,
        changes=changes(before.text, made.text) if before and made and chosen == "changes" else None,
        files=[(file.name, file.size, file_url(file, task.id)) for file in made.files] if made else [],
        has_picture=pipeline is not None and pipeline.picture is not None and is_each,
        may_retry=access.may_change and _may_retry(task, detail),
        may_accept=access.may_change and detail.item.degraded is not None and not detail.item.accepted,
        choices=choices(place, task),
        options=without_secrets(detail.options),
        given=outcome.as_text(without_secrets(detail.input), task.id),
        fallback=detail.item.degraded or _said(detail.output, "fallback"),
        note=_said(detail.output, "note"),
        decisions=decided,
        parts=parts,
        part_length=PART_LENGTH,
        verdicts=[one.value for one in DecisionVerdict],
        **record,
    )


def _may_retry(task: Task, detail: ItemDetail) -> bool:
    """Whether the item can be named in a retry: in the states the engine accepts, in a stage that tasks run."""
    known = detail.item.stage in [stage.name for stage in task.stages]
    return known and detail.item.state not in (ItemState.PENDING, ItemState.RUNNING)


def _said(output: Any, name: str) -> str:
    said = output.get(name) if isinstance(output, dict) else None
    return str(said) if said else ""


@router.get("/tasks/{task_id}/item/text")
def text(client: Looking, task_id: str, key: Key, stage: Stage = None, download: bool = False) -> Response:
    """The text of an item's output, to copy or download."""
    task, detail = client.get(task_id), client.item(task_id, key, stage)
    made = show_output(view_of(client.pipelines, task), detail.output, task.id) or Shown("", True, "md")
    name = quote(f"{key[:100]}.{made.ending}", safe="")
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"} if download else {}
    return PlainTextResponse(made.text, headers=headers)
