"""The virtual environment of the peers, with exact versions, created once and kept until the list changes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE.parent / "requirements-engines.txt"
FOLDER = HERE / ".venv"
STAMP = "installed.txt"
VERSIONS = "import importlib.metadata as m, json, sys; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"


def prepare(folder: Path = FOLDER) -> Path:
    """The Python of the peers, installed if it is not there or the requirements have changed."""
    python, stamp = folder / "bin" / "python", folder / STAMP
    wanted = REQUIREMENTS.read_text()
    if python.exists() and stamp.exists() and stamp.read_text() == wanted:
        return python
    if folder.exists() and not (folder / "pyvenv.cfg").exists():
        raise SystemExit(f"{folder} is not an environment: name another folder, or remove it.")
    print(f"Installing the peers into {folder} ...", file=sys.stderr)
    venv.create(folder, with_pip=True, clear=True)
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "-r", str(REQUIREMENTS)]
    subprocess.run([python, *install], check=True)
    stamp.write_text(wanted)
    return python


def redis_program(folder: Path = FOLDER) -> Path | None:
    """The `redis-server` of the system, or else the one that a package of the environment brings."""
    found = shutil.which("redis-server") or shutil.which("redis-server", path=folder / "bin")
    return Path(found) if found else None


def versions(python: Path | str, packages: list[str]) -> dict[str, str]:
    """The versions of packages as that Python has them."""
    said = subprocess.run([python, "-c", VERSIONS, *packages], capture_output=True, text=True, check=True).stdout
    found: dict[str, str] = json.loads(said)
    return found
