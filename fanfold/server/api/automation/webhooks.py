"""Routes for webhooks: list, add, test and remove them. All but the list need the role admin."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field

from fanfold.engine.webhooks.endpoints import URL_LENGTH, Webhook
from fanfold.engine.webhooks.notices import EVENTS
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes.json_values import shallow
from fanfold.server.api.shapes.shared_shapes import Text
from fanfold.server.api.shapes.task_shapes import TaskShape
from fanfold.server.requests.authentication import Looking, Managing
from fanfold.server.threads.database_threads import Router

router = Router(tags=["webhooks"])
Name = Annotated[Text, Path(max_length=63)]


class WebhookShape(BaseModel):
    """A webhook. Its secret is known only to the workers."""

    name: str
    url: str
    events: list[str]
    pipeline: str | None
    owner: str | None
    actor: str
    created_at: datetime
    disabled_at: datetime | None = Field(description="Since when nothing is sent, because the receiver answered 410.")
    disabled_because: str | None

    @classmethod
    def of(cls, webhook: Webhook) -> WebhookShape:
        """The webhook as JSON."""
        return cls.model_construct(**shallow(webhook))


class NewWebhook(BaseModel):
    """A webhook to add, or to replace."""

    url: Text = Field(max_length=URL_LENGTH)
    events: list[Text] = Field(default=list(EVENTS), max_length=20)
    pipeline: Text | None = Field(default=None, max_length=63)
    owner: Text | None = Field(default=None, max_length=200)

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"url": "https://example.com/hook", "events": ["failed"]}]}
    )


@router.get("/webhooks", responses=may_answer())
def list_webhooks(client: Looking, _access: Managing) -> list[WebhookShape]:
    """List the webhooks."""
    return [WebhookShape.of(one) for one in client.webhooks.list()]


@router.put("/webhooks/{name}", responses=may_answer())
def put_webhook(client: Looking, _access: Managing, name: Name, wish: NewWebhook) -> WebhookShape:
    """Add a webhook, or replace the one with this name, and enable it."""
    added = client.webhooks.add(name, wish.url, events=wish.events, pipeline=wish.pipeline, owner=wish.owner)
    return WebhookShape.of(added)


@router.post("/webhooks/{name}/test", status_code=201, responses=may_answer(404))
def send_test(client: Looking, _access: Managing, name: Name) -> TaskShape:
    """Deliver an event `task.test`; the task shows what the receiver answers."""
    return TaskShape.of(client.webhooks.test(name))


@router.delete("/webhooks/{name}", status_code=204, responses=may_answer(404))
def remove_webhook(client: Looking, _access: Managing, name: Name) -> None:
    """Remove a webhook."""
    client.webhooks.remove(name)
