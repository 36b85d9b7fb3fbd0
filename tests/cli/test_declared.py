"""An application's options on the command line are those it declares."""

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import fanfold as ff
from fanfold.running.terminal.declared import click_options, said
from tests.apps.pdf.making import make_encrypted
from tests.cli.shell import Shell
from tests.engine.sealed import unseal

KNOWN = (
    ff.Option("pages", "range", "Which pages.", ""),
    ff.Option("size", "number", "How large.", 10, at_least=1, at_most=99),
    ff.Option("mode", "choice", "How.", "auto", choices=("auto", "never")),
    ff.Option("marks", "flag", "Whether there are `marks`.", True),
    ff.Option("lines", "flag", "Whether to draw lines.", True),
    ff.Option("keep_raw", "flag", "Whether all is kept.", False),
    ff.Option("chain", "model", "Whom.", (), many=True),
    ff.Option("prompt", "file", "What is told.", ""),
    ff.Option("password", "secret", "Opens it.", apply=unseal),
)


@click.command()
@click_options(KNOWN)
def command(**given: object) -> None:
    """Tell what was said."""
    click.echo(json.dumps(said(KNOWN, given)))


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("", {}),
        ("--pages 1-3 --size 10 --mode auto", {"pages": "1-3"}),
        (
            "--size 20 --mode never --no-marks --keep-raw",
            {"size": 20, "mode": "never", "marks": False, "keep_raw": True},
        ),
        ("--chain a --chain b --password secret", {"chain": ["a", "b"]}),
    ],
)
def test_only_what_was_said_is_stored_and_never_a_secret(typed: str, found: dict[str, object]) -> None:
    assert json.loads(CliRunner().invoke(command, typed.split()).stdout) == found


def test_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text("Be good.", encoding="utf-8")
    told = CliRunner().invoke(command, ["--prompt", str(tmp_path / "prompt.md")])
    assert json.loads(told.stdout) == {"prompt": "Be good."}


@pytest.mark.parametrize("typed", ["--size 100", "--mode often", "--marks", "--size x"])
def test_what_is_not_possible_is_refused_as_it_is_typed(typed: str) -> None:
    assert CliRunner().invoke(command, typed.split()).exit_code == 2


def test_the_help_has_what_was_declared() -> None:
    told = " ".join(CliRunner().invoke(command, ["--help"]).stdout.split())
    assert "--size N How large. [default: 10]" in told.replace(" INTEGER RANGE", " N")
    assert "--no-marks Turn off: there are marks." in told
    assert "--no-lines Do not draw lines." in told
    assert "--password TEXT Opens it; - asks for it." in told


@pytest.mark.parametrize("way", ["retry", "submit"])
def test_a_password_is_typed_at_a_prompt_for_a_task_that_lacks_it(
    sqlite_shell: Shell, tmp_path: Path, way: str
) -> None:
    book = make_encrypted(tmp_path / "locked.pdf", "open-sesame", ["Behind the door."])
    if way == "submit":
        task = sqlite_shell.type("submit", "pdf", str(book), "--password", "-", input="open-sesame\n").stdout.strip()
    else:
        task = sqlite_shell.ok("submit", "pdf", str(book)).strip()
        sqlite_shell.type("tick", "pdf", "--seconds", "60")
        assert sqlite_shell.json("show", task)["state"] == "failed"
        wrong = sqlite_shell.type("retry", task, "--password", "-", input="wrong\n")
        assert (wrong.exit_code, "does not open locked.pdf" in wrong.stderr) == (5, True)
        assert sqlite_shell.type("retry", task, "--password", "-", input="open-sesame\n").exit_code == 0
    sqlite_shell.type("tick", "pdf", "--seconds", "60")
    assert sqlite_shell.json("show", task)["state"] == "completed"
    with sqlite_shell.client() as client:
        assert client.get(task).options == {}
    kept = [path for path in sqlite_shell.data.rglob("*") if path.is_file() and b"open-sesame" in path.read_bytes()]
    assert kept == []
