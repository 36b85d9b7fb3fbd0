"""The adapters by the name of their protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fanfold.apps.photo.configuration import ServiceSettings
from fanfold.apps.photo.services.comfyui import ComfyUI
from fanfold.apps.photo.services.fal import Fal
from fanfold.apps.photo.services.openai_images import OpenAIImages
from fanfold.apps.photo.services.replicate import Replicate
from fanfold.apps.photo.services.service import Service

ADAPTERS: dict[str, type[Service]] = {
    "replicate": Replicate,
    "fal": Fal,
    "comfyui": ComfyUI,
    "openai": OpenAIImages,
}


def connected(settings: ServiceSettings, keep: Callable[[str, bytes], Any]) -> Service:
    """The adapter of a configured service; ``keep`` stores a file with the task."""
    return ADAPTERS[settings.protocol](settings, keep)
