"""Authenticates requests by a token in a header or cookie. On a loopback address no token is needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security.utils import get_authorization_scheme_param

from fanfold.engine import tokens
from fanfold.engine.client import Client
from fanfold.engine.tokens import Role
from fanfold.errors import FanfoldError
from fanfold.model.text.sentences import say
from fanfold.server.app_state import AppState, place_of

COOKIE = "fanfold_token"


class NotAllowed(FanfoldError):
    """The request is not allowed: 401 without a valid token, 403 if the token's role is not enough."""

    code = "forbidden"


@dataclass(frozen=True)
class Access:
    """The caller: the name recorded in events, the owner whose tasks they see (None: all owners), and their role."""

    name: str
    owner: str | None
    role: Role
    token: str | None = None
    """Hash of the token. Open streams end when the token is revoked or expires."""

    @property
    def sees_all(self) -> bool:
        """Whether they see the tasks of every owner."""
        return self.owner is None

    @property
    def may_change(self) -> bool:
        """Whether they may change anything."""
        return self.role in (Role.ADMIN, Role.MEMBER)

    @property
    def may_tick(self) -> bool:
        """Whether they may start ticks."""
        return self.role in (Role.ADMIN, Role.TIMER)

    @property
    def is_admin(self) -> bool:
        """Whether they may manage the installation."""
        return self.role is Role.ADMIN


ANYBODY = Access("person", None, Role.ADMIN)
"""Access on a loopback address without tokens: anyone who can reach it already has the machine."""


def bearer_of(request: Request) -> str | None:
    """The token in the header, if any."""
    scheme, value = get_authorization_scheme_param(request.headers.get("authorization"))
    return value if scheme.lower() == "bearer" and value else None


def secret_of(request: Request) -> str | None:
    """The token of the request, from the header or the page's cookie."""
    return bearer_of(request) or request.cookies.get(COOKIE)


def access_of(request: Request) -> Access:
    """Identify the caller. Raises NotAllowed if a token is required and no valid one was given."""
    place = place_of(request)
    secret = secret_of(request)
    if secret is None and not place.demands_token:
        return ANYBODY
    found = None if secret is None else tokens.find(place.store, secret)
    if found is None and not place.demands_token and not bearer_of(request):
        return ANYBODY  # An old cookie on a server that needs no token.
    if found is None:
        raise NotAllowed(say("token_invalid") if secret else say("token_demanded"), code="unauthorized")
    return Access(found.name, found.owner, Role(found.role), tokens.hashed(secret or ""))


Asking = Annotated[Access, Depends(access_of)]


def changing(access: Asking) -> Access:
    """Require a caller who may change things."""
    if not access.may_change:
        raise NotAllowed(say("only_look", token=access.name, role=access.role))
    return access


def managing(access: Asking) -> Access:
    """Require an admin."""
    if not access.is_admin:
        raise NotAllowed(say("needs_admin", token=access.name, role=access.role))
    return access


def ticking(access: Asking) -> Access:
    """Require an admin, or a token that is made for ticks."""
    if not access.may_tick:
        raise NotAllowed(say("needs_timer", token=access.name, role=access.role))
    return access


def overseeing(access: Asking) -> Access:
    """Require a caller who sees all owners: installation-wide figures reveal something about every owner."""
    if not access.sees_all:
        raise NotAllowed(say("all_owners", token=access.name, owner=access.owner))
    return access


Changing = Annotated[Access, Depends(changing)]
Ticking = Annotated[Access, Depends(ticking)]
Managing = Annotated[Access, Depends(managing)]
Overseeing = Annotated[Access, Depends(overseeing)]


def client_of(request: Request, access: Asking) -> Client:
    """A client limited to what the caller may see, whose commands carry the caller's name."""
    if access.role is Role.TIMER:
        raise NotAllowed(say("timer_only_ticks", token=access.name))
    return place_of(request).client(access.owner, access.name)


Looking = Annotated[Client, Depends(client_of)]
At = Annotated[AppState, Depends(place_of)]
