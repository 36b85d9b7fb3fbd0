"""Checks the provider and model that a command names, before anything is begun."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from fanfold.errors import BadInput

REACHED_WITHIN_SECONDS = 2.0


def chosen(provider: str | None, model: str | None, fallback: Sequence[str]) -> dict[str, Any]:
    """The options `provider` and `model` that are meant; BadInput says why they cannot be used."""
    from fanfold.model.pipelines.options import LOCAL
    from fanfold.providers.configuration import choose, find, load
    from fanfold.providers.services import objection

    if provider in (None, LOCAL) and not model:
        if fallback:
            raise BadInput("--fallback is for models: say --provider or --model as well.")
        return {}
    known = load()
    if provider == LOCAL:
        raise BadInput(f"{LOCAL} has no models. Leave out --model, or name another provider.")
    if provider is not None:
        find(provider, known)
    named = (model or "").partition(":")[0]
    if provider is not None and named in known and named != provider:
        raise BadInput(f"--provider says {provider} and --model says {named}. Name one of them.")
    if LOCAL in fallback[:-1]:
        raise BadInput(f"--fallback {LOCAL} comes last: what no model can do is then done here.")
    entry = f"{provider}:{model}" if provider and model and named not in known else model or provider
    found = [choose(one, known) for one in (str(entry), *(one for one in fallback if one != LOCAL))]
    for service, _ in found:
        if reason := objection(service) or _absence(service.base_url, service.name):
            raise BadInput(reason)
    return {"provider": found[0][0].name, "model": found[0][1]}


def limit_calls(provider: str, at_once: int) -> None:
    """Let this process, and those it starts, make so many calls to a provider at a time."""
    name = provider.upper().replace("-", "_")
    os.environ[f"FANFOLD_PROVIDERS_{name}_CONCURRENCY"] = str(at_once)


def _absence(address: str, name: str) -> str | None:
    """Why a server that should run on this very machine cannot be used; None when it is there, or elsewhere."""
    parts = urlsplit(address)
    if parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        return None
    try:
        socket.create_connection((parts.hostname, parts.port or 80), timeout=REACHED_WITHIN_SECONDS).close()
    except OSError:
        return f"{name} cannot be reached at {parts.scheme}://{parts.netloc.rpartition('@')[2]}. Start it first."
    return None
