"""Routes for templates: list, read, check, save and delete them, and see which tasks used them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from fanfold.engine.templates import NOTE_LENGTH
from fanfold.model.lifecycle import TaskState
from fanfold.model.pipelines.template_kinds import TemplateKind
from fanfold.model.template import Template, TemplateUse
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes.json_values import shallow
from fanfold.server.api.shapes.shared_shapes import Text
from fanfold.server.api.tasks import MAY_CHANGE
from fanfold.server.requests.adapted_messages import without_commands
from fanfold.server.requests.authentication import Looking, Managing
from fanfold.server.threads.database_threads import Router, making

router = Router(tags=["templates"])
Kind = Annotated[Text, Path(max_length=63, description="Kind of the template, declared by a pipeline.")]
Name = Annotated[Text, Path(max_length=100)]


class TemplateShape(BaseModel):
    """A version of a template; it never changes."""

    kind: str
    name: str
    version: int
    body: JsonValue
    note: str
    actor: str = Field(description="Who saved it.")
    at: datetime

    @classmethod
    def of(cls, template: Template) -> TemplateShape:
        """The template as JSON."""
        return cls.model_construct(**shallow(template))


class TemplateKindShape(BaseModel):
    """A kind of template that a pipeline takes."""

    name: str
    label: str
    help: str
    option: str = Field(description="The option of a task that takes the name of such a template; empty if none does.")
    example: str

    @classmethod
    def of(cls, kind: TemplateKind) -> TemplateKindShape:
        """The kind as JSON."""
        return cls(name=kind.name, label=kind.title, help=kind.help, option=kind.option, example=kind.example)


class TemplateUseShape(BaseModel):
    """A task that used a version of a template."""

    kind: str
    name: str
    version: int
    task: str
    title: str
    state: TaskState
    at: datetime

    @classmethod
    def of(cls, use: TemplateUse) -> TemplateUseShape:
        """The use as JSON."""
        return cls.model_construct(**shallow(use))


class TemplateBody(BaseModel):
    """A template to check."""

    body: JsonValue

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"body": {"age": "How old?"}}]})


class TemplateRequest(TemplateBody):
    """A template to save."""

    note: Text = Field(default="", max_length=NOTE_LENGTH, description="What has changed.")

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"body": {"age": "How old?"}, "note": "ages only"}]}
    )


class TemplateMistakes(BaseModel):
    """The mistakes in a template; it can be saved if there are none."""

    problems: list[str]


@router.get("/templates", responses=may_answer())
def list_templates(
    client: Looking,
    kind: Annotated[Text | None, Query(max_length=63)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
) -> list[TemplateShape]:
    """List the newest version of each template."""
    return [TemplateShape.of(one) for one in client.templates.list(kind, limit=limit)]


@router.get("/templates/kinds", responses=may_answer())
def list_template_kinds(client: Looking) -> list[TemplateKindShape]:
    """List the kinds of templates that pipelines take."""
    return [TemplateKindShape.of(one) for one in client.templates.kinds()]


@router.get("/templates/{kind}/{reference}", responses=may_answer(404))
def get_template(
    client: Looking,
    kind: Kind,
    reference: Annotated[Text, Path(max_length=120, description="`name`, or `name@2` for a specific version.")],
) -> TemplateShape:
    """Get a template, by default its newest version."""
    return TemplateShape.of(client.templates.get(kind, reference))


@router.put("/templates/{kind}/{name}", responses=may_answer(404), dependencies=MAY_CHANGE)
async def save_template(client: Looking, kind: Kind, name: Name, wish: TemplateRequest) -> TemplateShape:
    """Save a template, or its next version; a body equal to the newest makes no new version.

    Its application checks it first. If it is invalid, the error `bad_template` lists all its `problems`.
    """
    return TemplateShape.of(await making(client.templates.save, kind, name, wish.body, note=wish.note))


@router.post("/templates/{kind}/check", responses=may_answer(404))
async def check_template(client: Looking, kind: Kind, wish: TemplateBody) -> TemplateMistakes:
    """List the mistakes in a template without saving it."""
    found = await making(client.templates.check, kind, wish.body)
    return TemplateMistakes(problems=[str(without_commands(one)) for one in found])


@router.get("/templates/{kind}/{name}/versions", responses=may_answer(404))
def list_template_versions(
    client: Looking, kind: Kind, name: Name, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> list[TemplateShape]:
    """List the versions of a template, newest first."""
    return [TemplateShape.of(one) for one in client.templates.versions(kind, name, limit=limit)]


@router.get("/templates/{kind}/{name}/tasks", responses=may_answer(404))
def list_template_tasks(
    client: Looking, kind: Kind, name: Name, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> list[TemplateUseShape]:
    """List the tasks that used a template, newest first."""
    return [TemplateUseShape.of(one) for one in client.templates.tasks(kind, name, limit=limit)]


@router.delete("/templates/{kind}/{name}", status_code=204, responses=may_answer(404))
def delete_template(client: Looking, _access: Managing, kind: Kind, name: Name) -> None:
    """Delete a template with all its versions; needs the role admin. Tasks that used it are not changed."""
    client.templates.delete(kind, name)
