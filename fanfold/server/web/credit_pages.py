"""The page of credits: balances and entries. Owners see their own; an admin grants credits there."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Form, Query, Request
from starlette.responses import RedirectResponse, Response

from fanfold.errors import FanfoldError
from fanfold.server.api.shapes.shared_shapes import Text
from fanfold.server.requests.authentication import Access, Asking, Looking, Managing
from fanfold.server.threads.database_threads import Router
from fanfold.server.web.frame.templating import page

router = Router()
SHOWN = 100


@router.get("/credits")
def listed(
    request: Request,
    access: Asking,
    client: Looking,
    owner: Annotated[Text | None, Query(max_length=200)] = None,
    before: Annotated[int | None, Query(ge=1)] = None,
) -> Response:
    """The accounts, and the newest entries of all of them or of one."""
    return _page(request, access, client, owner=owner or None, before=before)


@router.post("/credits/grant")
def grant(
    request: Request,
    access: Managing,
    client: Looking,
    owner: Annotated[str, Form(max_length=200)] = "",
    amount: Annotated[str, Form(max_length=20)] = "",
    reason: Annotated[str, Form(max_length=1_000)] = "",
    key: Annotated[str, Form(max_length=100)] = "",
) -> Response:
    """Grant credits, once per form: ``key`` is made with it. Shows the form again with what is wrong."""
    given = {"owner": owner, "amount": amount, "note": reason}
    try:
        number = int(amount) if amount.strip().isdecimal() else 0
        client.credits.grant(owner.strip(), number, reason=reason.strip() or None, key=key or None)
    except FanfoldError as problem:
        return _page(request, access, client, problem=problem.message, given=given)
    return RedirectResponse("/credits", 303)


def _page(
    request: Request,
    access: Access,
    client: Any,
    *,
    owner: str | None = None,
    before: int | None = None,
    problem: str | None = None,
    given: dict[str, Any] | None = None,
) -> Response:
    from secrets import token_hex

    accounts = client.credits.accounts(limit=SHOWN)
    entries = client.credits.entries(owner, before=before, limit=SHOWN)
    known = {"owner": owner or "", "amount": "", "note": "", "key": f"page-{token_hex(12)}", **(given or {})}
    more = entries[-1].id if len(entries) == SHOWN else None
    status = 422 if problem else 200
    return page(
        request, "credits.html", access, status, accounts=accounts, entries=entries, owner=owner, more=more,
        problem=problem, given=known,
    )  # fmt: skip
