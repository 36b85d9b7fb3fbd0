"""The documentation is true: generated pages match the code, links lead somewhere, code compiles."""

import ast
import re
from pathlib import Path

import pytest

from fanfold.errors import DATABASE_CODES
from fanfold.model.lifecycle import ITEM_MOVES, TASK_MOVES, ItemState, TaskState
from fanfold.settings import MEANINGS, Settings
from fanfold.store.database_errors import DAMAGED, MISFIT, REFUSED, UNREACHABLE
from fanfold.store.files.file_store import FILES_REFUSED, FILES_UNREACHABLE, FILES_UNSAFE, BlobDamaged
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
    given = {REFUSED, MISFIT, DAMAGED, UNREACHABLE, FILES_REFUSED, FILES_UNREACHABLE, FILES_UNSAFE, BlobDamaged.code}
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
    if page.is_relative_to(DOCS):  # The site has nothing else.
        assert [link for link in links if not (page.parent / link).resolve().is_relative_to(DOCS)] == []


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


def test_no_example_has_the_name_of_an_installed_pipeline() -> None:
    """A worker refuses two pipelines of one name, so nobody could serve such an example."""
    from fanfold.engine.installed import installed

    taken = {one.name for one in installed()}
    for page in [*PROSE, *(ROOT / "examples").rglob("*.py")]:
        named = set(re.findall(r'Pipeline\(\s*"([^"]+)"', page.read_text(encoding="utf-8")))
        assert named & taken == set(), page


ARCHITECTURE = DOCS / "explanation" / "architecture.md"
NAMED = re.findall(r"\| `([\w.]+)` \| `([\w/]+\.py)` \|$", ARCHITECTURE.read_text(encoding="utf-8"), re.MULTILINE)


def defined(file: Path) -> set[str]:
    """The functions, classes and methods of a module, and what its classes get by assignment, as dotted names."""
    names: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            inner = [one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
            inner += [
                target.id
                for one in node.body
                if isinstance(one, ast.Assign)
                for target in one.targets
                if isinstance(target, ast.Name)
            ]
            names |= {f"{node.name}.{name}" for name in inner}
    return names


@pytest.mark.parametrize(("name", "file"), sorted(set(NAMED)))
def test_every_function_of_the_architecture_page_exists(name: str, file: str) -> None:
    """A function that was renamed or moved is renamed here as well."""
    assert name in defined(ROOT / "fanfold" / file)


def test_the_picture_names_only_functions_of_the_architecture_page() -> None:
    """The table says where each of them is."""
    picture = (DOCS / "explanation" / "path-of-an-item.svg").read_text(encoding="utf-8")
    shown = set(re.findall(r'class="function">([\w.]+)<', picture))
    assert len(shown) > 15
    assert shown <= {name for name, _ in NAMED}


def test_the_glossary_explains_every_state_and_every_verb() -> None:
    """In alphabetical order, each in one sentence."""
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    entries = dict(re.findall(r"^## (.+)\n\n((?:.+\n)+)", text, re.MULTILINE))
    words = [*TaskState, *ItemState, *(move.verb for move in (*TASK_MOVES, *ITEM_MOVES))]
    assert {str(word) for word in words} - set(entries) == set()
    assert list(entries) == sorted(entries, key=str.lower)
    assert [word for word, meaning in entries.items() if not meaning.rstrip().endswith(".")] == []


WRITTEN = [
    page
    for page in PROSE
    if str(page.relative_to(DOCS.parent)).removeprefix("docs/") not in PAGES
    and page.name not in ("mutants.md", "chaos.md")
]
LONGEST_LINE = 130
"""A line of prose has 120 characters, or a few more; tables, code and links have what they need."""
CLUMSY = re.compile(r"\bcan not\b|\bwhoever\b|\bso (?:many|long|large) (?:may|can|as)\b", re.IGNORECASE)
FOREIGN = re.compile(
    r"\b(?:(?:goes|going|go) on|in the air|paid twice|anew|beneath|for ever|to be had)\b", re.IGNORECASE
)
"""Say continue or resume, in flight, paid for twice, again, while … runs, forever, available."""


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_written_pages_are_plain_and_narrow(page: Path) -> None:
    """Pages that are made from the code follow the code."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = [line for line in text.splitlines() if not line.startswith("|") and "](" not in line]
    assert [line for line in lines if len(line) > LONGEST_LINE] == []
    assert CLUMSY.findall(text) == []


SOURCES = sorted(path for path in (ROOT / "fanfold").rglob("*.py") if not path.stem.endswith("chinese"))


def test_pages_messages_and_comments_use_the_words_of_the_field() -> None:
    """Words that readers had to read twice do not come back."""
    read = [page for page in [*WRITTEN, *SOURCES] if page.name != "CHANGELOG.md"]
    found = {
        str(page.relative_to(ROOT)): words
        for page in read
        if (words := FOREIGN.findall(page.read_text(encoding="utf-8")))
    }
    assert found == {}
