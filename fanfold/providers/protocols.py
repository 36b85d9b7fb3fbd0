"""Lists the protocols of model services. To add one, write its module in `services/`, and add an entry here."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

OPENAI_ADDRESS = "https://api.openai.com/v1"


class ServiceProtocol(NamedTuple):
    """A protocol: its services' own address, and the classes that speak it, which are loaded on first use."""

    speaks: str
    """What people know it from."""
    address: str
    live: str
    """`module:class` in this package: asks live."""
    batches: str
    """`module:class` in this package: asks in batches, where a service does."""
    library: str = ""
    """A library that an extra of Fanfold installs."""

    @property
    def is_installed(self) -> bool:
        """Whether its library is there."""
        return not self.library or find_spec(self.library) is not None


PROTOCOLS = {
    "openai": ServiceProtocol(
        "chat; also Ollama, vLLM, LM Studio, DeepSeek, Qwen …",
        OPENAI_ADDRESS,
        "services.openai:OpenAIService",
        "batches.openai_batches:OpenAIBatches",
    ),
    "responses": ServiceProtocol(
        "OpenAI's newer one",
        OPENAI_ADDRESS,
        "services.openai_responses:ResponsesService",
        "batches.openai_batches:OpenAIBatches",
    ),
    "anthropic": ServiceProtocol(
        "Claude",
        "https://api.anthropic.com",
        "services.anthropic:AnthropicService",
        "batches.anthropic_batches:AnthropicBatches",
        library="anthropic",
    ),
}


def load_class(path: str) -> Any:
    """The class of a protocol at `module:class`; its library is loaded only now."""
    module, _, name = path.partition(":")
    return getattr(import_module(f"{__package__}.{module}"), name)
