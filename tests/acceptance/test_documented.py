"""Everything typed in the README, the tutorial and the PDF guide works as printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(900)
ROOT = Path(__file__).parent.parent.parent
MARK = "@@@ end of command"
ANY = "…"


def transcript(page: Path) -> list[tuple[str, list[str]]]:
    """The commands of a page's console blocks, each with the lines it is said to print; `…` stands for anything."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def typed(commands: list[str], folder: Path) -> list[list[str]]:
    """What each command prints when they are typed one after the other into one shell."""
    script = "exec 2>&1\n" + "".join(f"{command}\necho '{MARK}'\n" for command in commands)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "FANFOLD_DATA": str(folder / "data"), "COLUMNS": "200"}
    environment.pop("FANFOLD_DATABASE", None)
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=840, check=False
    )
    own_words = re.compile(r"^bash: line .*\n", re.MULTILINE)
    return [own_words.sub("", part).strip("\n").splitlines() for part in done.stdout.split(MARK)[:-1]]


def plain(line: str) -> str:
    """A line without what differs from one time to the next: ids, numbers, spaces."""
    named = re.sub(r"t-[a-z0-9]{12}|worker-[0-9a-f]{6}|run-[0-9a-f]{6}", "ID", line)
    plain_durations = re.sub(r"[0-9]+ min [0-9]+ s", "0 s", named)
    return " ".join(re.sub(r"[0-9][0-9.:]*", "#", plain_durations).split())


def matches(said: list[str], printed: list[str]) -> bool:
    """Whether the lines printed are those that the page says."""
    whole = [r"(?:.*\n)*?" if line == ANY else re.escape(plain(line)).replace(ANY, ".*") + r"\n" for line in said]
    return re.fullmatch("".join(whole), "".join(f"{plain(line)}\n" for line in printed)) is not None


def check(page: Path, folder: Path, replaced: dict[str, str] | None = None) -> None:
    """Type everything and compare."""
    wanted = transcript(page)
    answers = typed([(replaced or {}).get(command, command) for command, _ in wanted], folder)
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
    """`make demo` is what stands behind it in the Makefile, without the set-up."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.findall(r"^demo:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)[0]
    demo = re.sub(r"\$\(BIN\)/|\$\(CURDIR\)/|^\t@", "", recipe, flags=re.MULTILINE).strip().replace("\n", " && ")
    check(ROOT / "README.md", tmp_path, {"make demo": demo})


def test_the_page_about_pdf_works_as_printed(tmp_path: Path) -> None:
    """With the sample instead of somebody's book."""
    check(ROOT / "docs" / "guides" / "pdf.md", tmp_path)
