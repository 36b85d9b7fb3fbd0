"""Login with a token, logout, and the choice of language."""

from __future__ import annotations

import asyncio
import re
from typing import Annotated

from fastapi import Form, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from fanfold.engine import tokens
from fanfold.errors import NotFound
from fanfold.model.text.sentences import say
from fanfold.server.requests.authentication import COOKIE, At
from fanfold.server.threads.database_threads import Router
from fanfold.server.web.frame import languages as words
from fanfold.server.web.frame.languages import LANGUAGES
from fanfold.server.web.frame.templating import page

router = Router()
PAUSE_SECONDS = 0.5
"""Delay after a wrong token. A token has 256 random bits, so this only keeps the log short."""
KEPT_SECONDS = 30 * 86_400
LOCAL = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")
Next = Annotated[str, Query(max_length=2_000)]
NextField = Annotated[str, Form(max_length=2_000)]


def local(address: str) -> str:
    """A path on this server; anything a browser could read as another site becomes the first page."""
    return address if LOCAL.fullmatch(address) else "/"


@router.get("/login")
async def login_page(request: Request, next: Next = "/") -> Response:
    """Ask for a token."""
    return page(request, "login.html", None, next=local(next), wrong=False)


@router.post("/login")
async def login(
    request: Request, place: At, token: Annotated[str, Form(max_length=500)] = "", next: NextField = "/"
) -> Response:
    """Check a token and store it in a cookie that no script can read and no other site can send."""
    if await run_in_threadpool(tokens.find, place.store, token.strip()) is None:
        await asyncio.sleep(PAUSE_SECONDS)  # Takes none of the server's few threads.
        return page(request, "login.html", None, 401, next=local(next), wrong=True)
    answer = RedirectResponse(local(next), 303)
    secure = request.url.scheme == "https"
    answer.set_cookie(
        COOKIE, token.strip(), max_age=KEPT_SECONDS, httponly=True, samesite="strict", secure=secure, path="/"
    )
    return answer


@router.post("/logout")
async def logout() -> Response:
    """Forget the token."""
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer


@router.get("/language/{code}")
async def choose_by_address(request: Request, code: str, next: Next = "/") -> Response:
    """Choose a language with a link."""
    return chosen(request, code, next)


@router.post("/language/{code}")
async def choose(request: Request, code: str, next: NextField = "/") -> Response:
    """Choose a language."""
    return chosen(request, code, next)


def chosen(request: Request, code: str, next: str) -> Response:
    """Return to the previous page in the chosen language."""
    if code not in LANGUAGES:
        raise NotFound(say("no_language", language=code[:20], known=list(LANGUAGES)))
    answer = RedirectResponse(local(next), 303)
    secure = request.url.scheme == "https"
    answer.set_cookie(words.COOKIE, code, max_age=365 * 86_400, samesite="lax", secure=secure, path="/")
    return answer
