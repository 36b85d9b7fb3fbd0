"""What installed packages provide is found by name, and a broken package affects nothing else."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.shell import ROOT

Fanfold = Callable[..., "subprocess.CompletedProcess[str]"]
STAGE = """
@p.each
def work(item):
    return item.key.upper()

@p.form("lines", media_type="text/plain")
def lines(work):
    return "formed"
"""


def pipeline(name: str) -> str:
    """A module whose variable `p` is a pipeline of this name."""
    return f"import fanfold as ff\np = ff.Pipeline({name!r}){STAGE}"


def application(package: str, **parts: str) -> str:
    """The declaration of an application; parts are Python."""
    given = "".join(f", {name}={value}" for name, value in parts.items())
    return f"import fanfold as ff\napplication = ff.Application({package!r}, title={package.title()!r}{given})\n"


@pytest.fixture
def install(tmp_path: Path) -> Callable[..., None]:
    """Puts a package where Python finds it, with its entry point, as pip does."""

    def install(package: str, **modules: str) -> None:
        folder, facts = tmp_path / "site" / package, tmp_path / "site" / f"{package}-1.0.dist-info"
        for place in (folder, facts):
            place.mkdir(parents=True)
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text(f"[fanfold.apps]\n{package} = {package}:application\n")
        for name, source in modules.items():
            (folder / f"{name}.py").write_text(source)

    return install


@pytest.fixture
def fanfold(tmp_path: Path) -> Fanfold:
    """Types a command where the packages are installed."""
    places = os.pathsep.join([str(tmp_path / "site"), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": places, "FANFOLD_DATA": str(tmp_path / "data"), "COLUMNS": "120"}
    environment.pop("FANFOLD_DATABASE", None)

    def fanfold(*words: str, code: int = 0) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [sys.executable, "-m", "fanfold", *words], cwd=tmp_path, env=environment, text=True, capture_output=True,
            timeout=250, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return fanfold


def listed(fanfold: Fanfold) -> dict[str, str]:
    """The pipelines by target: the name of each."""
    return {one["target"]: one["name"] for one in json.loads(fanfold("pipelines", "--json").stdout)}


def test_an_installed_pipeline_is_known_by_the_name_that_it_declares(
    install: Callable[..., None], fanfold: Fanfold
) -> None:
    install("letters", __init__=application("letters", pipelines="('letters.work:p',)"), work=pipeline("lettering"))
    assert listed(fanfold)["letters.work:p"] == "lettering"
    fanfold("run", "lettering", "a", "b")
    [task] = json.loads(fanfold("tasks", "--json").stdout)
    assert fanfold("result", task["id"], "--form", "lines").stdout.strip() == "formed"
    assert (
        "Installed: demo, extract, extract-template, lettering, pdf, photo, proofread, translate."
        in fanfold("run", "p", "a", code=3).stderr
    )
    fanfold("run", "letters.work:p", "c")


def test_two_packages_that_use_one_variable_name_are_both_found(install: Callable[..., None], fanfold: Fanfold) -> None:
    for name in ("first", "second"):
        install(name, __init__=application(name, pipelines=f"('{name}.work:p',)"), work=pipeline(f"{name}-work"))
    known = listed(fanfold)
    assert (known["first.work:p"], known["second.work:p"]) == ("first-work", "second-work")
    fanfold("run", "first-work", "a")
    fanfold("run", "second-work", "a")


def test_a_name_that_two_packages_use_is_told_and_hides_neither(install: Callable[..., None], fanfold: Fanfold) -> None:
    for name in ("aaa", "bbb"):
        install(name, __init__=application(name, pipelines=f"('pdf={name}.work:p',)"), work=pipeline("pdf"))
    said = fanfold("pipelines", "--json")
    found = {one["target"]: (one["name"], one["hidden_by"]) for one in json.loads(said.stdout)}
    ours = "fanfold.apps.pdf.pipeline:pdf"
    assert found[ours] == ("pdf", None)
    assert found["aaa.work:p"] == found["bbb.work:p"] == ("pdf", ours)
    for target in ("aaa.work:p", "bbb.work:p"):
        assert f"named pdf: that name means {ours}. To use the other one, name it as {target}" in said.stderr
    assert fanfold("submit", "pdf", code=5).stderr
    fanfold("run", "aaa.work:p", "a")
    assert "Two installed pipelines" in fanfold("tick").stderr


def test_help_does_not_import_pipelines_or_commands(install: Callable[..., None], fanfold: Fanfold) -> None:
    brought = "(ff.AppCommand('spell', 'letters.command:command', help='Spell a text.'),)"
    sources = {"work": "raise SystemExit(9)", "command": "raise SystemExit(9)"}
    install("letters", __init__=application("letters", pipelines="('letters.work:p',)", commands=brought), **sources)
    said = fanfold("--help")
    assert "spell" in said.stdout
    assert said.stderr == ""


@pytest.mark.parametrize(
    "source",
    ["import sys; sys.exit(3)", "import nowhere", "raise BaseException('odd')", "def (", "application = 5", ""],
)
def test_a_package_that_cannot_be_imported_is_passed_over_with_a_warning(
    install: Callable[..., None], fanfold: Fanfold, source: str
) -> None:
    install("broken", __init__=source)
    said = fanfold("--help")
    assert "convert" in said.stdout
    assert "[discovery] Ignoring" in said.stderr
    assert "broken:application" in said.stderr


def test_a_pipeline_that_ends_the_process_when_it_is_imported_is_told(
    install: Callable[..., None], fanfold: Fanfold
) -> None:
    install("broken", __init__=application("broken", pipelines="('broken.work:p',)"), work="raise SystemExit(9)")
    [row] = [one for one in json.loads(fanfold("pipelines", "--json").stdout) if one["target"] == "broken.work:p"]
    assert row["error"] == "The installed pipeline p cannot be loaded from broken.work:p: SystemExit: 9"
    assert "SystemExit" in fanfold("submit", "broken.work:p", "a", code=5).stderr
    assert "broken.work:p" in fanfold("tick").stderr


def test_a_pipeline_that_makes_no_sense_breaks_no_others(install: Callable[..., None], fanfold: Fanfold) -> None:
    wrong = "import fanfold as ff\np = ff.Pipeline('wrong', words=ff.Vocabulary(task={'flying': 'x'}))" + STAGE
    install("broken", __init__=application("broken", pipelines="('broken.work:p',)"), work=wrong)
    rows = {one["target"]: one for one in json.loads(fanfold("pipelines", "--json").stdout)}
    assert "renames flying" in rows["broken.work:p"]["error"]
    assert rows["fanfold.apps.demo:demo"]["error"] is None
    assert "renames flying" in fanfold("tick").stderr


def test_a_command_whose_name_is_taken_is_told_and_the_first_one_stays(
    install: Callable[..., None], fanfold: Fanfold
) -> None:
    names = ("run", "convert", "spell", "spell")
    brought = "".join(f"ff.AppCommand('{name}', 'aaa.command:command', help='Never shown.')," for name in names)
    install("aaa", __init__=application("aaa", commands=f"({brought})"))
    install("bbb", __init__=application("bbb", commands="(ff.AppCommand('spell', 'bbb.command:command', help='x'),)"))
    said = fanfold("--help")
    assert "Operate:" in said.stdout
    assert said.stdout.count("Never shown.") == 1
    ours = "pdf (fanfold.apps.pdf:application)"
    for name, owner in (("run", "Fanfold itself"), ("convert", ours), ("spell", "aaa (aaa:application)")):
        assert f"Ignoring the command {name} of aaa (aaa:application): {owner} already has" in said.stderr
    assert "Ignoring the command spell of bbb (bbb:application): aaa (aaa:application) already has" in said.stderr
    assert "Convert PDFs" in fanfold("convert", "--help").stdout


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (None, "cannot be loaded from letters.command:command: ModuleNotFoundError: No module named 'letters.command'"),
        ("raise SystemExit(3)", "cannot be loaded from letters.command:command: SystemExit: 3"),
        ("command = 5", "cannot be used: letters.command:command is not a click command, but 5."),
    ],
)
def test_a_command_that_cannot_be_loaded_is_told_in_a_sentence(
    install: Callable[..., None], fanfold: Fanfold, source: str | None, told: str
) -> None:
    brought = "(ff.AppCommand('spell', 'letters.command:command', help='Spell a text.'),)"
    install(
        "letters", __init__=application("letters", commands=brought), **({} if source is None else {"command": source})
    )
    assert f"Error: The command spell of the application letters {told}" in fanfold("spell", code=5).stderr
