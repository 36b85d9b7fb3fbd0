"""An installed package of a user is an application like the built-in ones."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "own_application"
TEXT = "one two\n\na longer line of words\n"
ASK = """
import json, sys
from fastapi.testclient import TestClient
from fanfold.engine.discovery import load_all
from fanfold.server.app import make_app
from fanfold.server.app_state import AppState
from fanfold.settings import load
from fanfold.store.store import Store

store = Store.open(load())
place = AppState(store, load_all([]))
with TestClient(make_app(place), base_url="http://127.0.0.1:8700") as client:
    answers = [client.request(*wanted["ask"], **wanted.get("with", {})) for wanted in json.load(sys.stdin)]
print(json.dumps([[one.status_code, one.text] for one in answers]))
store.close()
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package in it, as pip puts it there."""
    target = tmp_path_factory.mktemp("site")
    options = ["--no-index", "--no-deps", "--no-build-isolation", "--no-compile", "--quiet", "--target", str(target)]
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *options, str(EXAMPLE)]
    subprocess.run(command, check=True, timeout=250, capture_output=True)
    return target


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Callable[..., str]:
    """Runs Python where the package is installed, and returns what it printed."""
    places = os.pathsep.join([str(installed), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": places, "FANFOLD_DATA": str(tmp_path / "data"), "COLUMNS": "120"}
    environment.pop("FANFOLD_DATABASE", None)

    def run(*words: str, given: str | None = None) -> str:
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environment, input=given, text=True, capture_output=True,
            timeout=250, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture
def fanfold(run: Callable[..., str], tmp_path: Path) -> Callable[..., str]:
    """Types a command."""
    (tmp_path / "notes.txt").write_text(TEXT)
    return lambda *words: run("-m", "fanfold", *words)


def test_its_command_options_words_form_and_action_work_on_the_command_line(
    fanfold: Callable[..., str], tmp_path: Path
) -> None:
    listed = fanfold("--help")
    assert max(listed.index("Count words"), listed.index("PDF to Markdown")) < listed.index("Work:")
    assert "--shortest N" in fanfold("count", "--help")
    assert fanfold("count", "notes.txt") == "7 words in 3 lines\n"
    assert fanfold("count", "notes.txt", "--skip-empty", "--shortest", "4") == "3 words in 2 lines\n"
    [short, whole] = json.loads(fanfold("tasks", "--json"))
    assert (short["state"], short["word"], short["phase"]) == ("completed", "counted", "done")
    assert fanfold("result", whole["id"], "--form", "csv") == "line,words\n1,2\n2,0\n3,5\n"
    assert fanfold("do", whole["id"], "recount", "--shortest", "3") == "3 lines are counted again\n"
    fanfold("tick", "counting")
    assert json.loads(fanfold("result", whole["id"])) == {"lines": 3, "words": 5}
    [done] = [event for event in json.loads(fanfold("events", whole["id"], "--json")) if event["verb"] == "do"]
    assert done["reason"] == "recount: 3 lines are counted again"


def test_the_server_offers_it_as_any_other(
    run: Callable[..., str], fanfold: Callable[..., str], tmp_path: Path
) -> None:
    fanfold("count", "notes.txt")
    [task] = json.loads(fanfold("tasks", "--json"))
    at, chinese = f"/api/v1/tasks/{task['id']}", {"headers": {"accept-language": "zh"}}
    asked: list[dict[str, Any]] = [
        {"ask": ["GET", "/api/v1/pipelines"]},
        {"ask": ["GET", at]},
        {"ask": ["GET", f"{at}/result?form=csv"]},
        {"ask": ["GET", f"/tasks/{task['id']}"], "with": chinese},
        {"ask": ["GET", f"/tasks/{task['id']}/item?key=1"]},
        {"ask": ["POST", f"{at}/actions/recount"], "with": {"json": {"options": {"shortest": 99}}}},
        {"ask": ["POST", f"{at}/actions/recount"], "with": {"json": {"options": {"shortest": 3}}}},
    ]
    answers = json.loads(run("-c", ASK, given=json.dumps(asked)))
    assert [status for status, _ in answers] == [200, 200, 200, 200, 200, 422, 200]
    pipelines, task_text, table, page, item, refused, done = (text for _, text in answers)
    [known] = [one for one in json.loads(pipelines) if one["name"] == "counting"]
    assert (known["view"], known["forms"][0]["name"], known["actions"][0]["name"]) == ("text", "csv", "recount")
    assert known["options_schema"]["properties"]["shortest"]["maximum"] == 50
    assert (json.loads(task_text)["word"], json.loads(task_text)["item_words"]["done"]) == ("counted", "counted")
    assert table.startswith("line,words\n")
    assert "已统计" in page
    assert 'id="action-recount"' in page
    assert '<pre class="source">2 words: one two</pre>' in item
    assert json.loads(refused)["field"] == "shortest"
    assert json.loads(done)["message"] == "3 lines are counted again"
