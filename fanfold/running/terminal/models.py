"""Checks the provider and model named on the command line before any work starts."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from fanfold.errors import BadInput

REACHED_WITHIN_SECONDS = 2.0


def chosen(
    provider: str | None, model: str | None, fallback: Sequence[str], *, must_answer: bool = True
) -> dict[str, Any]:
    """Resolve the `provider` and `model` options; BadInput says why they cannot be used.

    Without ``must_answer``, as for an estimate, they need no key and no running server.
    """
    from fanfold.model.pipelines.options import LOCAL
    from fanfold.providers.configuration import choose, find, load
    from fanfold.providers.services.service import objection

    if provider in (None, LOCAL) and not model:
        if fallback:
            raise BadInput("--fallback needs a model: also pass --provider or --model.")
        return {}
    known = load()
    if provider == LOCAL:
        raise BadInput(f"{LOCAL} has no models. Leave out --model, or name another provider.")
    if provider is not None:
        find(provider, known)
    named = (model or "").partition(":")[0]
    if provider is not None and named in known and named != provider:
        raise BadInput(f"--provider says {provider} but --model says {named}. Name only one.")
    if LOCAL in fallback[:-1]:
        raise BadInput(f"--fallback {LOCAL} must come last: it handles what no model can do.")
    entry = f"{provider}:{model}" if provider and model and named not in known else model or provider
    found = [choose(one, known) for one in (str(entry), *(one for one in fallback if one != LOCAL))]
    for service, _ in found if must_answer else ():
        if reason := objection(service) or _absence(service.base_url, service.name):
            raise BadInput(reason)
    return {"provider": found[0][0].name, "model": found[0][1]}


def limit_calls(provider: str, at_once: int) -> None:
    """Limit concurrent calls to a provider in this process and its child processes."""
    name = provider.upper().replace("-", "_")
    os.environ[f"FANFOLD_PROVIDERS_{name}_CONCURRENCY"] = str(at_once)


def _absence(address: str, name: str) -> str | None:
    """Why a model server on this machine cannot be reached; None if it answers or runs elsewhere."""
    parts = urlsplit(address)
    if parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        return None
    try:
        socket.create_connection((parts.hostname, parts.port or 80), timeout=REACHED_WITHIN_SECONDS).close()
    except OSError:
        return f"{name} cannot be reached at {parts.scheme}://{parts.netloc.rpartition('@')[2]}. Start it first."
    return None
