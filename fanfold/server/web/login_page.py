"""Who is it? The page that takes a token, the way out, and the choice of the language."""

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
from fanfold.server.requests.access import COOKIE, At
from fanfold.server.threads.database_threads import Router
from fanfold.server.web.frame import languages as words
from fanfold.server.web.frame.languages import LANGUAGES
from fanfold.server.web.frame.templating import page

router = Router()
PAUSE_SECONDS = 0.5
"""Whoever guesses has to wait; a token has 256 random bits, so this only keeps the log short."""
KEPT_SECONDS = 30 * 86_400
LOCAL = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")
Next = Annotated[str, Query(max_length=2_000)]
NextField = Annotated[str, Form(max_length=2_000)]


def local(address: str) -> str:
    """A page of this server; anything that a browser could take for another one becomes the first page."""
    return address if LOCAL.fullmatch(address) else "/"


@router.get("/login")
async def login_page(request: Request, next: Next = "/") -> Response:
    """Ask for a token."""
    return page(request, "login.html", None, next=local(next), wrong=False)


@router.post("/login")
async def login(
    request: Request, place: At, token: Annotated[str, Form(max_length=500)] = "", next: NextField = "/"
) -> Response:
    """Take a token: a valid one is kept in a cookie that no script can read and no other site can send."""
    if await run_in_threadpool(tokens.find, place.store, token.strip()) is None:
        await asyncio.sleep(PAUSE_SECONDS)  # Holds no thread: of these the server has few.
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
    """Choose a language, by a link."""
    return chosen(request, code, next)


@router.post("/language/{code}")
async def choose(request: Request, code: str, next: NextField = "/") -> Response:
    """Choose a language."""
    return chosen(request, code, next)


def chosen(request: Request, code: str, next: str) -> Response:
    """The page that was looked at, from now on in the language."""
    if code not in LANGUAGES:
        raise NotFound(say("no_language", language=code[:20], known=list(LANGUAGES)))
    answer = RedirectResponse(local(next), 303)
    secure = request.url.scheme == "https"
    answer.set_cookie(words.COOKIE, code, max_age=365 * 86_400, samesite="lax", secure=secure, path="/")
    return answer
