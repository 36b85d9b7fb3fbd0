"""Removes API keys that this process knows from external text before it is stored, logged or shown.

Services quote the key they refuse, and libraries put whole requests into their errors. So errors, messages and hold reasons of
handlers pass through here (`attempt_result.clean`), and so do log lines and problem documents.
"""

from __future__ import annotations

import logging
import os

from fanfold.model.values.secrets import SHORTEST, blanked, secrets_in

_told: set[str] = set()


def keep_secret(value: str | None) -> None:
    """Register a key that is not in the environment under a telling name."""
    if value and len(value) >= SHORTEST:
        _told.add(value)


def without_keys(text: str) -> str:
    """The text without any key that this process knows."""
    return blanked(text, _told | secrets_in(os.environ)) if text else text


class Formatter(logging.Formatter):
    """Log lines and tracebacks without keys."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, with the traceback if there is one."""
        return without_keys(super().format(record))
