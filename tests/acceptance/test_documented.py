"""Everything typed in the README, the tutorial and the guides of the applications works as printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ai_protocol import Call
from tests.ai_server import AIServer
from tests.apps.extract.answering import served
from tests.apps.proofread.answering import replacing
from tests.apps.proofread.answering import served as corrected

pytestmark = pytest.mark.timeout(900)
ROOT = Path(__file__).parent.parent.parent
MARK = "@@@ end of command"
ANY = "…"


def transcript(page: Path) -> list[tuple[str, list[str]]]:
    """The commands of a page's console blocks, each with the lines it should print; `…` stands for anything."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def typed(commands: list[str], folder: Path, more: dict[str, str] | None = None) -> list[list[str]]:
    """What each command prints when they are typed one after the other into one shell."""
    script = "exec 2>&1\n" + "".join(f"{command}\necho '{MARK}'\n" for command in commands)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "FANFOLD_DATA": str(folder / "data"), "COLUMNS": "200"}
    environment.pop("FANFOLD_DATABASE", None)
    environment |= more or {}
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=840, check=False
    )
    own_words = re.compile(r"^bash: line .*\n", re.MULTILINE)
    return [own_words.sub("", part).strip("\n").splitlines() for part in done.stdout.split(MARK)[:-1]]


def plain(line: str) -> str:
    """A line without what differs between runs: ids, numbers, spaces."""
    named = re.sub(r"t-[a-z0-9]{12}|worker-[0-9a-f]{6}|run-[0-9a-f]{6}", "ID", line)
    plain_durations = re.sub(r"[0-9]+ min [0-9]+ s", "0 s", named)
    return " ".join(re.sub(r"[0-9][0-9.:]*", "#", plain_durations).split())


def matches(said: list[str], printed: list[str]) -> bool:
    """Whether the printed lines are those on the page."""
    whole = [r"(?:.*\n)*?" if line == ANY else re.escape(plain(line)).replace(ANY, ".*") + r"\n" for line in said]
    return re.fullmatch("".join(whole), "".join(f"{plain(line)}\n" for line in printed)) is not None


def check(page: Path, folder: Path, replaced: dict[str, str] | None = None, more: dict[str, str] | None = None) -> None:
    """Type everything and compare."""
    wanted = transcript(page)
    answers = typed([(replaced or {}).get(command, command) for command, _ in wanted], folder, more)
    assert len(answers) == len(wanted)
    for (command, said), printed in zip(wanted, answers, strict=True):
        assert not said or matches(said, printed), f"$ {command}\n" + "\n".join(printed)


RUN = "fanfold run shout.py:shout text.txt"
UNTIL_SOME_ARE_DONE = "for _ in $(seq 200); do sleep 0.2; grep -q 'processing [1-9]' said && break; done; sleep 1"
"""Four seconds may be too short on a machine that is busy with other tests."""


def test_the_tutorial_works_as_printed(tmp_path: Path) -> None:
    """From the first command to the last, killing it included."""
    page = ROOT / "docs" / "tutorial" / "first-pipeline.md"
    code = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)[0]
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "shout.py").write_text(code, encoding="utf-8")
    check(
        page,
        tmp_path,
        {f"{RUN} & sleep 4; kill -9 $!": f"{RUN} > said 2>&1 & {UNTIL_SOME_ARE_DONE}; kill -9 $!; cat said"},
    )


def test_the_readme_works_as_printed(tmp_path: Path) -> None:
    """`make demo` is replaced by its recipe from the Makefile, without the installation."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.findall(r"^demo:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[0]
    demo = re.sub(r"\$\(BIN\)/|\$\(CURDIR\)/|^\t@", "", recipe, flags=re.MULTILINE).strip().replace("\n", " && ")
    check(ROOT / "README.md", tmp_path, {"make demo": demo})


def test_the_page_about_pdf_works_as_printed(tmp_path: Path) -> None:
    """The sample takes the place of the reader's book."""
    check(ROOT / "docs" / "guides" / "pdf.md", tmp_path)


def test_the_page_about_extraction_works_as_printed(tmp_path: Path) -> None:
    """With a service on this machine that knows the sample papers."""
    with AIServer() as ai:
        ai.answer(knows_the_samples)
        place = {"FANFOLD_PROVIDERS_OPENAI_BASE_URL": ai.openai_url, "FANFOLD_PROVIDERS_OPENAI_MODEL": "fake-large"}
        check(ROOT / "docs" / "guides" / "extracting.md", tmp_path, more=place | {"OPENAI_API_KEY": "none"})


def test_the_page_about_proofreading_works_as_printed(tmp_path: Path) -> None:
    """With a service on this machine that corrects the sample."""
    with AIServer() as ai:
        ai.answer(corrected(replacing(("oclock", "o'clock"), ("evning", "evening"), ("answerd", "answered"))))
        place = {"FANFOLD_PROVIDERS_OPENAI_BASE_URL": ai.openai_url, "FANFOLD_PROVIDERS_OPENAI_MODEL": "fake-large"}
        check(ROOT / "docs" / "guides" / "proofreading.md", tmp_path, more=place | {"OPENAI_API_KEY": "none"})


def knows_the_samples(call: Call) -> str:
    """An honest model that has read the sample papers."""
    if "Sweden" in call.prompt:
        known = {
            "title": ("Statins and falls in Sweden", "Statins and falls in Sweden"),
            "sample_size": (1240, "We enrolled 1,240 people"),
            "design": ("RCT", "in a randomised controlled trial"),
            "started": ("12 March 2019", "The study began on 12 March 2019"),
            "funder": ("Northern Heart Fund", "funded by the Northern Heart Fund"),
            "treated": (620, "Of these, 620 were treated"),
        }
    elif "Norway" in call.prompt:
        known = {
            "title": ("Statins and falls in Norway", "Statins and falls in Norway"),
            "sample_size": (3015, "In this cohort, 3,015 people were followed"),
            "design": ("cohort", "In this cohort, 3,015 people"),
            "started": ("May 2017", "Recruitment began in May 2017"),
        }
    else:
        known = {"title": ("Statins and falls: what we know", "Statins and falls: what we know")}
    return served(known)(call)
