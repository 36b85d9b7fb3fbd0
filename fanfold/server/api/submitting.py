"""Reads submitted tasks: JSON, or a form with files. Nothing in them is ever interpreted as a path on this machine."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException

from fanfold.engine.client import Client
from fanfold.engine.tasks.submitting.inputs import Upload
from fanfold.engine.tasks.submitting.option_checks import check_declared
from fanfold.engine.tasks.submitting.submission import Submission
from fanfold.engine.tasks.submitting.unpack import unpacks
from fanfold.engine.templates import with_templates
from fanfold.errors import BadInput, FanfoldError, HandlerError, NotFound
from fanfold.model.item import NewItem
from fanfold.model.money.budgets import wish
from fanfold.model.pipelines.options import SECRET
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import Task
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.model.values.decoding import FILE_MARK
from fanfold.server.api.shapes.task_requests import GivenFile, NewTask
from fanfold.server.api.uploading import read_upload
from fanfold.server.app_state import AppState
from fanfold.server.requests.authentication import Access, NotAllowed

SAID_LENGTH = 64_000
JSON_FIELDS = (
    "inputs", "items", "options", "metadata", "tags", "priority", "retry_limit", "straight_through", "budget", "strict_budget",
    "allow_unknown_cost", "sample", "delay", "notify",
)  # fmt: skip
FORM = {
    "type": "object",
    "required": ["pipeline"],
    "properties": {
        "pipeline": {"type": "string"},
        "file": {"type": "array", "items": {"type": "string", "format": "binary"}, "description": "One or more files."},
        "title": {"type": "string"},
        "key": {"type": "string"},
        "owner": {"type": "string"},
        "run_at": {"type": "string", "format": "date-time"},
        **{name: {"type": "string", "description": "As JSON."} for name in JSON_FIELDS},
    },
}
BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": NewTask.model_json_schema(ref_template="#/components/schemas/{model}"),
                "examples": {"demo": {"value": {"pipeline": "demo", "options": {"items": 12}}}},
            },
            "multipart/form-data": {"schema": FORM, "example": {"pipeline": "translate", "tags": '["trial"]'}},
        },
    }
}
BODY["requestBody"]["content"]["application/json"]["schema"].pop("$defs", None)


async def read_submission(request: Request, place: AppState, key: str | None) -> tuple[NewTask, list[UploadFile]]:
    """The submission and its uploaded files, already on disk."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        uploads: list[UploadFile] = []
        wanted = parsed(await request.body())
    elif kind == "multipart/form-data":
        wanted, uploads = await read_form(request, place)
    else:
        raise HTTPException(415, "Send application/json, or multipart/form-data with files.")
    if key is not None and wanted.key is None:
        wanted = wanted.model_copy(update={"key": key})
    return wanted, uploads


async def read_form(request: Request, place: AppState) -> tuple[NewTask, list[UploadFile]]:
    """Read a form: plain text fields, JSON fields and files."""

    def check(name: str, options: dict[str, Any]) -> None:
        pipeline = pipeline_of(place, name)
        check_declared(pipeline, with_templates(place.store, pipeline, options)[0])

    try:
        form = await read_upload(request, check)
    except HTTPException as error:
        if error.status_code in (408, 413):
            raise
        raise BadInput(say("form_unreadable", why=error.detail)) from None
    try:
        return wanted_by(form), [
            file for _, file in form.multi_items() if isinstance(file, UploadFile) and file.filename
        ]
    except BaseException:
        await form.close()
        raise


def wanted_by(form: FormData) -> NewTask:
    """The submission from the fields of a form."""
    known: dict[str, Any] = {}
    for name, value in form.multi_items():
        if isinstance(value, str) and value != "":
            known[name] = json_field(name, value) if name in JSON_FIELDS else value
    return checked(known)


def json_field(name: str, text: str) -> Any:
    """Parse a JSON field."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        # The text is not quoted, because it may contain a password.
        raise BadInput(say("field_not_json", name=name)) from None


def parsed(body: bytes) -> NewTask:
    """Parse a JSON body."""
    try:
        known = json.loads(body)
    except (ValueError, RecursionError):
        raise BadInput(say("body_not_json")) from None
    if not isinstance(known, dict):
        raise BadInput(say("body_no_object"))
    return checked(known)


def checked(known: dict[str, Any]) -> NewTask:
    """Validate a submission."""
    try:
        wanted = NewTask.model_validate(known)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise BadInput(f"{place}: {first['msg']}" if place else first["msg"]) from None
    check_task(wanted)
    return wanted


def check_task(wanted: NewTask) -> None:
    """Refuse what is too long, and names that only Fanfold writes."""
    said = len(json.dumps([wanted.inputs, wanted.options, wanted.metadata], ensure_ascii=False, default=str))
    if said > SAID_LENGTH:
        raise BadInput(say("said_too_long", length=said, limit=SAID_LENGTH))
    if any(serial.has_marks(value) for value in (wanted.inputs, wanted.items, wanted.options, wanted.metadata)):
        raise BadInput(say("names_reserved", first=FILE_MARK, second=serial.LARGE_MARK))


def submitted(
    place: AppState, access: Access, client: Client, wanted: NewTask, uploads: list[UploadFile]
) -> tuple[Task, bool]:
    """Submit the task; return it and whether it is new."""
    return client.submit_or_find(
        pipeline_of(place, wanted.pipeline), submission_of(place, access, client, wanted, uploads)
    )


def submitted_together(
    place: AppState, access: Access, client: Client, wanted: Sequence[NewTask]
) -> list[tuple[Task, bool] | Exception]:
    """Submit many tasks in few transactions; for each the task and whether it is new, or the error."""
    found: list[tuple[Task, bool] | Exception] = [NotFound("")] * len(wanted)
    groups: dict[str, list[tuple[int, Submission]]] = {}
    for place_in_list, one in enumerate(wanted):
        try:
            made = submission_of(place, access, client, one, [])
            groups.setdefault(one.pipeline, []).append((place_in_list, made))
        except (FanfoldError, HandlerError) as problem:
            found[place_in_list] = problem
    for name, members in groups.items():
        made_tasks = client.submit_or_find_many(pipeline_of(place, name), [one for _, one in members])
        for (place_in_list, _), task in zip(members, made_tasks, strict=True):
            found[place_in_list] = task
    return found


def submission_of(
    place: AppState, access: Access, client: Client, wanted: NewTask, uploads: list[UploadFile]
) -> Submission:
    """The submission of a task, checked against what the caller may do and what the pipeline accepts."""
    if wanted.owner is not None and not access.sees_all and wanted.owner != access.owner:
        raise NotAllowed(say("owner_not_allowed", token=access.name, owner=access.owner, wanted=wanted.owner))
    pipeline = pipeline_of(place, wanted.pipeline)
    files = [*map(given, wanted.files), *(Upload(file_name(upload.filename), upload.file) for upload in uploads)]
    check_endings(pipeline, files)
    return Submission(
        inputs=[*wanted.inputs, *files],
        items=None if wanted.items is None else [new_item(value) for value in wanted.items],
        options=wanted.options,
        title=wanted.title,
        key=wanted.key,
        priority=wanted.priority,
        tags=wanted.tags,
        owner=client.owner if client.owner is not None else (wanted.owner or ""),
        retry_limit=wanted.retry_limit,
        metadata=wanted.metadata,
        straight_through=wanted.straight_through,
        literal=True,
        actor=client.actor,
        budget=wish(wanted.budget, strict=wanted.strict_budget, allow_unknown_cost=wanted.allow_unknown_cost),
        sample=wanted.sample,
        run_at=wanted.run_at,
        delay=wanted.delay,
        notify=wanted.notify,
    )


def pipeline_of(place: AppState, name: str) -> Pipeline:
    """One of the server's pipelines."""
    if name not in place.pipelines:
        raise NotFound(say("no_pipeline", pipeline=name[:100], known=sorted(place.pipelines)))
    return place.pipelines[name]


def has_secret(place: AppState, options: dict[str, Any]) -> bool:
    """Whether a given option is a secret of some pipeline, to be applied to the file at once in a child process."""
    declared = (one for pipeline in place.pipelines.values() for one in pipeline.declared.values())
    return any(one.kind == SECRET and options.get(one.name) for one in declared)


def has_archive(place: AppState, pipeline: str, files: Iterable[str | None]) -> bool:
    """Whether one of these files is unpacked at submit."""
    known = place.pipelines.get(pipeline)
    return known is not None and any(unpacks(known, name or "") for name in files)


def check_endings(pipeline: Pipeline, files: list[Upload]) -> None:
    """Check that the pipeline accepts these files."""
    for file in files:
        if pipeline.accepts and not file.name.lower().endswith(pipeline.accepts):
            endings = " or ".join(pipeline.accepts)
            raise BadInput(say("file_ending", pipeline=pipeline.title, endings=endings, file=file.name))


def given(file: GivenFile) -> Upload:
    """A file embedded in the JSON."""
    if (file.text is None) == (file.base64 is None):
        raise BadInput(say("text_or_base64", file=file.name))
    if file.text is not None:
        return Upload(file_name(file.name), file.text.encode("utf-8", "replace"))
    try:
        return Upload(file_name(file.name), base64.b64decode(file.base64 or "", validate=True))
    except (binascii.Error, ValueError):
        raise BadInput(say("not_base64", file=file.name)) from None


def file_name(name: str | None) -> str:
    """The last path component of an upload's name, without characters that file systems or databases refuse."""
    last = re.split(r"[/\\]", name or "")[-1]
    clean = "".join(letter for letter in last if letter.isprintable()).strip()
    return clean.encode("utf-8", "replace").decode()[-200:] if clean.strip(".") else "file"


def new_item(value: Any) -> Any:
    """An item: an object with only `key` and `input`, or the input itself."""
    if isinstance(value, dict) and "input" in value and set(value) <= {"key", "input"}:
        key = value.get("key")
        if key is not None and not isinstance(key, str):
            raise BadInput(say("item_key_text", key=repr(key)))
        return NewItem(key, value["input"])
    return value
