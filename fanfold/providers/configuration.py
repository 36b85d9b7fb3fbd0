"""Which services are there? Those of `fanfold.toml` and the environment, and a few that need no configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from fanfold.engine.redaction import keep_secret
from fanfold.errors import BadInput
from fanfold.settings import tables

KINDS = ("openai", "anthropic")
NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
LOCAL = "local"
"""The name under which applications work without any service."""


@dataclass(frozen=True)
class Provider:
    """A service that answers, as configured; its key is named, never kept."""

    name: str
    kind: str = "openai"
    base_url: str = ""
    key_env: str = ""
    model: str = ""
    concurrency: int = 8
    timeout: float = 120.0
    max_tokens: int = 0
    price_input: float | None = None
    price_output: float | None = None

    @property
    def key(self) -> str | None:
        """The key, from the environment; None when it is not set, or none is needed."""
        found = (os.environ.get(self.key_env) or "").strip() or None if self.key_env else None
        keep_secret(found)
        return found

    @property
    def lacks_key(self) -> bool:
        """Whether it needs a key that is not there."""
        return bool(self.key_env) and self.key is None

    @property
    def address(self) -> str:
        """Where it is, without user name and password."""
        parts = urlsplit(self.base_url or DEFAULT_ADDRESSES[self.kind])
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "", ""))


DEFAULT_ADDRESSES = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}
BUILT_IN = (
    Provider("openai", "openai", key_env="OPENAI_API_KEY", model="gpt-5.4-mini"),
    Provider("anthropic", "anthropic", key_env="ANTHROPIC_API_KEY", model="claude-haiku-5-5", max_tokens=16_000),
    Provider("ollama", "openai", "http://127.0.0.1:11434/v1", concurrency=1, timeout=600),
    Provider("lmstudio", "openai", "http://127.0.0.1:1234/v1", concurrency=1, timeout=600),
)
FIELDS = {field.name: str(field.type) for field in fields(Provider) if field.name != "name"}
MEANINGS = {
    "kind": "The protocol it speaks: `openai` (also Ollama, vLLM, LM Studio, DeepSeek, Qwen …) or `anthropic`.",
    "base_url": "Where it is; default: the service's own address.",
    "key_env": "The name of the environment variable that has the key; empty when none is needed.",
    "model": "The model to use when none is named.",
    "concurrency": "How many calls one worker makes at the same time.",
    "timeout": "Seconds after which a call is given up.",
    "max_tokens": "The longest answer, in tokens; 0 leaves it to the service.",
    "price_input": "US dollars per million input tokens, where the price list does not know the model.",
    "price_output": "US dollars per million output tokens.",
}


def load(environment: Mapping[str, str] | None = None, folder: Path | None = None) -> dict[str, Provider]:
    """Every provider by name: the built-in ones, laid over by `[providers.NAME]` of fanfold.toml and the environment.

    `FANFOLD_PROVIDERS_NAME_FIELD` sets one field; `OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL` are heeded as the services' own
    libraries do.
    """
    found = {provider.name: provider for provider in BUILT_IN}
    variables = os.environ if environment is None else environment
    for name in ("openai", "anthropic"):
        if address := variables.get(f"{name.upper()}_BASE_URL"):
            found[name] = replace(found[name], base_url=address)
    for name, given in tables(folder).get("providers", {}).items():
        if not isinstance(given, dict):
            raise BadInput(f"fanfold.toml: providers.{name} must be a table: [providers.{name}]")
        found[name] = _made(found.get(name) or Provider(_named(name)), given, f"fanfold.toml, [providers.{name}]")
    for name, given in _from_environment(variables, list(found)).items():
        found[name] = _made(found.get(name) or Provider(_named(name)), given, "the environment")
    return found


def choose(chain_entry: str, providers: Mapping[str, Provider]) -> tuple[Provider, str]:
    """The provider and model that `provider:model`, `provider` or `model` means."""
    name, colon, model = chain_entry.partition("::" if "::" in chain_entry else ":")
    if colon == "::":
        find(name, providers)
    if name == LOCAL:
        raise BadInput(f"{LOCAL} is no model that can be asked. There are: {', '.join(providers)}.")
    if name in providers:
        provider, model = providers[name], model if colon else ""
    else:
        provider, model = default_provider(providers), chain_entry
    chosen = model or provider.model
    if not chosen:
        raise BadInput(f"{provider.name} has no default model. Name one: --model {provider.name}:MODEL")
    return provider, chosen


def default_provider(providers: Mapping[str, Provider]) -> Provider:
    """The one named by FANFOLD_PROVIDER, else the first whose key is there."""
    named = os.environ.get("FANFOLD_PROVIDER")
    if named:
        return find(named, providers)
    ready = [provider for provider in providers.values() if provider.key]
    return ready[0] if ready else providers["openai"]


def find(name: str, providers: Mapping[str, Provider]) -> Provider:
    """A provider by its name."""
    if name not in providers:
        raise BadInput(
            f"There is no provider {name!r} to ask. There are: {', '.join(providers)}. "
            f"To add one: [providers.{name if NAME.fullmatch(name) else 'NAME'}] in fanfold.toml"
        )
    return providers[name]


def _named(name: str) -> str:
    if not NAME.fullmatch(name) or name == LOCAL:
        raise BadInput(f"{name!r} cannot be the name of a provider: small letters, digits, - and _, not {LOCAL!r}.")
    return name


def _from_environment(variables: Mapping[str, str], known: Iterable[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for variable, value in variables.items():
        if not variable.startswith("FANFOLD_PROVIDERS_") or not value:
            continue
        rest = variable.removeprefix("FANFOLD_PROVIDERS_").lower()
        field = next((field for field in FIELDS if rest.endswith(f"_{field}")), None)
        if field is None:
            raise BadInput(f"{variable} sets nothing that is known. A provider has: {', '.join(FIELDS)}.")
        name = rest.removesuffix(f"_{field}")
        # A variable cannot have a dash: the name that is known, if there is one, else the name as it is written.
        meant = next((one for one in known if one.replace("-", "_") == name), name)
        found.setdefault(meant, {})[field] = value
    return found


def _made(base: Provider, given: Mapping[str, Any], where: str) -> Provider:
    unknown = sorted(set(given) - set(FIELDS))
    if "key" in unknown or "api_key" in unknown:
        raise BadInput(f'{where}: keys are not written down. Say which variable has it: key_env = "MY_KEY"')
    if unknown:
        raise BadInput(f"{where}: unknown {', '.join(unknown)}. A provider has: {', '.join(FIELDS)}.")
    made = replace(base, **{field: _converted(field, value, where) for field, value in given.items()})
    if made.kind not in KINDS:
        raise BadInput(f"{where}: kind is {made.kind!r}; use {' or '.join(KINDS)}.")
    if made.base_url and urlsplit(made.base_url).scheme not in ("http", "https"):
        raise BadInput(f"{where}: base_url must begin with http:// or https://")
    if made.concurrency < 1 or made.timeout <= 0:
        raise BadInput(f"{where}: concurrency and timeout must be more than 0.")
    return made


def _converted(field: str, value: Any, where: str) -> Any:
    kind = FIELDS[field].removesuffix(" | None")
    try:
        return {"int": int, "float": float, "str": str}[kind](value)
    except (TypeError, ValueError):
        raise BadInput(f"{where}: {field} is {value!r}, which is not a number.") from None
