"""Recognises secrets by the name of a value, and removes known secrets from texts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from urllib.parse import quote, unquote

HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")
"""Where one word of a name ends and the next begins: openaiApiKey, OPENAI_API_KEY, x-api-key."""
SECRET = re.compile(
    r"passw(or)?d|passphrase|pwd(_|$)|credential|authorization|(^|_)bearer(_|$)|secrets?(_|$)"
    r"|(private|secret|access|api|auth)_?keys?(_|$)|(api|auth|access|refresh|bearer)_?tokens?$|(^|_)token(_value)?$|._keys?$"
)
HARMLESS = re.compile(
    r"_(env|file|path|url|uri|name|count|limit|length)$"
    r"|(^|_)(sort|primary|foreign|public|cache|idempotency|item|group|row|partition|unique|object)_keys?$"
)
"""Names that only look secret: where to find a secret, what it is called, how many there are."""
CREDENTIALS = re.compile(r"[a-z][a-z0-9+.-]*://[^/@\s:]*:([^/@\s]+)@", re.IGNORECASE)
"""The password in a URL, such as that of a database."""
SHORTEST = 8
"""Shorter values are not keys, and would remove ordinary words from texts."""
LONG = 16
"""If a secret is at least this long, its beginning and end are secret too, from SHORTEST characters on."""
WORD = re.compile(r"[^A-Za-z0-9]?([A-Z]?[a-z]+|[a-z]+[A-Z]|[A-Z]+)[^A-Za-z0-9]?")
LONGEST_WORD = 11
"""A beginning that is a word and no longer than this is harmless: the `password` of `password-of-the-database`."""
BLANK = "…"


@lru_cache(maxsize=2_000)
def is_secret(name: str) -> bool:
    """Whether a name means that its value is secret; `key` and `max_tokens` do not."""
    words = "_".join(word.lower() for word in HUMP.split(name) if word)
    return SECRET.search(words) is not None and HARMLESS.search(words) is None


def secrets_in(variables: Mapping[str, str]) -> set[str]:
    """The secret values of an environment: those under secret names, and passwords in URLs."""
    named = {value.strip() for name, value in variables.items() if is_secret(name)}
    passwords = {found[1] for value in variables.values() for found in CREDENTIALS.finditer(value)}
    return {value for value in named | passwords | {unquote(one) for one in passwords} if len(value) >= SHORTEST}


def blanked(text: str, secrets: Iterable[str]) -> str:
    """The text without these secrets, as they are or as an address has them; the longest first, as one may hold another.

    Services also quote parts of a key, so the beginning and the end of a long secret are removed too.
    """
    ordered = sorted(secrets, key=len, reverse=True)
    for secret in ordered:
        if secret in text:
            text = text.replace(secret, BLANK)
        elif (quoted := quote(secret, safe="")) != secret:
            text = text.replace(quoted, BLANK)
    for secret in ordered:
        if len(secret) >= LONG:
            text = _without_beginnings(text, secret)
            text = _without_beginnings(text[::-1], secret[::-1])[::-1]
    return text


def _without_beginnings(text: str, secret: str) -> str:
    """The text without runs of at least SHORTEST characters with which a secret begins."""
    beginning, at = secret[:SHORTEST], 0
    while (at := text.find(beginning, at)) >= 0:
        run = _shared(secret, text[at : at + len(secret)])
        if len(run) <= LONGEST_WORD and WORD.fullmatch(run):
            at += len(run)
        else:
            text = text[:at] + BLANK + text[at + len(run) :]
    return text


def _shared(one: str, other: str) -> str:
    """The common beginning."""
    differing = (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1])
    return one[: next(differing, min(len(one), len(other)))]
