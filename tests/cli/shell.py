"""Types commands for tests: in this process, or in a separate one that can be killed."""

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
        """Run a command in this process, whatever its exit code."""
        return CliRunner(env=self.environment).invoke(cli, list(words), input=input, prog_name="fanfold")

    def ok(self, *words: str, input: str | None = None) -> str:
        """Run a command that must succeed; returns its output."""
        result = self.type(*words, input=input)
        assert result.exit_code == 0, result.output
        return result.stdout

    def json(self, *words: str) -> Any:
        """Run a command that must succeed; returns its parsed JSON."""
        return json.loads(self.ok(*words, "--json"))

    def fails(self, code: int, *words: str) -> str:
        """Run a command that must end with this code, one line and no traceback; returns that line."""
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
        """Process due items of these samples."""
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

    def state(self) -> str:
        """The tasks with their items, and the limits, for the message of a failing test."""
        shown = [self.type("show", task["id"]).stdout for task in self.json("tasks")]
        items = [self.type("items", task["id"]).stdout for task in self.json("tasks")]
        return "\n".join([*shown, *items, self.type("limits").stdout])

    def client(self) -> Client:
        """A client of the same installation."""
        return Client(self.database, str(self.data))

    def clear(self) -> None:
        """End the processes that a test left running."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.communicate(timeout=100)
