"""Answers of the API tell nobody to type a command: programs and pages have commands of their own."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import fanfold
from fanfold.model.lifecycle import COMMANDS, TaskState, refusal
from fanfold.server.sentences import neutral, without_commands
from tests.cli.samples import words
from tests.engine.jobs import JobService
from tests.engine.pipelines import batch
from tests.installation import Installation
from tests.server.asking import Asker
from tests.server.test_external import made

SOURCES = Path(fanfold.__file__).parent
ROOMS = ("engine", "model", "store", "providers", "apps", "server")
TYPED = re.compile(r"\bfanfold (?!is\b)[a-z]+ |\bfanfold [a-z]+$|(?:^|[ (])--[a-z]")
OPERATING = {
    *("doctor.py", "stalled.py", "backup.py", "revisions.py", "migrate.py", "slots.py", "tick.py", "command.py"),
    *("discovery.py", "documented.py", "operating.py"),
}
"""What is said to who runs the installation: in a terminal, in the log, or as a check of the doctor."""


def sentences() -> Iterator[tuple[str, str]]:
    """Every text in the sources that names a command, with an example for each value in it."""
    for room in ROOMS:
        for path in sorted((SOURCES / room).rglob("*.py")):
            tree = ast.parse(path.read_text())
            inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
            documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                text = written(node) if id(node) not in inner | documents else None
                if text and path.name not in OPERATING and re.search(r"\bfanfold [a-z]+ |[ (]--[a-z]", text):
                    yield f"{path.relative_to(SOURCES)}:{getattr(node, 'lineno', 0)}", text


def written(node: ast.AST) -> str | None:
    """The text of a literal, with a task's id in place of every value."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "t-8hk2mq" for part in node.values)
    return None


def test_no_sentence_of_the_sources_tells_a_program_to_type_a_command() -> None:
    found = dict(sentences())
    assert len(found) > 10
    typed = {place: shown for place, text in found.items() if TYPED.search(shown := without_commands(text))}
    assert typed == {}


@pytest.mark.parametrize("state", TaskState)
def test_every_refusal_has_a_neutral_form(state: TaskState) -> None:
    for verb in COMMANDS:
        shown = without_commands(refusal("t-8hk2mq", state, verb, COMMANDS))
        assert shown.startswith(f"Task t-8hk2mq is {state}: {verb} needs ")
        assert not TYPED.search(shown)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Give one PDF file per task: fanfold convert book.pdf", "Give one PDF file per task"),
        ("none has failed; name the ones to redo with --item.", "none has failed; name the ones to redo."),
        ("It is open. What it made before: ask for the earlier one (--earlier).", None),
        ("openai has no default model. Name one: --model openai:MODEL", "openai has no default model."),
    ],
)
def test_a_sentence_keeps_its_fact(said: str, shown: str | None) -> None:
    assert without_commands(said) == (shown or said.replace(" (--earlier)", ""))


def test_a_refused_command_says_what_is_possible_without_commands_to_type(
    asker: Asker, installation: Installation
) -> None:
    task = installation.client.submit(words, items=["a"])
    installation.work()
    answer = asker.post(f"/tasks/{task.id}/pause", status=409)
    assert answer["detail"] == f"Task {task.id} is completed: pause needs an active task."
    assert answer["available_commands"] == list(installation.client.get(task.id).available_commands)
    with pytest.raises(fanfold.IllegalMove, match=f"fanfold rerun {task.id}"):
        installation.client.pause(task.id)


def test_a_rerun_of_a_pipeline_that_the_server_does_not_have_is_refused(
    asker: Asker, installation: Installation
) -> None:
    task = installation.client.submit(batch("elsewhere"), items=["a"])
    installation.client.pause(task.id)
    answer = asker.post(f"/tasks/{task.id}/rerun", status=422)
    assert answer["code"] == "pipeline_needed"
    assert answer["detail"].startswith(f"Task {task.id} can be started over only where its pipeline elsewhere is known")
    assert not TYPED.search(answer["detail"])
    assert asker.get(f"/tasks/{task.id}")["state"] == "paused"


def test_a_missing_result_says_what_is_possible_without_commands_to_type(
    asker: Asker, installation: Installation
) -> None:
    task = installation.client.submit(words, items=["a", "bad"])
    installation.work()
    answer = asker.ask("GET", f"/tasks/{task.id}/result").json()
    assert not TYPED.search(answer["detail"]), answer
    assert "has no result" in answer["detail"]
    assert "retry" in answer["available_commands"]


def test_no_answer_of_the_api_about_a_task_names_a_command(asker: Asker, installation: Installation) -> None:
    task = made(installation, JobService())
    for path in ("", "/items", "/items/detail?key=1&stage=render", "/external", "/events", "/timeline", "/failures"):
        text = asker.ask("GET", f"/tasks/{task}{path}").text
        assert "fanfold external" not in text, path
    page = asker.ask("GET", f"//tasks/{task}/events").text
    assert "nobody knows whether" in page
    assert "fanfold external" not in page
    assert asker.get(f"/tasks/{task}")["wait_reason"].startswith("1 item waits for you: nobody knows whether")
    held = installation.client.external_jobs(task)[0].held
    assert "fanfold external" in (held or ""), "a terminal is told what to type"


def test_what_has_no_sentences_stays_as_it_is() -> None:
    assert neutral(5) == 5
