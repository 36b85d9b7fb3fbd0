"""Reads settings from the environment and ``fanfold.toml``. Every setting has a working default."""

from __future__ import annotations

import json
import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from fanfold.errors import BadInput


def default_data_folder() -> str:
    """The user's data directory for Fanfold."""
    from platformdirs import user_data_dir

    return user_data_dir("fanfold", appauthor=False)


@dataclass(frozen=True)
class Settings:
    """All settings; ``MEANINGS`` explains them. The environment variable is ``FANFOLD_`` plus the name in capitals."""

    database: str = ""
    direct_database: str = ""
    data: str = ""
    files: str = ""
    file_links: str = "server"
    file_link_seconds: float = 300.0
    copies_bytes: int = 5_000_000_000
    concurrency: int = 0
    children: int = 0
    child_memory_bytes: int = 0
    child_start_seconds: float = 120.0
    poll_seconds: float = 2.0
    heartbeat_seconds: float = 4.0
    lease_seconds: float = 15.0
    look_seconds: float = 0.5
    sweep_seconds: float = 5.0
    grace_seconds: float = 10.0
    crash_limit: int = 3
    owner_weights: str = ""
    hand_back_limit: int = 3
    inline_bytes: int = 1_000_000
    result_bytes: int = 64_000_000
    retention_days: float = 30.0
    answer_days: float = 90.0
    batch_quiet_seconds: float = 15.0
    batch_age_seconds: float = 600.0
    batch_poll_seconds: float = 60.0
    batch_trial: int = 100
    stale_hours: float = 24.0
    sqlite_synchronous: str = "FULL"
    host: str = "127.0.0.1"
    port: int = 8700
    allowed_hosts: str = ""
    public_url: str = ""
    private_addresses: str = ""
    upload_bytes: int = 1_000_000_000
    url_bytes: int = 512_000_000
    url_seconds: float = 120.0
    log: str = "text"
    telemetry: str = ""
    streams: str = ""
    isolate: str = ""
    credits: str = "off"

    @property
    def data_folder(self) -> Path:
        """Folder of blobs, scratch files and the embedded database."""
        return Path(self.data or default_data_folder()).expanduser()

    @property
    def database_url(self) -> str:
        """The database as given, or SQLite in the data folder."""
        return self.database or f"sqlite:///{self.data_folder / 'fanfold.db'}"

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """``owner_weights`` by owner; other owners have weight 1."""
        text = self.owner_weights.strip()
        try:
            if text.startswith("{"):
                found = {str(owner): float(weight) for owner, weight in json.loads(text).items()}
            else:
                pairs = (part.rpartition("=") for part in text.split(",") if part.strip())
                found = {owner.strip(): float(weight) for owner, _, weight in pairs}
        except (TypeError, ValueError):
            found = {"": 0.0}
        if not all(0 < weight < math.inf for weight in found.values()):
            raise BadInput(
                f"owner_weights is {self.owner_weights!r}; write owner=weight, separated by commas, with weights above 0."
            )
        return found


MEANINGS = {
    "database": "Database URL, `sqlite:///path` or `postgresql://…`; default: SQLite in the data folder.",
    "direct_database": "URL of the same PostgreSQL without the pooler, for notifications; only needed behind one.",
    "data": "Data folder for blobs, scratch files and the embedded database; default: the user's data directory.",
    "files": "Where files are stored: `s3://bucket/prefix?endpoint=…&region=…`; default: in the data folder.",
    "file_links": "How files in a bucket are downloaded: through the `server`, or by `presigned` links to the bucket.",
    "file_link_seconds": "How long a presigned link to a file is valid.",
    "copies_bytes": "Disk space for copies of files in a bucket that are kept for handlers that need a path.",
    "concurrency": "Items one worker runs at the same time; 0: as many as its stages allow, at least 8.",
    "children": "Child processes that run functions of handlers (`in_child`) at the same time, per worker; 0: one per core.",
    "child_memory_bytes": "Memory a child process may use before it is killed; 0: a quarter of the machine's, at least 1 GB.",
    "child_start_seconds": "How long a child process may take to start and import its modules.",
    "poll_seconds": "How often an idle worker polls for work if no notification arrives.",
    "heartbeat_seconds": "How often a worker sends a heartbeat.",
    "lease_seconds": "A worker without a heartbeat for this long loses its items to other workers.",
    "look_seconds": "How often a worker checks whether its running items were paused, cancelled or taken away.",
    "sweep_seconds": "How often lost items are recovered and stalled tasks advanced, by one worker at a time.",
    "grace_seconds": "How long a stopping worker lets running handlers finish before it hands them back.",
    "crash_limit": "An item whose worker died this many times without progress in between fails as poison.",
    "owner_weights": "Weights of owners whose tasks compete for workers, as `alice=3, bob=0.5`; 1 for everyone else.",
    "hand_back_limit": "How many times in a row a tick may cut off an item before it is held for a person.",
    "inline_bytes": "Larger inputs and results are stored as blobs instead of in the database.",
    "result_bytes": "The largest result a handler may return; put larger ones into a file.",
    "retention_days": "Finished tasks older than this are pruned with their files; 0 keeps them forever.",
    "answer_days": "Days to keep models' answers, so that the same question is not paid for twice; 0 keeps them forever.",
    "batch_quiet_seconds": "A batch is sent when no question has joined it for this long.",
    "batch_age_seconds": "A batch is sent when its first question has waited this long, even if more are coming.",
    "batch_poll_seconds": "Seconds between polls of a new batch; the interval grows as the batch gets older.",
    "batch_trial": "Batches of at least this many questions are sent only after one of them was answered live; 0: never try.",
    "stale_hours": "Hours after which scratch files and blobs that nothing refers to are removed.",
    "sqlite_synchronous": "SQLite's synchronous pragma: FULL survives a power cut, NORMAL may lose the last moments.",
    "host": "The address the server listens on; any address other than loopback requires tokens.",
    "port": "The port the server listens on; 0 takes a free one.",
    "allowed_hosts": "Host names, separated by commas, that the server accepts besides its own address.",
    "public_url": "Address at which services reach the server, such as `https://fanfold.example.com`, for wake-up URLs.",
    "private_addresses": "Private hosts and networks that webhooks and URLs of documents may reach: `10.0.0.0/8, hooks.lan`.",
    "upload_bytes": "The largest request that may be uploaded to the server.",
    "url_bytes": "The largest file that is downloaded from a URL, or read from standard input.",
    "url_seconds": "How long a download may take.",
    "log": "How commands, workers and the server write log lines: `text`, or `json` with one object per line.",
    "telemetry": "`otel`: spans and metrics through OpenTelemetry, to the SDK that the program sets up; empty: none.",
    "streams": "Redis that carries streamed output to readers, `redis://…`; default: they poll the database.",
    "isolate": "`functions`: run all `def` handlers in child processes, which can be ended; default: only with `isolate=True`.",
    "credits": "`on`: tasks of pipelines with a price cost credits of their owner; `outside`: counted for another ledger; `off`.",
}


def load(environment: Mapping[str, str] | None = None, folder: Path | None = None, **given: Any) -> Settings:
    """Settings from, in order of precedence: ``given`` (if not None), the environment, ``fanfold.toml`` in ``folder``."""
    values = _from_file((folder or Path.cwd()) / "fanfold.toml")
    values |= _from_environment(os.environ if environment is None else environment)
    values |= {name: value for name, value in given.items() if value is not None}
    return _checked(Settings(**{name: _converted(name, value) for name, value in values.items()}))


def tables(folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """The tables of ``fanfold.toml``, for rooms with their own settings."""
    found = _read((folder or Path.cwd()) / "fanfold.toml")
    return {name: value for name, value in found.items() if isinstance(value, dict)}


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not TOML: {error}.") from None


def _from_file(path: Path) -> dict[str, Any]:
    found = _read(path)
    flat = {name: value for name, value in found.items() if not isinstance(value, dict)}
    if isinstance(weights := found.get("owner_weights"), dict):
        flat["owner_weights"] = json.dumps(weights)
    unknown = sorted(set(flat) - set(MEANINGS))
    if unknown:
        raise BadInput(f"{path} has unknown settings: {', '.join(unknown)}. Known settings: {', '.join(MEANINGS)}.")
    return flat


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    named = {f"FANFOLD_{name.upper()}": name for name in MEANINGS}
    return {named[variable]: value for variable, value in environment.items() if variable in named and value != ""}


def _converted(name: str, value: Any) -> Any:
    kind = {field.name: field.type for field in fields(Settings)}[name]
    try:
        return {"int": int, "float": float, "str": str}[str(kind)](value)
    except (TypeError, ValueError):
        raise BadInput(f"Setting {name} is {value!r}, which is not a number. {MEANINGS[name]}") from None


def _checked(settings: Settings) -> Settings:
    if not settings.lease_seconds > settings.heartbeat_seconds * 2:
        raise BadInput(
            f"lease_seconds is {settings.lease_seconds} and heartbeat_seconds {settings.heartbeat_seconds}: "
            "a lease must outlast two heartbeats, or healthy workers lose their items."
        )
    if settings.sqlite_synchronous.upper() not in ("FULL", "NORMAL", "EXTRA"):
        raise BadInput(f"sqlite_synchronous is {settings.sqlite_synchronous!r}; use FULL, EXTRA or NORMAL.")
    if settings.file_links not in ("server", "presigned"):
        raise BadInput(f"Setting file_links is {settings.file_links!r}; use server or presigned.")
    if settings.log not in ("text", "json"):
        raise BadInput(f"Setting log is {settings.log!r}; use text or json.")
    if settings.telemetry:
        _check_telemetry(settings.telemetry)
    if settings.isolate not in ("", "functions"):
        raise BadInput(f"Setting isolate is {settings.isolate!r}; use functions, or leave it empty.")
    if settings.credits not in ("off", "on", "outside"):
        raise BadInput(f"Setting credits is {settings.credits!r}; use off, on or outside.")
    _ = settings.weights
    for name in (
        "poll_seconds",
        "heartbeat_seconds",
        "look_seconds",
        "sweep_seconds",
        "crash_limit",
        "hand_back_limit",
        "child_start_seconds",
        "file_link_seconds",
    ):
        if not getattr(settings, name) > 0:
            raise BadInput(f"Setting {name} is {getattr(settings, name)}; it must be more than 0.")
    if settings.child_memory_bytes < 0:
        raise BadInput(
            f"Setting child_memory_bytes is {settings.child_memory_bytes}; it must be more than 0, or 0 for the default."
        )
    if settings.concurrency < 0:
        raise BadInput(
            f"Setting concurrency is {settings.concurrency}; it must be more than 0, or 0 to follow the stages."
        )
    return settings


def _check_telemetry(wanted: str) -> None:
    """Say at the start what is missing, and not in the first attempt."""
    if wanted != "otel":
        raise BadInput(f"Setting telemetry is {wanted!r}; use otel, or leave it empty.")
    from importlib.util import find_spec

    if find_spec("opentelemetry") is None or find_spec("opentelemetry.trace") is None:
        raise BadInput("Setting telemetry is otel, which needs a package more: pip install 'fanfold[otel]'")
