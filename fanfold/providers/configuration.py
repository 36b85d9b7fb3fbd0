"""The configured model services: those of `fanfold.toml` and the environment, and a few built-in ones."""

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
from fanfold.model.pipelines.options import LOCAL
from fanfold.model.text.sentences import say
from fanfold.providers.limits.limit_settings import ModelLimits, model_limits
from fanfold.providers.protocols import PROTOCOLS
from fanfold.settings import tables

BATCH_HOSTS = ("api.openai.com", "api.anthropic.com")
"""Hosts of services that are known to answer questions in batches."""
NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")


@dataclass(frozen=True)
class Provider:
    """A configured model service. It has the name of the key's environment variable, never the key itself."""

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
    account: str = ""
    requests_per_minute: int = 0
    tokens_per_minute: int = 0
    input_tokens_per_minute: int = 0
    output_tokens_per_minute: int = 0
    requests_per_day: int = 0
    in_flight: int = 0
    idempotency_header: str = ""
    models: ModelLimits = ()
    batch: int = -1
    batch_price: float = 0.5
    batch_tokens: int = 2_000_000
    price: str = ""

    def limit_key(self, model: str) -> str:
        """The name of the limit that calls to a model count against: its account and the model."""
        return f"{self.account or self.name}:{model}"[:300]

    @property
    def has_batches(self) -> bool:
        """Whether it answers questions in batches. Services that are known to do so need no setting."""
        return self.batch > 0 or (self.batch < 0 and urlsplit(self.address).hostname in BATCH_HOSTS)

    @property
    def key(self) -> str | None:
        """The key, from the environment; None when it is not set, or none is needed."""
        found = (os.environ.get(self.key_env) or "").strip() or None if self.key_env else None
        keep_secret(found)
        return found

    @property
    def lacks_key(self) -> bool:
        """Whether it needs a key that is not set."""
        return bool(self.key_env) and self.key is None

    @property
    def address(self) -> str:
        """Its address, without user name and password."""
        parts = urlsplit(self.base_url or PROTOCOLS[self.kind].address)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "", ""))


FREE = "free"
BUILT_IN = (
    Provider("openai", "openai", key_env="OPENAI_API_KEY", model="gpt-5.4-mini"),
    Provider("anthropic", "anthropic", key_env="ANTHROPIC_API_KEY", model="claude-haiku-5-5", max_tokens=16_000),
    Provider("ollama", "openai", "http://127.0.0.1:11434/v1", concurrency=1, timeout=600),
    Provider("lmstudio", "openai", "http://127.0.0.1:1234/v1", concurrency=1, timeout=600),
)
FIELDS = {field.name: str(field.type) for field in fields(Provider) if field.name not in ("name", "models")}
MEANINGS = {
    "kind": f"The protocol it speaks: {', '.join(f'`{name}` ({kind.speaks})' for name, kind in PROTOCOLS.items())}.",
    "base_url": "Where it is; default: the service's own address.",
    "key_env": "The name of the environment variable that has the key; empty when none is needed.",
    "model": "The model to use when none is named.",
    "concurrency": "How many calls one worker makes at the same time.",
    "timeout": "Seconds after which a call is given up.",
    "max_tokens": "The longest answer, in tokens; 0 leaves it to the service.",
    "price_input": "US dollars per million input tokens, where the price list does not know the model.",
    "price_output": "US dollars per million output tokens.",
    "account": "Providers with the same account share their rate limits; default: the provider's name.",
    "requests_per_minute": "Calls per minute of all workers, for each model; 0: as the service says.",
    "tokens_per_minute": "Input and output tokens per minute, for each model; 0: as the service says.",
    "input_tokens_per_minute": "Input tokens per minute, for each model; 0: as the service says.",
    "output_tokens_per_minute": "Output tokens per minute, for each model; 0: as the service says.",
    "requests_per_day": "Calls per day of all workers, for each model; 0: as the service says.",
    "in_flight": "The largest number of calls in flight at the same time, over all workers, for each model; 0: found by trying.",
    "models": 'Limits of particular models: a table `[providers.NAME.models."MODEL"]` with any of the six limits above.',
    "idempotency_header": "Header for an idempotency key, such as `Idempotency-Key`; empty: the service takes none.",
    "batch": "1 when it answers questions in batches as OpenAI or Anthropic do, 0 when not; -1: these two only.",
    "batch_price": "What a question in a batch costs, as a share of the usual price.",
    "price": "`free` for a server of your own, whose calls cost nothing; empty: as the prices above say, else unknown.",
    "batch_tokens": "The largest number of input tokens that may wait in batches of one model; the service names your limit.",
}


def load(environment: Mapping[str, str] | None = None, folder: Path | None = None) -> dict[str, Provider]:
    """Every provider by name: the built-in ones, overridden by `[providers.NAME]` in fanfold.toml, then by the environment.

    `FANFOLD_PROVIDERS_NAME_FIELD` sets one field. `OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL` work as in the services' own
    libraries.
    """
    found = {provider.name: provider for provider in BUILT_IN}
    variables = os.environ if environment is None else environment
    for name in ("openai", "anthropic"):
        if address := variables.get(f"{name.upper()}_BASE_URL"):
            found[name] = replace(found[name], base_url=address)
    for name, given in tables(folder).get("providers", {}).items():
        if not isinstance(given, dict):
            raise BadInput(say("provider_no_table", provider=name))
        found[name] = _made(found.get(name) or Provider(_named(name)), given, f"fanfold.toml, [providers.{name}]")
    for name, given in _from_environment(variables, list(found)).items():
        found[name] = _made(found.get(name) or Provider(_named(name)), given, "the environment")
    return found


def choose(
    chain_entry: str, providers: Mapping[str, Provider], default: Provider | None = None
) -> tuple[Provider, str]:
    """The provider and model that `provider:model`, `provider` or `model` means."""
    name, colon, model = chain_entry.partition("::" if "::" in chain_entry else ":")
    if colon == "::":
        find(name, providers)
    if name == LOCAL:
        raise BadInput(say("no_model_to_ask", model=LOCAL, known=list(providers)))
    if name in providers:
        provider, model = providers[name], model if colon else ""
    else:
        provider, model = default or default_provider(providers), chain_entry
    chosen = model or provider.model
    if not chosen:
        raise BadInput(say("no_default_model", provider=provider.name))
    return provider, chosen


def default_provider(providers: Mapping[str, Provider]) -> Provider:
    """The provider named by FANFOLD_PROVIDER, else the first whose key is set, else `openai`."""
    named = os.environ.get("FANFOLD_PROVIDER")
    if named:
        return find(named, providers)
    ready = [provider for provider in providers.values() if provider.key]
    return ready[0] if ready else providers["openai"]


def find(name: str, providers: Mapping[str, Provider]) -> Provider:
    """A provider by its name."""
    if name not in providers:
        example = name if NAME.fullmatch(name) else "NAME"
        raise BadInput(say("no_provider", provider=name, known=list(providers), example=example))
    return providers[name]


def unknown_provider(name: str) -> str | None:
    """Why no provider has this name, and what to do about it; None if there is one, or if no model is asked."""
    if name in ("", LOCAL):
        return None
    try:
        find(name, load())
    except BadInput as problem:
        return problem.message
    return None


def unknown_model(entry: str) -> str | None:
    """Why no provider has this model, and what to do about it; None if its provider is known.

    A model may have `:` and `/` in its name, so `nosuch/model` belongs to the default provider, if there is one: the provider
    that FANFOLD_PROVIDER names, or one whose key is set.
    """
    name, mark, _ = entry.partition("::" if "::" in entry else ":")
    known = load()
    if mark == "::" or name in (LOCAL, "") or name in known:
        return unknown_provider(name) if mark == "::" else None
    prefix = name.partition("/")[0]
    if prefix == entry or os.environ.get("FANFOLD_PROVIDER") or any(provider.key for provider in known.values()):
        return None
    example = prefix if NAME.fullmatch(prefix) else "NAME"
    return say("model_without_provider", entry=entry, known=list(known), prefix=prefix, example=example)


def _named(name: str) -> str:
    if not NAME.fullmatch(name) or name == LOCAL:
        raise BadInput(say("provider_name", provider=name, local=LOCAL))
    return name


def _from_environment(variables: Mapping[str, str], known: Iterable[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for variable, value in variables.items():
        if not variable.startswith("FANFOLD_PROVIDERS_") or not value:
            continue
        rest = variable.removeprefix("FANFOLD_PROVIDERS_").lower()
        field = next((field for field in FIELDS if rest.endswith(f"_{field}")), None)
        if field is None:
            raise BadInput(say("variable_unknown", variable=variable, known=list(FIELDS)))
        name = rest.removesuffix(f"_{field}")
        # A variable cannot contain a dash, so prefer a known name that differs only by its dashes.
        meant = next((one for one in known if one.replace("-", "_") == name), name)
        found.setdefault(meant, {})[field] = value
    return found


def _made(base: Provider, given: Mapping[str, Any], where: str) -> Provider:
    limits = model_limits(given["models"], where) if "models" in given else base.models
    given = {name: value for name, value in given.items() if name != "models"}
    unknown = sorted(set(given) - set(FIELDS))
    if "key" in unknown or "api_key" in unknown:
        raise BadInput(say("key_written_down", where=where))
    if unknown:
        raise BadInput(say("provider_fields_unknown", where=where, names=unknown, known=list(FIELDS)))
    made = replace(base, models=limits, **{field: _converted(field, value, where) for field, value in given.items()})
    if made.kind not in PROTOCOLS:
        raise BadInput(say("provider_kind", where=where, kind=made.kind, known=list(PROTOCOLS)))
    if made.base_url and urlsplit(made.base_url).scheme not in ("http", "https"):
        raise BadInput(say("provider_address", where=where))
    if made.concurrency < 1 or made.timeout <= 0:
        raise BadInput(say("provider_positive", where=where))
    if made.price not in ("", FREE):
        raise BadInput(say("provider_price", where=where, price=made.price, free=FREE))
    return made


def _converted(field: str, value: Any, where: str) -> Any:
    kind = FIELDS[field].removesuffix(" | None")
    try:
        return {"int": int, "float": float, "str": str}[kind](value)
    except (TypeError, ValueError):
        raise BadInput(say("provider_no_number", where=where, name=field, value=repr(value))) from None
