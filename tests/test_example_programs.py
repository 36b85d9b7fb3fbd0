"""The examples of Fanfold in other programs run as they are: a FastAPI application, a Django project, a notebook."""

import ast
import asyncio
import importlib.util
import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from starlette.testclient import TestClient

import fanfold as ff
from fanfold.model.values.secrets import is_secret
from tests.waiting import eventually

EXAMPLES = Path(__file__).parent.parent / "examples"
ROOT = EXAMPLES.parent
DJANGO = EXAMPLES / "django_app"
NOTEBOOK = EXAMPLES / "notebook.ipynb"
PAGES = ["one", "two", "three"]


@pytest.fixture
def fastapi_app(sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The FastAPI example, with an installation of its own."""
    monkeypatch.setenv("FANFOLD_DATABASE", sqlite_url)
    monkeypatch.setenv("FANFOLD_DATA", str(tmp_path / "data"))
    described = importlib.util.spec_from_file_location("fastapi_app", EXAMPLES / "fastapi_app.py")
    assert described is not None
    assert described.loader is not None
    module = importlib.util.module_from_spec(described)
    monkeypatch.setitem(sys.modules, "fastapi_app", module)
    described.loader.exec_module(module)
    return module


@contextmanager
def serving(module: ModuleType) -> Iterator[TestClient]:
    """The application as a server runs it."""
    with TestClient(module.app, raise_server_exceptions=True) as client:
        yield client


def test_a_fastapi_application_submits_shows_progress_and_works_inside(fastapi_app: ModuleType) -> None:
    with serving(fastapi_app) as client:
        begun = client.post("/books", json={"pages": PAGES}, headers={"Idempotency-Key": "order-1"})
        assert begun.status_code == 202
        address = f"/books/{begun.json()['id']}"
        again = client.post("/books", json={"pages": PAGES}, headers={"Idempotency-Key": "order-1"})
        assert again.json()["id"] == begun.json()["id"]
        eventually(lambda: client.get(address).json()["state"] == "completed", 100)
        assert client.get(address).json() == {
            "id": begun.json()["id"],
            "state": "completed",
            "done": len(PAGES),
            "total": len(PAGES),
        }
        assert client.get(f"{address}/result").json() == "ONE\nTWO\nTHREE"
        lines = [line for line in client.get(f"{address}/follow").text.splitlines() if line]
        assert json.loads(lines[-1].removeprefix("data: "))["state"] == "completed"
        assert client.get("/books/t-000000000000").status_code == 404


def test_a_fastapi_application_leaves_the_work_to_workers_beside_it(
    fastapi_app: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKER_INSIDE", "0")
    with serving(fastapi_app) as client:
        address = f"/books/{client.post('/books', json={'pages': PAGES}).json()['id']}"
        unfinished = client.get(f"{address}/result")
        assert unfinished.status_code == 409
        worker = ff.Worker([fastapi_app.translate])
        worker.run(drain=True)
        worker.store.close()
        assert client.get(address).json()["state"] == "completed"


def test_arun_works_in_a_request_and_stops_when_the_request_is_cancelled(fastapi_app: ModuleType) -> None:
    begun: list[str] = []
    slow = ff.Pipeline("slow")

    @slow.each(timeout=None)
    async def never(item: ff.ItemWork) -> str:
        begun.append(item.key)
        await asyncio.sleep(600 if len(begun) == 1 else 0)
        return "done"

    @fastapi_app.app.get("/slow")  # type: ignore[untyped-decorator,unused-ignore]
    async def run() -> list[str]:
        running = asyncio.create_task(ff.arun(slow, items=["a"], progress=False))
        await asyncio.to_thread(eventually, lambda: begun, 60)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        found: list[str] = await ff.arun(slow, items=["a"], progress=False)
        return found

    with serving(fastapi_app) as client:
        assert client.get("/slow").json() == ["done"]
    assert len(begun) == 2


DJANGO_STORY = """
import json, django
django.setup()
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from books.models import Book
from books.pipeline import add_book, client

call_command("migrate", run_syncdb=True, verbosity=0)
try:
    with transaction.atomic():
        add_book("rolled back", "text")
        raise RuntimeError
except RuntimeError:
    pass
assert client().list() == [], "a book that is rolled back must not leave a task"
made = Client().post("/books/", {"title": "Moby", "text": "call me\\n\\nishmael"}).json()
before = Client().get(f"/books/{made['book']}/").json()
forgotten = Book.objects.create(title="Forgotten", text="by a crash")
assert Client().get(f"/books/{forgotten.pk}/").json()["state"] == "not submitted yet"
call_command("work", drain=True)
after = Client().get(f"/books/{made['book']}/").json()
found = Client().get(f"/books/{forgotten.pk}/").json()
print(json.dumps([before, after, found]))
client().close()
"""


def test_a_django_project_submits_after_the_commit_and_works_beside_it(sqlite_url: str, tmp_path: Path) -> None:
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "settings",
        "DJANGO_DATABASE": str(tmp_path / "django.db"),
        "FANFOLD_DATABASE": sqlite_url,
        "FANFOLD_DATA": str(tmp_path / "data"),
        "PYTHONPATH": os.pathsep.join((str(DJANGO), str(ROOT))),
    }
    done = subprocess.run(
        [sys.executable, "-c", DJANGO_STORY],
        check=False,
        cwd=DJANGO,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    before, after, forgotten = json.loads(done.stdout.splitlines()[-1])
    assert (before["state"], before["translation"]) == ("active", "")
    assert (after["state"], after["done"], after["translation"]) == ("completed", 2, "CALL ME\nISHMAEL")
    assert forgotten["translation"] == "BY A CRASH"


def test_the_cells_of_the_notebook_run_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def notebook() -> dict[str, Any]:
        names: dict[str, Any] = {"__name__": "__main__"}
        for source in cells("code"):
            code = compile(source, str(NOTEBOOK), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            running = eval(code, names)
            if inspect.isawaitable(running):
                await running
        return names

    names = asyncio.run(notebook())
    assert names["words"] == 19
    assert names["task"].state == "completed"
    assert names["counted"] == {"1": 3, "2": 8, "3": 8}


def test_the_notebook_is_kept_without_outputs_and_without_keys() -> None:
    found = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    for cell in found["cells"]:
        assert cell.get("outputs", []) == []
        assert cell.get("execution_count") is None
    assert len(cells("code")) >= 3


@pytest.mark.parametrize(
    "path", [*DJANGO.rglob("*.py"), EXAMPLES / "fastapi_app.py"], ids=lambda path: path.relative_to(EXAMPLES).as_posix()
)
def test_no_secret_is_written_into_an_example(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            assert not [name for name in names if is_secret(name)]


def cells(kind: str) -> list[str]:
    """The sources of the notebook's cells of one kind."""
    found = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == kind]
