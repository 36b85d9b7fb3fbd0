"""A script that a child process cannot import is refused at once with a reason, at no cost to any item."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.worker.attempt.caller import Caller
from fanfold.engine.worker.processes import main_script
from fanfold.engine.worker.processes.main_script import Unguarded
from fanfold.model import importing
from tests.engine.live import Live
from tests.engine.pipelines import batch

PIPELINE = """
import fanfold as ff
p = ff.Pipeline("unguarded")
@p.each({rules})
def double(item):
    return item.input * 2
"""
RUN = {
    "run": "print(ff.run(p, items=[1, 2], progress=False))",
    "arun": "import asyncio\nprint(asyncio.run(ff.arun(p, items=[1, 2], progress=False)))",
    "worker": "c = ff.Client(pipelines=[p])\nt = c.submit(p, items=[1, 2])\n"
    "ff.Worker([p]).run(drain=True)\nprint(c.result(t.id))",
}
ISOLATED = PIPELINE.format(rules="isolate=True")


def python(tmp_path: Path, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {"FANFOLD_DATA": str(tmp_path / "data"), "PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, input=given, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=110, check=False
    )


@pytest.mark.parametrize("how", sorted(RUN))
def test_a_script_without_a_guard_is_refused_in_words_and_costs_no_item_anything(tmp_path: Path, how: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(ISOLATED + RUN[how])
    ended = python(tmp_path, str(script))
    assert ended.returncode == 1
    last = ended.stderr.strip().splitlines()[-1]
    assert "script.py starts work as soon as it is imported" in last
    assert 'if __name__ == "__main__":' in last
    with ff.Client(data=str(tmp_path / "data")) as client:
        [task] = client.list()
        assert [(item.state, item.failures, item.crashes) for item in client.items(task.id)] == [("pending", 0, 0)] * 2
    script.write_text(ISOLATED + 'if __name__ == "__main__":\n    ' + RUN[how].replace("\n", "\n    "))
    assert python(tmp_path, str(script)).stdout.strip() == "[2, 4]"


def test_a_part_in_a_child_of_a_script_without_a_guard_is_refused_as_well(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        PIPELINE.format(rules="").replace("def", "async def").replace("item.input * 2", "await item.in_child(abs, 1)")
        + RUN["run"]
    )
    ended = python(tmp_path, str(script))
    assert "script.py starts work as soon as it is imported" in ended.stderr.strip().splitlines()[-1]
    with ff.Client(data=str(tmp_path / "data")) as client:
        [task] = client.list()
        assert [(item.state, item.failures) for item in client.items(task.id)] == [("pending", 0)] * 2


def test_a_module_that_works_when_it_is_imported_is_named(tmp_path: Path) -> None:
    (tmp_path / "lines.py").write_text(
        ISOLATED + "import multiprocessing\nif multiprocessing.parent_process():\n    " + RUN["run"]
    )
    script = tmp_path / "script.py"
    script.write_text('import fanfold as ff\nif __name__ == "__main__":\n    from lines import p\n    ' + RUN["run"])
    ended = python(tmp_path, str(script))
    assert "lines.py starts work as soon as it is imported" in ended.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize("way", ["-", "-c"])
def test_an_isolated_handler_that_was_typed_in_is_refused_before_anything_is_begun(tmp_path: Path, way: str) -> None:
    code = ISOLATED + RUN["run"]
    ended = python(tmp_path, "-", given=code) if way == "-" else python(tmp_path, "-c", code)
    assert "no child process can import its handler" in ended.stderr.strip().splitlines()[-1]
    with ff.Client(data=str(tmp_path / "data")) as client:
        assert client.list() == []


@pytest.mark.parametrize("way", ["-", "-c"])
def test_a_typed_in_script_may_use_isolated_handlers_of_a_module(tmp_path: Path, way: str) -> None:
    (tmp_path / "lines.py").write_text(ISOLATED)
    code = "import fanfold as ff\nfrom lines import p\n" + RUN["run"]
    ended = python(tmp_path, "-", given=code) if way == "-" else python(tmp_path, "-c", code)
    assert (ended.stdout.strip(), ended.returncode) == ("[2, 4]", 0), ended.stderr


def test_a_suspect_of_a_script_without_a_guard_runs_where_it_can(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unguarded(_self: Caller, _call: Any) -> Any:
        raise Unguarded("script.py")

    monkeypatch.setattr(Caller, "_in_child", unguarded)
    pipeline = live.know(batch(handler=double_here))
    task = live.client.submit(pipeline, items=[4])
    live.sql("UPDATE items SET crashes = 2")
    with live.working():
        live.until(task, "completed")
    assert live.client.result(task.id) == [8]


def double_here(item: Any) -> Any:
    """A handler that a child could find."""
    return item.input * 2


def test_only_a_child_that_imports_must_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    for state, times in ((importing.NOT_AT_ALL, 0), (importing.IN_MAIN_THREAD, 1), (importing.IN_ANY_THREAD, 2)):
        monkeypatch.setattr(importing._Imports, "state", state)
        importing.refuse_work()
        assert ended == [importing.UNGUARDED_EXIT] * times


def test_a_handler_of_the_main_script_needs_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = ff.Pipeline("typed")
    pipeline.each(isolate=True)(double_here)
    [stage] = pipeline.stages.values()
    monkeypatch.setattr(main_script, "main_path", lambda: None)
    assert main_script.is_reachable(stage)
    monkeypatch.setattr(double_here, "__module__", "__main__")
    assert not main_script.is_reachable(stage)
