"""What `fanfold extract` says before anything is stored or paid."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanfold.apps.pdf.sample import SAMPLE
from fanfold.running.terminal.exit_codes import Exit
from tests.ai_server import AIServer
from tests.apps.extract.answering import served
from tests.cli.shell import Shell
from tests.conftest import environment_of

pytestmark = pytest.mark.one_database


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    """One paper, and a template beside it."""
    (tmp_path / "fields.yaml").write_text("n: integer — How many?\n")
    path = tmp_path / "paper.txt"
    path.write_text("We enrolled 12 people.")
    return path


def test_mistakes_of_a_template_are_told_one_by_one_and_nothing_is_stored(shell: Shell, paper: Path) -> None:
    template = paper.with_name("bad.yaml")
    template.write_text("n: {minimun: 1}\nm: inteqer - What?\n")
    told = shell.fails(5, "extract", str(paper), "--template", str(template), "-o", str(paper.with_name("t.csv")))
    assert "Did you mean minimum?" in told
    assert "type 'inteqer'" in told
    assert shell.json("tasks") == []


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--template", "fields.yaml"), 5, "Name the documents"),
        (("paper.txt",), 5, "needs a template"),
        (("paper.txt", "--template", "nowhere.yaml"), 3, "There is no template nowhere.yaml"),
        (("paper.txt", "--template", "nowhere:Model"), 5, "is not a model"),
        (("paper.txt", "--template", "fields.yaml", "-o", "table.docx"), 5, "must end with .csv"),
        (("--suggest", "trials"), 5, "Name one to three documents"),
        (("nowhere.pdf", "--template", "fields.yaml"), 5, "can be read. nowhere.pdf does not exist"),
        (("paper.txt", "--template", "fields.yaml", "--gold", "latin.csv"), 5, "latin.csv is not text in UTF-8"),
    ],
)
def test_a_command_that_makes_no_sense_names_the_way_out(
    shell: Shell, paper: Path, words: tuple[str, ...], code: int, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(paper.parent)
    Path("latin.csv").write_bytes("document,n\npaper.txt,zwölf".encode("latin-1"))
    assert told in shell.fails(code, "extract", *words)


def test_an_estimate_asks_nobody(shell: Shell, paper: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(paper.parent)
    with AIServer() as ai:
        for name, value in environment_of(ai).items():
            monkeypatch.setenv(name, value)
        told = shell.json("extract", "paper.txt", "--template", "fields.yaml", "--provider", "fake", "--estimate")
        assert (told["calls"], len(ai.calls)) == (1, 0)
    assert shell.json("tasks") == []


def test_fresh_asks_again_and_the_next_run_finds_the_new_task(
    shell: Shell, paper: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(paper.parent)
    words = ("extract", "paper.txt", "--template", "fields.yaml", "--provider", "fake", "-o", "table.jsonl")
    with AIServer() as ai:
        ai.answer(served({"n": (12, "We enrolled 12 people")}))
        for name, value in environment_of(ai).items():
            monkeypatch.setenv(name, value)
        shell.ok(*words)
        shell.ok(*words)
        assert len(ai.calls) == 1
        shell.ok(*words, "--fresh")
        assert len(ai.calls) == 2
        newest = shell.json("tasks")[0]["id"]
        assert newest in shell.type(*words).stderr
        assert len(ai.calls) == 2
    assert json.loads(Path("table.jsonl").read_text())["fields"]["n"]["value"] == 12


SAVED = ("extract", "paper.txt", "--template", "fields.yaml", "--provider", "fake", "-o")


@pytest.fixture
def service(paper: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AIServer]:
    """A service that knows the paper; commands run beside the paper."""
    monkeypatch.chdir(paper.parent)
    with AIServer() as ai:
        ai.answer(served({"n": (12, "We enrolled 12 people"), "more": (12, "We enrolled 12 people")}))
        for name, value in environment_of(ai).items():
            monkeypatch.setenv(name, value)
        yield ai


def cell_of(shell: Shell, task: str) -> tuple[str, str]:
    """The only document of a task, and the part key of its first cell."""
    rows = [json.loads(line) for line in shell.ok("result", task, "--form", "jsonl").splitlines()]
    return rows[0]["key"], rows[0]["fields"]["n"]["part"]


@pytest.mark.parametrize("name", ["table.csv", "table.xlsx"])
@pytest.mark.usefixtures("service")
def test_the_table_of_an_earlier_run_is_replaced_and_an_edited_one_is_kept(shell: Shell, name: str) -> None:
    shell.ok(*SAVED, name)
    task = shell.json("tasks")[0]["id"]
    Path("fields.yaml").write_text("n: integer — How many?\nmore: integer — How many more?\n")
    shell.ok("extract", "--task", task, "--template", "fields.yaml", "-o", name)
    shell.ok("extract", "--task", task, "-o", name)
    shell.ok(*SAVED, name)
    assert list(Path().glob("*.bak")) == []
    assert not Path("written.json").exists()
    Path(name).write_text("my own words")
    told = shell.type("extract", "--task", task, "-o", name).stderr
    assert f"{name} was edited, or not written by Fanfold; it is kept as {name}.1.bak" in told
    assert Path(f"{name}.1.bak").read_text() == "my own words"


@pytest.mark.usefixtures("service")
def test_a_decision_writes_the_saved_table_again_unless_it_was_edited(shell: Shell) -> None:
    shell.ok(*SAVED, "table.csv")
    task = shell.json("tasks")[0]["id"]
    cell = cell_of(shell, task)
    told = shell.type("decide", task, *cell, "replace", "--json-value", "13").stderr
    assert f"Rewritten: {Path('table.csv').resolve()}" in told
    assert "paper.txt,13,done," in Path("table.csv").read_text()
    Path("table.csv").write_text("my own words")
    told = shell.type("decide", task, *cell, "replace", "--json-value", "null").stderr
    assert "was edited after it was saved and is left unchanged" in told
    assert Path("table.csv").read_text() == "my own words"


def test_an_action_names_the_command_that_writes_the_saved_table_again(shell: Shell, service: AIServer) -> None:
    shell.ok(*SAVED, "table.csv")
    task = shell.json("tasks")[0]["id"]
    Path("gold.csv").write_text("document,n\npaper.txt,12\n")
    assert "earlier result" not in shell.type("do", task, "gold", "--gold", "gold.csv").stderr
    Path("latin.csv").write_bytes("zwölf".encode("latin-1"))
    assert "not text in UTF-8" in shell.fails(5, "do", task, "gold", "--gold", "latin.csv")
    service.answer(served({"n": (12, "We enrolled 12 people.")}))
    told = shell.type("do", task, "redo", "--columns", "n", "--model", "fake:fake-small").stderr
    place = Path("table.csv").resolve()
    assert f"{place} still has the earlier result; for the new one: fanfold extract --task {task} -o {place}" in told
    shell.ok("extract", "--task", task, "-o", "table.csv")
    assert service.calls[-1].model == "fake-small"
    assert list(Path().glob("*.bak")) == []


@pytest.mark.parametrize("words", [("extract", "paper.txt", "--template", "fields.yaml"), ("convert", "sample.pdf")])
def test_an_estimate_needs_no_key_and_no_running_service(
    sqlite_shell: Shell, paper: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(paper.parent)
    shutil.copyfile(SAMPLE, "sample.pdf")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "live" in sqlite_shell.ok(*words, "--provider", "openai", "--estimate")
    assert "needs a key" in sqlite_shell.fails(5, *words, "--provider", "openai", "--sample", "1")
    assert "live" in sqlite_shell.ok(*words, "--model", "ollama:llama3", "--estimate")
    assert sqlite_shell.json("tasks") == []


def test_a_draft_that_fails_is_told_in_whole_sentences(shell: Shell, service: AIServer) -> None:
    field = {"name": "n", "type": "inteqer", "question": "How many?", "choices": []}
    service.answer(json.dumps({"fields": [field]}))
    told = shell.fails(Exit.FAILED, "extract", "--suggest", "trials", "paper.txt", "--provider", "fake")
    assert "or choices such as yes | no. For details: fanfold show" in told


def test_a_kept_template_is_named_in_an_action_and_its_task_is_listed(shell: Shell, service: AIServer) -> None:
    shell.ok(*SAVED, "table.csv")
    task = shell.json("tasks")[0]["id"]
    Path("more.yaml").write_text("n: integer — How many?\nmore: integer — How many more?\n")
    shell.ok("templates", "save", "extract", "trials", "more.yaml")
    assert "The table now has 2 columns" in shell.ok("do", task, "columns", "--template", "trials@1")
    shell.ok("extract", "--task", task, "-o", "table.csv")
    assert Path("table.csv").read_text().startswith("document,n,more,state")
    assert task in shell.ok("templates", "show", "extract", "trials", "--tasks")
    assert "There is no template" in shell.fails(3, "do", task, "columns", "--template", "nothing")
    shell.ok("retry", task, "--item", cell_of(shell, task)[0], "--option", "template=trials")
