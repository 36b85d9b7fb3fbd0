"""Routes for the table of a task whose items make records: rows, problems and individual cells, even while it runs."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field, JsonValue
from starlette.responses import StreamingResponse

from fanfold.model.lifecycle import TaskState
from fanfold.server.api.documented import may_answer
from fanfold.server.api.items import Key
from fanfold.server.api.shapes.json_values import plain
from fanfold.server.api.shapes.shared_shapes import Text
from fanfold.server.api.tasks import TaskId
from fanfold.server.requests.adapted_messages import without_commands
from fanfold.server.requests.authentication import At, Looking
from fanfold.server.tables.cells import STATES
from fanfold.server.tables.review_log import review_log
from fanfold.server.tables.table_windows import LARGEST_WINDOW, ROW_STATES, TableFilter, Tables

router = APIRouter(tags=["tables"])
Offset = Annotated[int, Query(ge=0, le=10_000_000)]
Limit = Annotated[int, Query(ge=1, le=LARGEST_WINDOW)]
STATE_PATTERN = f"^({'|'.join((*STATES, *ROW_STATES))})$"
State = Annotated[Text, Field(pattern=STATE_PATTERN)]


class TableRow(BaseModel):
    """A row of the table: a document, or a row inside one. A document that failed has an `error` and no fields."""

    key: str = Field(description="Key of the item.")
    row: int = Field(description="Number among the rows of the item, from 1.")
    document: str
    source: str
    columns: dict[str, JsonValue] = Field(description="Columns carried through from the input.")
    state: str
    error: str | None
    fields: dict[str, dict[str, Any]] = Field(description="Cells by column, with people's decisions applied.")


class TableShape(BaseModel):
    """Rows of a table, and figures about all of it."""

    columns: list[str]
    offset: int
    total: int = Field(description="Number of rows that pass the filter.")
    rows: list[TableRow]
    next: int | None = Field(description="Give it as `offset` to get the next rows; null at the end.")
    cells: dict[str, int] = Field(description="Number of cells of the whole table by state.")
    reviewed: int = Field(description="Number of cells that a person has approved or edited.")
    documents: dict[str, int] = Field(description="Number of documents: `done`, `failed` and `open`.")
    unread: int = Field(description="Outputs that the server has not read yet: ask again for complete figures.")
    is_cut: bool = Field(description="Whether there are more documents than a table has.")
    stage: str = Field(description="Stage of the items, for decisions.")
    state: TaskState = Field(description="State of the task.")


class TableProblem(BaseModel):
    """A document that failed, or a cell that is weak, unsupported, invalid or in conflict."""

    key: str
    row: int
    document: str
    column: str | None = Field(description="null for a document that failed.")
    state: str
    value: JsonValue
    reason: str | None


class TableProblems(BaseModel):
    """Problems of a table, in the order of its rows."""

    problems: list[TableProblem]
    total: int
    next: int | None


class TableCell(BaseModel):
    """A cell with everything known about it."""

    key: str
    row: int
    document: str
    column: str
    cell: dict[str, Any]


@router.get("/tasks/{task_id}/table", responses=may_answer(404, 409))
def get_table(
    client: Looking,
    place: At,
    task_id: TaskId,
    offset: Offset = 0,
    limit: Limit = 100,
    state: Annotated[
        list[State], Query(description="Only rows with a cell in one of these states, or `failed` or `open` ones.")
    ] = [],  # noqa: B006
    column: Annotated[Text, Query(max_length=200, description="Only this column; `state` then means its cells.")] = "",
    document: Annotated[Text, Query(max_length=200, description="Only documents whose name contains this.")] = "",
    brief: Annotated[bool, Query(description="Only value, state and part of each cell, with long values cut.")] = False,
) -> TableShape:
    """Get rows of a task's table, in the order of its items; while the task runs, the rows so far."""
    wanted = TableFilter(tuple(state), column, document)
    found = Tables(client, place.tables).window(task_id, wanted, offset, limit, is_brief=brief)
    rows = [TableRow.model_construct(**plain(neutral_row(row), task_id)) for row in found.rows]
    known = {name: getattr(found, name) for name in TableShape.model_fields if name not in ("rows", "state")}
    return TableShape.model_construct(**known, rows=rows, state=client.lookup.row(task_id).state)


@router.get("/tasks/{task_id}/problems", responses=may_answer(404, 409))
def list_table_problems(
    client: Looking, place: At, task_id: TaskId, offset: Offset = 0, limit: Limit = 100
) -> TableProblems:
    """List documents that failed, and cells that are weak, unsupported, invalid or in conflict."""
    found, total = Tables(client, place.tables).problems(task_id, offset, limit)
    shown = [
        TableProblem.model_construct(**plain(one | {"reason": without_commands(one["reason"] or "") or None}, task_id))
        for one in found
    ]
    after = offset + len(found)
    return TableProblems.model_construct(problems=shown, total=total, next=after if after < total else None)


@router.get("/tasks/{task_id}/table/cell", responses=may_answer(404, 409))
def get_table_cell(
    client: Looking,
    place: At,
    task_id: TaskId,
    key: Key,
    column: Annotated[Text, Query(max_length=200)],
    row: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
) -> TableCell:
    """Get one cell: its value, state, evidence, alternatives and decision."""
    found, cell = Tables(client, place.tables).cell(task_id, key, row, column)
    told = {"key": found["key"], "row": found["row"], "document": found["document"], "column": column}
    return TableCell.model_construct(**told, cell=plain(cell, task_id))


def neutral_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose error has no command for a terminal."""
    return row if row["error"] is None else row | {"error": str(without_commands(row["error"]))}


@router.get(
    "/tasks/{task_id}/decisions.csv",
    responses={**may_answer(404), 200: {"content": {"text/csv": {}}, "description": "The log."}},
    response_class=StreamingResponse,
)
def get_review_log(client: Looking, task_id: TaskId) -> StreamingResponse:
    """Get all decisions about a task as CSV: who, when, which cell, before and after."""
    task = client.get(task_id)
    name = quote(f"{task.title[:100]} review.csv", safe="")
    headers = {"content-disposition": f"attachment; filename*=UTF-8''{name}"}
    return StreamingResponse(review_log(client, task.id), media_type="text/csv; charset=utf-8", headers=headers)
