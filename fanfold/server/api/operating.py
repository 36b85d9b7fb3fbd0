"""Routes for the installation: pipelines, providers, workers, metrics, health and administration."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import Body, Path
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from fanfold.engine import tokens
from fanfold.engine.queries import doctor
from fanfold.engine.queries.metrics import Metrics
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.engine.tasks.recovery.sweep import clean
from fanfold.engine.tasks.recovery.tick import TickReport, tick
from fanfold.engine.tasks.steering.delete import prune
from fanfold.engine.tasks.submitting.option_checks import check_options
from fanfold.engine.tasks.submitting.unlock import taken_out
from fanfold.engine.templates import with_templates
from fanfold.engine.webhooks.deliveries import OWN_PIPELINES
from fanfold.errors import BadInput
from fanfold.model.pipelines.options import schema
from fanfold.model.plan import PlannedStage
from fanfold.providers import configuration
from fanfold.providers.configuration import Provider
from fanfold.providers.costs.price_list import listed_price
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes.shared_shapes import Text
from fanfold.server.api.submitting import pipeline_of
from fanfold.server.requests.adapted_messages import sentences_of
from fanfold.server.requests.authentication import Asking, At, Looking, Managing, Overseeing, Ticking
from fanfold.server.threads.database_threads import Router
from fanfold.server.watching.exposition import exposed
from fanfold.store.rows.tokens import TokenRow
from fanfold.store.rows.workers import WorkerRow

router = Router(tags=["operating"])
plain = Router(tags=["operating"])
TICK_SECONDS = 55.0
"""Longest tick over HTTP: cloud functions and proxies often end a request after 60 seconds."""


class FormShape(BaseModel):
    """A form of a result: `GET /tasks/{task_id}/result?form=NAME`."""

    name: str
    label: str
    media_type: str
    ending: str
    partial: bool = Field(description="Whether it is available before the task is completed, with `partial=1`.")


class PipelineShape(BaseModel):
    """A pipeline of the server: its inputs and its stages."""

    name: str
    title: str
    accepts: list[str]
    options: dict[str, str] = Field(description="Meaning of its options, by name.")
    options_schema: dict[str, Any] | None = Field(
        description="JSON Schema of its options; null if it declares none and accepts any."
    )
    stages: list[PlannedStage]
    actions: list[dict[str, Any]] = Field(description="Its actions: `POST /tasks/{task_id}/actions/NAME`.")
    view: str = Field(description="How the page shows the output of items; empty: chosen by the shape of the output.")
    forms: list[FormShape] = Field(description="Forms of the result, besides the result itself.")


class ProviderShape(BaseModel):
    """A model service, without its key."""

    name: str
    kind: str
    model: str
    ready: bool = Field(description="Whether its key, if it needs one, is set on the server.")
    price_input: float | None = Field(description="US dollars per million input tokens of its model; null: unknown.")
    price_output: float | None
    price_source: str = Field(description="`settings`, the price list with its version, or `unknown`.")
    price_dated: str | None = Field(description="The newest date that the price list names.")

    @classmethod
    def of(cls, provider: Provider) -> ProviderShape:
        """The service as JSON."""
        price = listed_price(provider, provider.model)
        return cls(
            name=provider.name,
            kind=provider.kind,
            model=provider.model,
            ready=not provider.lacks_key,
            price_input=price.input,
            price_output=price.output,
            price_source=price.source,
            price_dated=price.dated,
        )


class Me(BaseModel):
    """The caller."""

    name: str
    owner: str | None
    role: Literal["admin", "member", "viewer", "timer"]


class Health(BaseModel):
    """Whether the server can reach its database."""

    status: Literal["ok"]
    workers: int


class Pruned(BaseModel):
    """Number of tasks removed."""

    removed: int


class PruneRequest(BaseModel):
    """Which finished tasks to remove."""

    days: float | None = Field(default=None, gt=0, le=36_500, examples=[30])


class TickRequest(BaseModel):
    """How long to work."""

    seconds: float = Field(default=10.0, gt=0, le=TICK_SECONDS, examples=[45])
    tasks_per_stage: int = Field(default=10, ge=1, le=10_000, description="Most tasks to serve in each stage.")
    concurrency: int | None = Field(default=None, ge=1, le=1_000, description="Items to run at the same time.")

    model_config = ConfigDict(json_schema_extra={"examples": [{"seconds": 45}]})


class NewTokenRequest(BaseModel):
    """A token to be made."""

    name: str = Field(min_length=1, max_length=100)
    role: Literal["admin", "member", "viewer", "timer"] = "member"
    owner: Text | None = Field(default=None, description="Whose tasks it sees; by default the token's name; `*`: all.")
    days: float | None = Field(
        default=None, gt=0, le=36_500, description="Days until it expires; null: valid until revoked."
    )

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "ann", "role": "member"}]})


class MadeToken(BaseModel):
    """A new token; its secret is shown only here."""

    name: str
    owner: str | None
    role: Literal["admin", "member", "viewer", "timer"]
    secret: str


@router.get("/me", responses=may_answer())
def get_me(access: Asking) -> Me:
    """Get the identity of the caller."""
    return Me.model_construct(name=access.name, owner=access.owner, role=access.role.value)


@router.get("/pipelines", responses=may_answer())
def list_pipelines(place: At, _access: Asking) -> list[PipelineShape]:
    """List the pipelines that tasks can be submitted to."""
    return [
        PipelineShape.model_construct(
            name=one.name,
            title=one.title,
            accepts=list(one.accepts),
            options=one.options,
            options_schema=schema(one.declared) if one.declared else None,
            stages=list(one.plan().stages),
            actions=[action.described() for action in one.actions.values()],
            view=one.view,
            forms=[FormShape(**form.described()) for form in one.forms.values()],
        )
        for one in sorted(place.pipelines.values(), key=lambda one: one.name)
    ]


class OptionsRequest(BaseModel):
    """Options to be checked."""

    options: dict[str, JsonValue] = {}

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"options": {"pages": "1-3"}}]})


@router.post("/pipelines/{name}/check", status_code=204, responses=may_answer(404))
async def check_pipeline_options(place: At, _access: Asking, name: Text, wish: OptionsRequest) -> None:
    """Check options before an upload: 204 if a task can be submitted with them, otherwise 422."""
    pipeline = pipeline_of(place, name)
    named, _ = await run_in_threadpool(with_templates, place.store, pipeline, wish.options)
    plain, _ = taken_out(pipeline, named)
    await run_in_threadpool(check_options, pipeline, plain)


@router.get("/providers", responses=may_answer())
def list_providers(_access: Asking) -> list[ProviderShape]:
    """List the model services configured on the server."""
    return [ProviderShape.of(one) for one in configuration.load().values()]


@router.get("/labels", responses=may_answer())
def list_labels(client: Looking) -> dict[str, list[str]]:
    """List the tags and owners of tasks."""
    return WebQueries(client.lookup).labels()


@router.get("/counts", responses=may_answer())
def count_tasks(client: Looking) -> dict[str, int]:
    """Count the tasks in each state."""
    return client.counts()


@router.get("/workers", responses=may_answer())
def list_workers(client: Looking, _access: Overseeing) -> list[WorkerRow]:
    """List the workers, live ones first."""
    return client.workers()


@router.get("/metrics", responses=may_answer())
def get_metrics(client: Looking, _access: Overseeing) -> Metrics:
    """Get the metrics of the installation as JSON; `/metrics` has them for Prometheus."""
    return client.metrics()


@router.get("/doctor", responses=may_answer())
def examine(place: At, _access: Overseeing) -> list[doctor.DoctorCheck]:
    """Check the installation; each check has a fact and advice."""
    return [replace(one, **sentences_of(vars(one))) for one in doctor.examine(place.store.settings)]


@router.post("/prune", responses=may_answer())
def prune_tasks(
    place: At,
    access: Managing,
    wish: PruneRequest = Body(default_factory=PruneRequest),  # noqa: B008
) -> Pruned:
    """Remove tasks that finished more than `days` ago (by default `retention_days`), with their files."""
    if wish.days is None and not place.store.settings.retention_days:
        raise BadInput("retention_days is 0, which keeps tasks forever. Set `days` to remove older tasks.")
    removed = prune(place.store, place.pipelines, access.name, wish.days)
    clean(place.store)
    return Pruned(removed=removed)


@router.post("/tick", responses=may_answer())
def do_tick(
    place: At,
    _access: Ticking,
    wish: TickRequest = Body(default_factory=TickRequest),  # noqa: B008
) -> TickReport:
    """Work on what is due for a limited time: for a server without workers, called by a timer with a token of the role timer.

    `advanced` tasks got further, `waiting` items wait for an external job, and `next_due_seconds` says when a timer that can
    sleep should call again.
    """
    served = {one.name: one for one in (*OWN_PIPELINES, *place.pipelines.values())}
    return tick(
        place.store,
        served.values(),
        seconds=wish.seconds,
        tasks_per_stage=wish.tasks_per_stage,
        concurrency=wish.concurrency,
    )


@router.get("/tokens", responses=may_answer())
def list_tokens(place: At, _access: Managing) -> list[TokenRow]:
    """List the tokens, without their secrets."""
    return tokens.every(place.store)


@router.post("/tokens", status_code=201, responses=may_answer())
def create_token(place: At, _access: Managing, wish: NewTokenRequest) -> MadeToken:
    """Create a token; its secret is only in this response."""
    made = tokens.create(place.store, wish.name, role=wish.role, owner=wish.owner, days=wish.days)
    return MadeToken.model_construct(name=made.name, owner=made.owner, role=made.role.value, secret=made.secret)


@router.delete("/tokens/{name}", status_code=204, responses=may_answer(404))
def revoke_token(place: At, _access: Managing, name: Annotated[Text, Path(max_length=100)]) -> None:
    """Revoke a token; it stops working immediately."""
    tokens.revoke(place.store, name)


@plain.get("/health", responses=may_answer(always=(421, 503)), openapi_extra={"security": []})
async def health(place: At) -> Health:
    """Report whether the server can reach its database. Needs no token and always answers within seconds."""
    return Health(status="ok", workers=await place.database_health.workers())


@plain.get("/metrics", responses={**may_answer(), 200: {"content": {"text/plain": {}}}}, response_class=Response)
def prometheus(place: At, client: Looking, _access: Overseeing) -> Response:
    """Get the metrics for Prometheus."""
    return Response(exposed(client.metrics(), place.live, client.limits()), media_type=CONTENT_TYPE_LATEST)
