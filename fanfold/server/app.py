"""Builds the server's app: its routes, its guard, and what starts and stops with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI

import fanfold
from fanfold.server.api import (
    actions,
    changes,
    decisions,
    external,
    items,
    operating,
    results,
    streams,
    table,
    tasks,
    templates,
)
from fanfold.server.api.automation import schedules, wake, webhooks
from fanfold.server.api.documented import completed
from fanfold.server.api.money import batches, budgets, costs, credits, estimates, limits
from fanfold.server.app_state import AppState
from fanfold.server.requests.conditional import CachedResponses
from fanfold.server.requests.guard import Guard
from fanfold.server.requests.problems import told
from fanfold.server.threads.database_threads import limit_readers
from fanfold.server.web import pages
from fanfold.server.web.frame.languages import learn

API = "/api/v1"
MODULES = (
    tasks, actions, batches, budgets, costs, credits, decisions, estimates, external, items, results, streams, operating, limits,
    table, templates, changes, schedules, wake, webhooks,
)  # fmt: skip
DESCRIPTION = """
A task is split into items, each item is processed separately, and the results are merged.

Errors are problem documents (`application/problem+json`) with a stable `code`. A command that the task's state does not
allow gets a 409; `available_commands` of the task lists the commands possible now.
"""


class App(FastAPI):
    """FastAPI's app with a complete OpenAPI description."""

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI description."""
        return completed(super().openapi())


def make_app(place: AppState) -> FastAPI:
    """The server for one installation."""

    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        limit_readers()
        place.live.start()
        yield
        place.live.close()
        place.live.join()
        place.pictures.close()
        place.database_health.close()

    app = App(
        title="Fanfold",
        version=fanfold.__version__,
        description=DESCRIPTION,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=life,
    )
    app.state.place = place
    learn(place.pipelines.values())
    for module in MODULES:
        app.include_router(module.router, prefix=API)
    app.include_router(operating.plain)
    app.include_router(pages.router, include_in_schema=False)
    app.mount("/static", pages.static_files(), name="static")
    told(app, pages.tell_error, pages.speak)
    app.add_middleware(CachedResponses)
    app.add_middleware(Guard, place=place)
    return app
