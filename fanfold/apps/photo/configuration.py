"""Settings of the application: the tables `[photo]` and `[photo.services.NAME]` of fanfold.toml."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import fanfold as ff
from fanfold.apps.photo.sentences import say_of_photo
from fanfold.outside.addresses import Allowed
from fanfold.settings import tables

PROTOCOLS = {
    "replicate": "https://api.replicate.com",
    "fal": "https://queue.fal.run",
    "comfyui": "http://127.0.0.1:8188",
    "openai": "https://api.openai.com",
}
"""The protocols, and the address of the service that each is named after."""
NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "float | None": (int, float),
    "dict[str, Any]": (dict,),
}


@dataclass(frozen=True)
class ServiceSettings:
    """One image service. It has the name of the key's environment variable, never the key itself."""

    name: str
    protocol: str = "replicate"
    base_url: str = ""
    key_env: str = ""
    model: str = ""
    price: float | None = None
    """US dollars per picture; None if it is not known."""
    idempotency_header: str = ""
    """Header for an idempotency key, if the service starts only one job per key."""
    workflow: str = ""
    """ComfyUI: the file with the workflow in API format."""
    image_field: str = ""
    """The name under which the service takes the first input picture; default: the protocol's own."""
    parameters: dict[str, Any] = field(default_factory=dict, hash=False)
    """Further parameters of every request."""
    seconds: float = 60.0
    """Time limit of one request."""
    listed_seconds: float = 60.0
    """How long an accepted job may be missing from the service's list of jobs."""
    credits: int = 1
    """What one picture costs its owner, in credits of the installation."""

    @property
    def address(self) -> str:
        """Its URL, without a slash at the end."""
        return (self.base_url or PROTOCOLS[self.protocol]).rstrip("/")

    @property
    def key(self) -> str:
        """The key, from the environment; empty if none is needed."""
        return os.environ.get(self.key_env, "").strip() if self.key_env else ""

    @cached_property
    def allowed(self) -> Allowed:
        """The service's own host may be asked even if it is on this machine or network: the operator has named it."""
        return Allowed(frozenset({(urlsplit(self.address).hostname or "").lower()}))


@dataclass(frozen=True)
class PhotoSettings:
    """The table `[photo]`."""

    service: str = ""
    state_seconds: float = 300.0
    retries: int = 3
    external_seconds: float = 600.0
    concurrency: int = 10
    template: str = "{prompt}"
    output: str = ""
    input_bytes: int = 20_000_000
    input_seconds: float = 60.0
    pixels: int = 50_000_000
    watermark_image: str = ""
    producer: str = ""
    """The name or code of the provider for the label of GB 45438-2025."""
    c2pa_certificate: str = ""
    """Without one, pictures are not signed."""
    c2pa_key: str = ""
    c2pa_algorithm: str = "es256"
    c2pa_timestamps: str = ""
    services: Mapping[str, ServiceSettings] = field(default_factory=dict)

    def chosen(self, name: str = "") -> ServiceSettings:
        """The named service, the default one, or the only one; ff.Permanent says what to configure."""
        wanted = name or self.service or (next(iter(self.services)) if len(self.services) == 1 else "")
        if not self.services:
            raise ff.Permanent(say_of_photo("no_services"), code="no_service")
        if not wanted:
            raise ff.Permanent(say_of_photo("which_service", known=list(self.services)), code="no_service")
        if wanted not in self.services:
            raise ff.Permanent(say_of_photo("no_service", name=wanted, known=list(self.services)), code="no_service")
        return self.services[wanted]


MEANINGS = {
    "service": "The service to use if a task names none.",
    "state_seconds": "Seconds that one step of a picture may take.",
    "retries": "How often a step is tried again after an error.",
    "external_seconds": "Seconds that a job at a service may take before its picture fails.",
    "concurrency": "Pictures of one step at the same time, per worker.",
    "template": "The text around every prompt; `{prompt}` is replaced.",
    "output": "Where finished pictures are published: a folder, or `s3://bucket/prefix?endpoint=…&region=…`.",
    "input_bytes": "The largest input picture.",
    "input_seconds": "How long a download of an input picture may take.",
    "pixels": "The largest picture, in pixels.",
    "watermark_image": "A picture, such as a logo in PNG, that is the watermark of tasks with the option `watermark=image`.",
    "producer": "Name or code of the provider, for the metadata label of GB 45438-2025.",
    "c2pa_certificate": "File with a certificate chain in PEM; with it, pictures are signed (C2PA, extra `c2pa`).",
    "c2pa_key": "File with the private key of the certificate, in PEM.",
    "c2pa_algorithm": "The algorithm of the key: `es256`, `es384`, `es512`, `ps256`, `ps384`, `ps512` or `ed25519`.",
    "c2pa_timestamps": "URL of a time stamp authority; empty for none.",
}
SERVICE_MEANINGS = {
    "protocol": "The protocol it speaks: `replicate`, `fal`, `comfyui` or `openai`.",
    "base_url": "Where it is; default: the service's own address.",
    "key_env": "The name of the environment variable that has the key; empty when none is needed.",
    "model": "The model; for Replicate `owner/name`, or `owner/name:version`.",
    "price": "US dollars per picture. Without it the cost is unknown.",
    "idempotency_header": "Header for an idempotency key, if the service starts only one job per key.",
    "workflow": "ComfyUI: the file with the workflow in API format; `%prompt%`, `%seed%` and `%image%` are replaced.",
    "image_field": "Name of the parameter for the first input picture; default: the protocol's own.",
    "parameters": "A table of further parameters for every request.",
    "seconds": "Time limit of one request.",
    "listed_seconds": "How long an accepted job may be missing from the service's list of jobs.",
    "credits": "What one picture costs its owner, in credits of the installation.",
}


def load(folder: Path | None = None) -> PhotoSettings:
    """The settings of fanfold.toml in a folder, by default the current one; BadInput names a mistake."""
    given = dict(tables(folder).get("photo", {}))
    services = given.pop("services", {})
    if not isinstance(services, dict):
        raise ff.BadInput(say_of_photo("not_a_table", place="[photo.services]"))
    known = {name: _service(name, values) for name, values in services.items()}
    return PhotoSettings(services=known, **_checked(PhotoSettings, given, "[photo]", MEANINGS))


def _service(name: str, given: Any) -> ServiceSettings:
    place = f"[photo.services.{name}]"
    if not NAME.fullmatch(name):
        raise ff.BadInput(say_of_photo("bad_service_name", name=name))
    if not isinstance(given, dict):
        raise ff.BadInput(say_of_photo("not_a_table", place=place))
    found = ServiceSettings(name, **_checked(ServiceSettings, given, place, SERVICE_MEANINGS))
    if found.protocol not in PROTOCOLS:
        raise ff.BadInput(say_of_photo("no_protocol", place=place, protocol=found.protocol, known=list(PROTOCOLS)))
    if found.protocol == "comfyui" and not found.workflow:
        raise ff.BadInput(say_of_photo("no_workflow", place=place))
    return found


def _checked(kind: type, given: Mapping[str, Any], place: str, known: Mapping[str, str]) -> dict[str, Any]:
    types = {one.name: TYPES[str(one.type)] for one in fields(kind) if one.name in known}
    for name, value in given.items():
        if name not in known:
            raise ff.BadInput(say_of_photo("unknown_setting", place=place, name=name, known=list(known)))
        if not isinstance(value, types[name]) or isinstance(value, bool):
            raise ff.BadInput(say_of_photo("bad_setting", place=place, name=name, value=repr(value)[:100]))
        if isinstance(value, int | float) and value < 0:
            raise ff.BadInput(say_of_photo("bad_setting", place=place, name=name, value=repr(value)))
    return dict(given)
