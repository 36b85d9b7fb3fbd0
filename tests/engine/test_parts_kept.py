"""What an application needs to redo part of its work: earlier output, options of the task, items made from files, schemas."""

from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.errors import KeyReused
from fanfold.providers.configuration import Provider
from fanfold.providers.services.openai import OpenAIService
from fanfold.providers.services.service import LeftOut, Request
from fanfold.testing import Engine
from tests.installation import Installation


def parts() -> ff.Pipeline:
    """A pipeline whose items keep what they made before, and whose merge names the option of the task."""
    pipeline = ff.Pipeline("parts", options=[ff.Option("columns", default="a")])

    @pipeline.each
    def made(item: ff.ItemWork) -> dict[str, Any]:
        kept = item.earlier or {}
        return {name: kept.get(name, f"{name} of {item.key}, asked once") for name in item.options["columns"]}

    @pipeline.merge
    def joined(task: ff.TaskWork, results: ff.Results) -> Any:
        return {"columns": task.options["columns"], "rows": [result.output for result in results]}

    return pipeline


def test_a_retry_may_change_the_options_of_the_task_and_the_handler_sees_what_it_made_before(
    installation: Installation,
) -> None:
    pipeline = installation.know(parts())
    client = installation.client
    task = client.submit(pipeline, items=[ff.NewItem("1"), ff.NewItem("2")], options={"columns": "a"})
    installation.work()
    before = client.result(task.id)["rows"]
    client.retry(task.id, ["1", "2"], stage="made", task_options={"columns": "ab"})
    installation.work()
    after = client.result(task.id)
    assert after["columns"] == "ab"
    assert [row["a"] for row in after["rows"]] == [row["a"] for row in before]
    assert after["rows"][1]["b"] == "b of 2, asked once"
    assert client.item(task.id, "1").options.get("columns") is None


def test_options_of_the_task_are_checked_before_anything_is_redone(installation: Installation) -> None:
    pipeline = installation.know(parts())
    client = installation.client
    task = client.submit(pipeline, items=[ff.NewItem("1")], options={"columns": "a"})
    installation.work()
    with pytest.raises(ff.BadOption, match="colums"):
        client.retry(task.id, ["1"], stage="made", task_options={"colums": "ab"})
    assert client.get(task.id).state == "completed"


def test_an_item_that_was_not_redone_has_no_earlier_output(engine: Engine) -> None:
    seen: list[Any] = []
    pipeline = ff.Pipeline("fresh")

    @pipeline.each
    def look(item: ff.ItemWork) -> str:
        seen.append(item.earlier)
        return "made"

    task = engine.submit(pipeline, items=["a"])
    engine.run()
    engine.client.retry(task.id, ["1"])
    engine.run()
    assert seen == [None, "made"]


def listing() -> ff.Pipeline:
    """A pipeline that begins with items and makes them from files."""
    pipeline = ff.Pipeline("listing", accepts=(".txt",))

    @pipeline.items_from
    def items(inputs: list[Any], options: dict[str, Any]) -> Any:
        for file in inputs:
            if file.read_text() == "bad":
                raise ff.Permanent("This is not a list.", code="no_list")
            yield ff.NewItem(file.name, {"file": file})

    @pipeline.each
    def read(item: ff.ItemWork[dict[str, Any], str]) -> str:
        return str(item.input["file"].read_text())

    return pipeline


def test_items_are_made_from_the_files_of_a_submission_in_one_transaction(
    installation: Installation, tmp_path: Path
) -> None:
    pipeline = installation.know(listing())
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for path in paths:
        path.write_text(path.name)
    task = installation.client.submit(pipeline, *paths, key="once")
    assert (task.total, [item.key for item in installation.client.items(task.id)]) == (2, ["a.txt", "b.txt"])
    assert installation.client.submit(pipeline, *paths, key="once").id == task.id
    installation.work()
    assert installation.client.result(task.id) == ["a.txt", "b.txt"]


def test_files_that_make_no_items_are_refused_and_nothing_is_kept(installation: Installation, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("bad")
    with pytest.raises(ff.BadInput, match="This is not a list"):
        installation.client.submit(listing(), path)
    assert installation.client.list() == []


SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def test_a_schema_is_sent_in_the_words_of_each_protocol_and_is_part_of_the_question(engine: Engine) -> None:
    pipeline = ff.Pipeline("asking")

    @pipeline.each
    async def ask(item: ff.ItemWork) -> str:
        first = await item.ask("What?", schema=SCHEMA)
        again = await item.ask("What?")
        return first.text + again.text

    engine.answers("{}", "[]")
    task = engine.submit(pipeline, items=["a"])
    engine.run()
    assert engine.result(task) == ["{}[]"]
    assert engine.requests[0].parameters == {"schema": SCHEMA}
    from fanfold.providers.services.anthropic import AnthropicService

    request = Request("large", "What?", parameters={"schema": SCHEMA})
    openai = OpenAIService(Provider("one", model="large", base_url="http://127.0.0.1:9/v1")).body(request)
    assert openai["response_format"]["json_schema"] == {"name": "answer", "strict": True, "schema": SCHEMA}
    anthropic = AnthropicService(Provider("two", kind="anthropic", model="large")).body(request)
    assert anthropic["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    assert "schema" not in openai
    assert "schema" not in anthropic


@pytest.mark.parametrize("said", ["response_format is not supported", "output_config: Extra inputs are not permitted"])
def test_a_service_that_does_not_know_schemas_is_asked_without(said: str) -> None:
    left_out = LeftOut()
    request = Request("small", "What?", parameters={"schema": SCHEMA, "temperature": 0})
    assert left_out.learn(request, said)
    assert left_out.sent(request) == {"temperature": 0}


def parted() -> ff.Pipeline:
    """A pipeline whose files with the ending `.parts` are replaced by a file for each line."""
    pipeline = ff.Pipeline("parted")

    @pipeline.unpack(".parts")
    def unpack(inputs: list[Any], folder: Path) -> Any:
        for number, line in enumerate(line for path in inputs for line in path.read_text().splitlines()):
            if line == "bad":
                raise ff.Permanent("This is no part.", code="no_part")
            (folder / f"{number}.txt").write_text(line)
            yield folder / f"{number}.txt"

    @pipeline.step
    def read(task: ff.TaskWork) -> list[str]:
        return [f"{file.name}: {file.read_text()}" for file in task.inputs]

    return pipeline


def test_a_file_that_contains_others_is_replaced_at_submit_and_its_key_is_that_of_the_file(
    installation: Installation, tmp_path: Path
) -> None:
    pipeline = installation.know(parted())
    path, plain = tmp_path / "all.PARTS", tmp_path / "plain.txt"
    path.write_text("one\ntwo")
    plain.write_text("one\ntwo")
    task = installation.client.submit(pipeline, path, key="once")
    other = installation.client.submit(pipeline, plain)
    assert installation.client.submit(pipeline, path, key="once").id == task.id
    path.write_text("one\nthree")
    with pytest.raises(KeyReused):
        installation.client.submit(pipeline, path, key="once")
    installation.work()
    assert installation.client.result(task.id) == ["0.txt: one", "1.txt: two"]
    assert installation.client.result(other.id) == ["plain.txt: one\ntwo"]
    assert list(installation.store.scratch.glob("unpacked-*")) == []


def test_a_file_that_cannot_be_unpacked_is_refused_and_nothing_is_kept(
    installation: Installation, tmp_path: Path
) -> None:
    path = tmp_path / "all.parts"
    path.write_text("one\nbad")
    with pytest.raises(ff.BadInput, match="This is no part"):
        installation.client.submit(installation.know(parted()), path)
    assert installation.client.list() == []
    assert list(installation.store.scratch.glob("unpacked-*")) == []
