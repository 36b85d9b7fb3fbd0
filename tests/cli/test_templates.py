"""Templates are listed, shown, saved and deleted from the command line."""

import json
from pathlib import Path

from fanfold.engine.client import Client
from fanfold.running.terminal.exit_codes import Exit
from tests.cli.shell import Shell
from tests.engine.with_templates import survey

TARGET = ("--target", "tests.engine.with_templates:survey")


def test_a_file_is_saved_as_a_template_and_shown_again(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "fields.json"
    file.write_text('\ufeff{"age": "How old?"}', encoding="utf-8")
    save = ("templates", "save", "fields", "people", str(file), *TARGET)
    assert shell.ok(*save, "--note", "first") == "Saved people@1\n"
    assert shell.ok(*save) == "Saved people@1\n"
    file.write_text('{"age": "How old?", "name": "Who?"}')
    assert shell.json(*save)["version"] == 2
    assert json.loads(shell.ok("templates", "show", "fields", "people@1")) == {"age": "How old?"}
    assert shell.json("templates", "show", "fields", "people")["body"]["name"] == "Who?"
    assert "first" in shell.ok("templates", "show", "fields", "people", "--versions")
    assert shell.ok("templates").split()[6:9] == ["fields", "people", "2"]
    assert shell.json("templates", "list", "--kind", "other") == []


def test_a_file_with_mistakes_is_refused_with_all_of_them(sqlite_shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "fields.json"
    file.write_text('{"age": 1, "size": 2}')
    said = sqlite_shell.fails(Exit.BAD_INPUT, "templates", "save", "fields", "people", str(file), *TARGET)
    assert "age has no question" in said
    assert "size has no question" in said


def test_the_tasks_of_a_template_are_listed_and_stay_when_it_is_deleted(shell: Shell, client: Client) -> None:
    known = Client(store=client.store, pipelines=[survey])
    known.templates.save("fields", "people", {"age": "How old?"})
    task = known.submit(survey, items=["ann"], options={"fields": "people"})
    assert task.id in shell.ok("templates", "show", "fields", "people", "--tasks")
    assert shell.ok("templates", "delete", "fields", "people") == "Deleted people (1 version)\n"
    assert "no template people" in shell.fails(Exit.NOT_FOUND, "templates", "show", "fields", "people")
    assert shell.json("show", task.id)["options"]["fields"] == '{"age":"How old?"}'
