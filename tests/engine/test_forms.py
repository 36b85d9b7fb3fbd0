"""A result is available in the forms of its application, and a failure of that code is reported as one."""

import tempfile
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.client import Client
from tests.engine.offering import lines
from tests.installation import Installation

pytestmark = pytest.mark.one_database


@pytest.fixture
def task(installation: Installation) -> ff.Task:
    """A completed task."""
    installation.know(lines)
    task = installation.client.submit(lines, items=["one", "two"], title="book.txt")
    installation.work()
    return installation.client.get(task.id)


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where forms are made."""
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


def test_a_result_can_be_had_in_every_form(installation: Installation, task: ff.Task, folders: Path) -> None:
    client = installation.client
    assert client.result(task.id, form="table") == "1,1 one\n2,2 two\n"
    assert client.result(task.id, form="packed") == b"\x001 one\n2 two\n"
    assert client.result(task.id, form="whole") == "1 one\n2 two\n"
    assert client.result(task.id, form="gaps") == "[]"
    assert list(folders.iterdir()) == []
    assert client.result(task.id).read_text() == "1 one\n2 two\n"


def test_a_form_is_a_file_named_after_the_task_until_it_is_closed(
    installation: Installation, task: ff.Task, folders: Path, tmp_path: Path
) -> None:
    with installation.client.make_form(task.id, "table") as made:
        assert (made.name, made.form.media_type, made.size) == ("book.csv", "text/csv", 16)
        assert made.save(tmp_path).read_text() == "1,1 one\n2,2 two\n"
        assert len(list(folders.iterdir())) == 1
    assert list(folders.iterdir()) == []


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("broken", "cannot be made: ZeroDivisionError: cannot divide"),
        ("refused", "cannot be made: There is no table in it."),
        ("odd", "returned int. It must return text, bytes, a path or a File."),
    ],
)
def test_a_form_that_fails_says_so_and_leaves_nothing(
    installation: Installation, task: ff.Task, folders: Path, form: str, said: str
) -> None:
    before = installation.rows()
    with pytest.raises(ff.FormFailed) as caught:
        installation.client.result(task.id, form=form)
    assert said in caught.value.message
    assert list(folders.iterdir()) == []
    assert installation.rows() == before


def test_an_unknown_form_names_those_there_are(installation: Installation, task: ff.Task) -> None:
    with pytest.raises(ff.NotFound, match=r"has no form 'xlsx'\. It has: table, packed, whole") as caught:
        installation.client.result(task.id, form="xlsx")
    assert caught.value.code == "no_form"


def test_a_process_without_the_code_says_so(installation: Installation, task: ff.Task) -> None:
    stranger = Client(store=installation.store)
    with pytest.raises(ff.NotFound, match="The code of the pipeline lines is not known here") as caught:
        stranger.result(task.id, form="table")
    assert caught.value.code == "unknown_pipeline"


def test_a_task_without_a_result_has_no_forms_of_it(installation: Installation) -> None:
    installation.know(lines)
    task = installation.client.submit(lines, items=["one"])
    with pytest.raises(ff.TaskStopped, match="has no result"):
        installation.client.result(task.id, form="table")
    installation.work()
    installation.client.retry(task.id, ["1"])
    with pytest.raises(ff.TaskStopped):
        installation.client.result(task.id, form="whole")
    assert installation.client.result(task.id, form="whole", earlier=True) == "1 one\n"


def test_a_form_of_a_task_that_is_redone_meanwhile_is_not_given(installation: Installation, folders: Path) -> None:
    """Otherwise half of it would be from before, and half from after."""
    pipeline = ff.Pipeline("meddled")
    pipeline.each(name="double")(lambda item: item.input * 2)

    @pipeline.form("text", media_type="text/plain")
    def text(work: ff.FormWork) -> str:
        installation.client.retry(work.task.id, ["1"])
        return "half"

    installation.know(pipeline)
    task = installation.client.submit(pipeline, items=[1])
    installation.work()
    with pytest.raises(ff.TaskStopped, match="changed while its form text was made"):
        installation.client.result(task.id, form="text")
    assert list(folders.iterdir()) == []


@pytest.mark.parametrize(
    "rules",
    [
        {"name": "Big Table", "media_type": "text/csv"},
        {"name": "table", "media_type": "csv"},
        {"name": "table", "media_type": "text/csv", "ending": "../x"},
    ],
)
def test_a_form_that_makes_no_sense_is_refused_when_it_is_declared(rules: dict[str, Any]) -> None:
    with pytest.raises(ff.BadPipeline):
        ff.Pipeline("p").form(rules.pop("name"), **rules)(lambda work: "")


def test_a_form_is_a_plain_function_and_declared_once() -> None:
    pipeline = ff.Pipeline("p")

    async def later(work: ff.FormWork) -> str:
        return ""

    with pytest.raises(ff.BadPipeline, match="plain `def`"):
        pipeline.form("text", media_type="text/plain")(later)
    pipeline.form("text", media_type="text/plain")(lambda work: "")
    with pytest.raises(ff.BadPipeline, match="already has a form 'text'"):
        pipeline.form("text", media_type="text/plain")(lambda work: "")


def begun(installation: Installation) -> ff.Task:
    """A task of three lines, one of which is done."""
    installation.know(lines)
    task = installation.client.submit(lines, items=["one", "two", "three"])
    worker = installation.worker()
    worker.finish(*worker.claim(free=1), output='"1 one"')
    return installation.client.get(task.id)


def test_a_partial_form_is_made_of_the_results_so_far(installation: Installation) -> None:
    task = begun(installation)
    assert installation.client.result(task.id, form="table", partial=True) == "1,1 one\n"
    with pytest.raises(ff.TaskStopped):
        installation.client.result(task.id, form="table")


def test_a_form_that_needs_the_whole_result_is_refused_while_the_task_runs(installation: Installation) -> None:
    task = begun(installation)
    with pytest.raises(ff.TaskStopped, match="the form packed can only be made when the task is completed"):
        installation.client.result(task.id, form="packed", partial=True)


def test_a_form_knows_whether_it_is_partial_and_how_far_the_task_is(installation: Installation) -> None:
    seen: list[tuple[bool, int, int]] = []
    pipeline = ff.Pipeline("seen")
    pipeline.each(name="look")(lambda item: item.input)

    @pipeline.form("far", media_type="text/plain", partial=True)
    def far(work: ff.FormWork) -> str:
        seen.append((work.is_partial, work.task.done, work.task.total))
        return ""

    task = installation.client.submit(installation.know(pipeline), items=[1, 2])
    worker = installation.worker()
    worker.finish(*worker.claim(free=1))
    installation.client.result(task.id, form="far", partial=True)
    installation.work()
    installation.client.result(task.id, form="far", partial=True)
    assert seen == [(True, 1, 2), (False, 2, 2)]
