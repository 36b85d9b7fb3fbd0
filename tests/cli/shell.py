"""How does a test type a command? In this process, or in one of its own that can be killed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from fanfold.cli import cli
from fanfold.engine.client import Client

SAMPLES = "tests.cli.samples"
ROOT = Path(__file__).parents[2]


class Shell:
    """Types commands against one database and data folder."""

    def __init__(self, database: str, data: Path) -> None:
        self.database = database
        self.data = data
        self.environment = {"FANFOLD_DATABASE": database, "FANFOLD_DATA": str(data)}
        self.processes: list[subprocess.Popen[str]] = []

    def type(self, *words: str, input: str | None = None) -> Result:
        """Run a command here, whatever comes of it."""
        return CliRunner(env=self.environment).invoke(cli, list(words), input=input, prog_name="fanfold")

    def ok(self, *words: str, input: str | None = None) -> str:
        """Run a command that must succeed; returns what it printed."""
        result = self.type(*words, input=input)
        assert result.exit_code == 0, result.output
        return result.stdout

    def json(self, *words: str) -> Any:
        """Run a command that must succeed, and read its answer."""
        return json.loads(self.ok(*words, "--json"))

    def fails(self, code: int, *words: str) -> str:
        """Run a command that must end with this code, in one line and without a traceback; returns that line."""
        result = self.type(*words)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        said = json.loads(self.type(*words, "--json").stdout)["error"]
        assert said["message"] in result.stderr
        return result.stderr.strip()

    def submit(self, target: str, *words: str) -> str:
        """Submit a sample; returns the id."""
        return self.ok("submit", f"{SAMPLES}:{target}", *words).strip()

    def tick(self, *targets: str) -> Any:
        """Do what is due for these samples."""
        return self.json("tick", *(f"{SAMPLES}:{target}" for target in targets))

    def start(self, *words: str, **environment: str) -> "subprocess.Popen[str]":
        """Run a command in a process of its own."""
        command = [sys.executable, "-m", "fanfold.cli", *words]
        process = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | self.environment | environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.processes.append(process)
        return process

    def client(self) -> Client:
        """A client of the same installation."""
        return Client(self.database, str(self.data))

    def clear(self) -> None:
        """End the processes that a test has left."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.communicate(timeout=100)
