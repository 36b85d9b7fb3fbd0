"""An image service on loopback, and a folder with a fanfold.toml that names it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanfold.apps.photo.services import service
from tests import image_server
from tests.image_server import ImageServer

WORKFLOW = {"1": {"inputs": {"text": "%prompt%", "seed": "%seed%", "image": "%image%"}}}
SERVICES = ("replicate", "fal", "comfyui", "openai")


@pytest.fixture
def images() -> Iterator[ImageServer]:
    """The service."""
    with image_server.running() as server:
        yield server


@pytest.fixture
def rare_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at a job that gives nothing thirty times before it is given up, instead of three hundred times.

    A service is asked more rarely the longer a job runs, but in tests with a clock of their own no time seems to pass.
    """
    monkeypatch.setattr(service, "SHORTEST_SECONDS", 20.0)


def configure(folder: Path, url: str, more: str = "") -> None:
    """Write a fanfold.toml with a service of each protocol, named after it; the first is the default."""
    (folder / "workflow.json").write_text(json.dumps(WORKFLOW))
    parts = ['[photo]\nservice = "replicate"\n' + more]
    for name in SERVICES:
        parts.append(
            f'[photo.services.{name}]\nprotocol = "{name}"\nbase_url = "{url}"\nmodel = "owner/model"\nprice = 0.04\n'
            f"listed_seconds = 0\nseconds = 20\n" + ('workflow = "workflow.json"\n' if name == "comfyui" else "")
        )
    (folder / "fanfold.toml").write_text("\n".join(parts))


@pytest.fixture
def folder(images: ImageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the services."""
    configure(tmp_path, images.url)
    monkeypatch.chdir(tmp_path)
    return tmp_path
