"""The documentation is true: generated pages match the code, links lead somewhere, code compiles."""

import ast
import re
from pathlib import Path

import pytest

from fanfold.errors import DATABASE_CODES
from fanfold.settings import MEANINGS, Settings
from fanfold.store.database_errors import DAMAGED, MISFIT, REFUSED, UNREACHABLE
from tests.docs import DOCS, PAGES

ROOT = DOCS.parent
PROSE = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]


@pytest.mark.parametrize("name", PAGES)
def test_generated_pages_say_what_the_code_does(name: str) -> None:
    """`make docs` writes it again."""
    assert (DOCS / name).read_text(encoding="utf-8") == PAGES[name]() + "\n"


def test_every_decision_has_a_number_a_title_and_an_area() -> None:
    """The list of decisions is made from these lines."""
    pages = sorted((DOCS / "decisions").glob("0*.md"))
    for number, page in enumerate(pages, 1):
        title, empty, area, *_ = page.read_text(encoding="utf-8").splitlines()
        assert page.name.startswith(f"{number:04}-"), f"{page.name} should have the number {number}"
        assert title.startswith(f"# {number}. "), page.name
        assert empty == "", page.name
        assert area.startswith("Area: "), page.name


def test_every_setting_has_a_meaning() -> None:
    """A setting nobody explains is a setting nobody finds."""
    assert set(MEANINGS) == set(Settings.__dataclass_fields__)


def test_every_code_of_a_database_problem_has_a_meaning() -> None:
    """A code that a program may meet is one that a person can look up."""
    given = {REFUSED, MISFIT, DAMAGED, UNREACHABLE}
    for file in (ROOT / "fanfold").rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and getattr(call.func, "id", None) == "DatabaseProblem":
                named = (word.value for word in call.keywords if word.arg == "code")
                given |= {str(value.value) for value in named if isinstance(value, ast.Constant)}
    assert given == set(DATABASE_CODES)


@pytest.mark.parametrize("page", PROSE, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Links between pages point at files that exist."""
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", PROSE, ids=lambda page: str(page.relative_to(ROOT)))
def test_python_in_the_documentation_compiles(page: Path) -> None:
    """Every Python block is at least Python."""
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        compile(block, str(page), "exec")


def test_every_command_named_in_the_documentation_exists() -> None:
    """A command that was renamed is renamed everywhere."""
    from fanfold.cli import NAMES, from_applications

    known = {*NAMES, *from_applications()}
    for page in PROSE:
        named = set(re.findall(r"(?:^|[`$ ])fanfold ([a-z]+)\b(?!…)", page.read_text(encoding="utf-8"), re.MULTILINE))
        assert named <= {*known, "is", "as", "and", "keeps", "needs", "ff"}, f"{page.name}: {named - known}"
