"""Who is asking, and what may they do? Tokens from a header or a cookie; on a loopback address nobody needs one."""

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
    """Whoever asks may not have this; 401 when they said no valid token, 403 when theirs does not reach so far."""

    code = "forbidden"


@dataclass(frozen=True)
class Access:
    """Who asks: the name that events will have, whose tasks they see (None: everybody's), and their role."""

    name: str
    owner: str | None
    role: Role
    token: str | None = None
    """The hash of the token, by which an open stream ends when the token does."""

    @property
    def sees_all(self) -> bool:
        """Whether the tasks of every owner are theirs to see."""
        return self.owner is None

    @property
    def may_change(self) -> bool:
        """Whether they may do more than look."""
        return self.role is not Role.VIEWER

    @property
    def is_admin(self) -> bool:
        """Whether the installation itself is theirs to manage."""
        return self.role is Role.ADMIN


ANYBODY = Access("person", None, Role.ADMIN)
"""On a loopback address without tokens: whoever can reach it has the machine anyway."""


def bearer_of(request: Request) -> str | None:
    """The token in the header, if there is one."""
    scheme, value = get_authorization_scheme_param(request.headers.get("authorization"))
    return value if scheme.lower() == "bearer" and value else None


def secret_of(request: Request) -> str | None:
    """The token that came with the request: in the header, or in the cookie of the page."""
    return bearer_of(request) or request.cookies.get(COOKIE)


def access_of(request: Request) -> Access:
    """Who asks; NotAllowed when a token is needed and none, or no valid one, was given."""
    place = place_of(request)
    secret = secret_of(request)
    if secret is None and not place.demands_token:
        return ANYBODY
    found = None if secret is None else tokens.find(place.store, secret)
    if found is None and not place.demands_token and not bearer_of(request):
        return ANYBODY  # A cookie of another day, on a server that needs none.
    if found is None:
        raise NotAllowed(say("token_invalid") if secret else say("token_demanded"), code="unauthorized")
    return Access(found.name, found.owner, Role(found.role), tokens.hashed(secret or ""))


Asking = Annotated[Access, Depends(access_of)]


def changing(access: Asking) -> Access:
    """Only who may change things."""
    if not access.may_change:
        raise NotAllowed(say("only_look", token=access.name, role=access.role))
    return access


def managing(access: Asking) -> Access:
    """Only who manages the installation."""
    if not access.is_admin:
        raise NotAllowed(say("needs_admin", token=access.name, role=access.role))
    return access


def overseeing(access: Asking) -> Access:
    """Only who sees the tasks of all owners: figures of the whole installation tell about all of them."""
    if not access.sees_all:
        raise NotAllowed(say("all_owners", token=access.name, owner=access.owner))
    return access


Changing = Annotated[Access, Depends(changing)]
Managing = Annotated[Access, Depends(managing)]
Overseeing = Annotated[Access, Depends(overseeing)]


def client_of(request: Request, access: Asking) -> Client:
    """A client that sees what they may see, and whose commands carry their name."""
    return place_of(request).client(access.owner, access.name)


Looking = Annotated[Client, Depends(client_of)]
At = Annotated[AppState, Depends(place_of)]
