"""Responses of the API never tell anybody to type a command: programs and pages have their own commands."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import fanfold
from fanfold.model.lifecycle import COMMANDS, TaskState, refusal
from fanfold.model.text import catalogue
from fanfold.model.text.catalogue import operating
from fanfold.model.text.sentences import without_typed
from fanfold.server.requests.adapted_messages import neutral, without_commands
from fanfold.server.web.chinese import sentences as chinese
from tests.cli.samples import words
from tests.engine.jobs import JobService
from tests.engine.pipelines import batch
from tests.installation import Installation
from tests.server.asking import Asker
from tests.server.test_external import made

SOURCES = Path(fanfold.__file__).parent
ROOMS = ("engine", "model", "store", "providers", "apps", "server")
TYPED = re.compile(r"\bfanfold (?!is\b)[a-z]+ |\bfanfold [a-z]+$|(?:^|[ (])--[a-z]")
SAID = {"sentences.py", "chinese.py"}
"""The sentences of an application, with a code, and their translations."""
PARTS_OF_COMMANDS = {
    "extract papers/ --template fields.yaml -o table.xlsx",
    "translate book.epub --to zh",
    "fanfold ",
    "--item ",
    "fanfold db backup ",
    "pg_dump --format=custom --file=",
}
"""What commands are made of that are given to a sentence, which shows them at a terminal only, or said at an upgrade."""
OPERATING = {
    *("doctor.py", "stalled.py", "backup.py", "revisions.py", "migrate.py", "slots.py", "tick.py", "command.py"),
    *("discovery.py", "documented.py", "operating.py", "scenes_command.py"),
}
"""Texts for the operator: in a terminal, in the log, or as a check of the doctor."""


def literals() -> Iterator[tuple[str, str]]:
    """Every text in the sources that names a command, but for the catalogues, with where it stands."""
    for room in ROOMS:
        for path in sorted((SOURCES / room).rglob("*.py")):
            if path.name in OPERATING or {"catalogue", "chinese"} & {*path.parts} or path.name in SAID:
                continue
            tree = ast.parse(path.read_text())
            documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents
                if is_text and TYPED.search(node.value):  # type: ignore[attr-defined]
                    yield f"{path.relative_to(SOURCES)}:{node.lineno}", node.value  # type: ignore[attr-defined]


def test_commands_to_type_stand_only_in_sentences_with_a_code() -> None:
    named = dict(literals())
    assert {place: text for place, text in named.items() if text not in PARTS_OF_COMMANDS} == {}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_sentence_tells_a_program_or_a_page_to_type_a_command(language: str) -> None:
    found = catalogue.ENGLISH if language == "en" else chinese.SENTENCES
    shown = {code: without_typed(text) for code, text in found.items() if code not in operating.SENTENCES}
    assert {code: text for code, text in shown.items() if TYPED.search(text)} == {}
    assert sum("[[" in text for text in found.values()) > 20


@pytest.mark.parametrize("state", TaskState)
def test_every_refusal_has_a_neutral_form(state: TaskState) -> None:
    for verb in COMMANDS:
        shown = without_commands(refusal("t-8hk2mq", state, verb, COMMANDS))
        assert shown.startswith(f"Task t-8hk2mq is {state}: {verb} needs ")
        assert not TYPED.search(shown)


def test_what_has_no_code_is_shown_as_it_is() -> None:
    said = "My own words: run fanfold retry t-8hk2mq"
    assert without_commands(said) == said


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
    assert answer["detail"].startswith(
        f"Task {task.id} can be started over only where its pipeline elsewhere is installed"
    )
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
    assert "it is unknown whether" in page
    assert "fanfold external" not in page
    assert asker.get(f"/tasks/{task}")["wait_reason"].startswith("1 item waits for you: it is unknown whether")
    held = installation.client.external_jobs(task)[0].held
    assert "fanfold external" in (held or ""), "a terminal is told what to type"


def test_what_has_no_sentences_stays_as_it_is() -> None:
    assert neutral(5) == 5


COMMAND_IN_IT = re.compile(r"\bfanfold [a-z]|(?<!\w)--[a-z]")


def test_the_doctor_advises_without_a_terminal_and_has_the_command_apart(asker: Asker) -> None:
    """In the API and in the page: a sentence, and next to it a command that can be copied to a terminal."""
    paused = asker.post("/tasks", {"pipeline": "words", "items": ["a"]}, status=201)["id"]
    asker.post("/tasks", {"pipeline": "words", "items": ["b"]}, status=201)
    asker.post(f"/tasks/{paused}/pause")
    checks = asker.get("/doctor")
    assert [
        check for check in checks if COMMAND_IN_IT.search(check["advice"]) or COMMAND_IN_IT.search(check["fact"])
    ] == []
    commands = {check["name"]: check["command"] for check in checks if check["command"]}
    assert commands["served"] == "fanfold worker TARGET"
    assert commands["tasks"] == "fanfold tasks --state paused"
    shown = asker.ask("GET", "//workers", headers={"accept": "text/html"}).text
    sentences = re.sub('<span class="hint">.*?</span>', "", shown, flags=re.DOTALL)
    assert COMMAND_IN_IT.search(re.sub("<[^>]+>", "", sentences)) is None
    assert 'data-copy-text="fanfold worker TARGET"' in shown


def test_no_sentence_of_the_doctor_has_a_command_in_it() -> None:
    """Also those for failures that are hard to cause."""
    assert {code for code, text in operating.SENTENCES.items() if COMMAND_IN_IT.search(text)} == set()
