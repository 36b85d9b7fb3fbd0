"""Values of tasks as JSON: a file becomes its name, size and URL."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any
from urllib.parse import quote

from fanfold.model.item import Result
from fanfold.model.values.files import File
from fanfold.server.api.shapes.shared_shapes import API
from fanfold.server.requests.adapted_messages import neutral


def shallow(record: Any) -> dict[str, Any]:
    """The fields of a record, with tuples as lists for JSON."""
    known = {field.name: getattr(record, field.name) for field in fields(record)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in known.items()}


def plain(value: Any, task_id: str) -> Any:
    """A value as JSON; a file becomes its name, size and URL."""
    if isinstance(value, File):
        return {"name": value.name, "size": value.size, "url": file_url(value, task_id)}
    if isinstance(value, dict):
        return {str(key): plain(inner, task_id) for key, inner in value.items()}
    if isinstance(value, Result):
        return plain(neutral(value)._asdict(), task_id)
    if isinstance(value, list | tuple | set):
        return [plain(inner, task_id) for inner in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), task_id) for field in fields(value)}
    return value


def file_url(file: File, task_id: str) -> str:
    """URL of a task's file."""
    return f"{API}/tasks/{task_id}/files/{quote(file.key.rpartition('/')[2])}"
