"""The files for deployment are what their tools accept, and the lines that install the image work."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml

from fanfold.engine.queries.metrics import measure
from fanfold.server.watching.exposition import exposed
from fanfold.settings import Settings
from fanfold.store.store import Store

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def resources() -> list[dict[str, Any]]:
    """All resources of the manifests."""
    return [one for path in MANIFESTS for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))]


def containers() -> list[dict[str, Any]]:
    """The containers of all pods."""
    pods = [one["spec"]["template"]["spec"] for one in resources() if one["kind"] in ("Deployment", "Job")]
    return [container for pod in pods for container in pod["containers"]]


@pytest.mark.parametrize("resource", resources(), ids=lambda one: f"{one['kind']}-{one['metadata']['name']}")
def test_manifests_match_the_schema_of_kubernetes(resource: dict[str, Any]) -> None:
    kubernetes_validate.validate(resource, "1.37", strict=True)


def test_pods_run_the_current_version_without_privileges() -> None:
    for container in containers():
        assert container["image"] == f"fanfold:{VERSION}"
        assert container["securityContext"]["runAsNonRoot"] is True
        assert container["securityContext"]["allowPrivilegeEscalation"] is False


def test_the_commands_of_containers_and_units_exist() -> None:
    """Each is a command with options that it knows: its help is printed instead of running it."""
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"].values()
    commands = [one["command"] for one in compose if one.get("image") == "fanfold"]
    commands += [one["args"] for one in containers()]
    for unit in (DEPLOY / "systemd").glob("*.service"):
        [line] = re.findall(
            r"^ExecStart=/opt/fanfold/bin/fanfold (.+)$", unit.read_text(encoding="utf-8"), re.MULTILINE
        )
        commands.append(shlex.split(line))
    assert len(commands) == 9
    for words in {tuple(words) for words in commands}:
        asked = [sys.executable, "-m", "fanfold", *words, "--help"]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=250, check=False)
        assert done.returncode == 0, done.stderr


def test_the_environment_of_deployments_names_settings_that_exist() -> None:
    known = {f"FANFOLD_{name.upper()}" for name in Settings.__dataclass_fields__}
    used = set()
    for path in DEPLOY.rglob("*"):
        if path.is_file():
            used |= set(re.findall(r"\bFANFOLD_[A-Z_]+\b", path.read_text(encoding="utf-8")))
    assert used
    assert used <= known


def test_workers_are_scaled_by_a_metric_that_the_server_has(sqlite_url: str) -> None:
    [scaler] = [one for one in resources() if one["kind"] == "HorizontalPodAutoscaler"]
    [metric] = [one["external"]["metric"] for one in scaler["spec"]["metrics"]]
    labels = ",".join(f'{name}="{value}"' for name, value in metric["selector"]["matchLabels"].items())
    assert f"{metric['name']}{{{labels}}}" in metrics_text(sqlite_url)


def metrics_text(url: str) -> str:
    """What the server exposes for an empty database."""
    store = Store.open(Settings(database=url))
    try:
        return exposed(measure(store), SimpleNamespace(watchers=0)).decode()  # type: ignore[arg-type]
    finally:
        store.close()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_lines_that_install_the_image_work_in_a_fresh_environment(tmp_path: Path) -> None:
    """With the files that the Dockerfile copies, and nothing else; the image itself needs a container engine."""
    build, final = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").rsplit("\nFROM ", 1)
    for line in re.findall(r"^COPY (.+)$", build, re.MULTILINE):
        *copied, _ = line.split()
        for name in copied:
            subprocess.run(["cp", "-r", str(ROOT / name), str(tmp_path / name)], check=True)
    place = tmp_path / "opt"
    steps = re.findall(r"^RUN (.+)$", build, re.MULTILINE)
    assert len(steps) == 3
    for step in steps:
        words = step.replace("/opt/fanfold", str(place)).replace("python -m venv", f"{sys.executable} -m venv")
        run(shlex.split(words.replace("--no-cache-dir ", "")), tmp_path)
    assert 'ENTRYPOINT ["fanfold"]' in final
    assert "\nUSER 10001\n" in final
    run([str(place / "bin" / "fanfold"), "run", "demo", "--json"], tmp_path)


def run(command: list[str], folder: Path) -> None:
    """Run a command as on a machine that knows nothing of this one's environment."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FANFOLD_", "PYTHON"))}
    # Compiling all packages would take longer than everything else here.
    environment = kept | {"FANFOLD_DATA": str(folder / "data"), "PIP_COMPILE": "0"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=800, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
