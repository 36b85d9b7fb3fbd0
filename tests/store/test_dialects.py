"""Everything that differs between databases is in one place."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import fanfold
from fanfold.store.dialects.known import DRIVERS, NAMES, named

PACKAGE = Path(fanfold.__file__).parent
OWN = ("store/dialects/", "store/upgrade/migrations/versions/")
"""Where databases are distinguished: in their dialects, and in the migrations, which are frozen."""
WORDS = {
    "settings.py": {"sqlite_synchronous", "sqlite:///", "Database URL"},
    "store/store.py": {"sqlite_synchronous"},
    "model/text/catalogue/operating.py": {"sqlite_"},
    "server/web/chinese/operating.py": {"sqlite", "SQLite"},
    "server/web/chinese/sentences/operating.py": {"sqlite_", "SQLite"},
}
"""What people set and read: a setting's name, the codes of sentences, the name of a check of the doctor in another language."""
OF_ONE_DATABASE = re.compile("|".join((*NAMES, *DRIVERS, "postgres", r"\bpg_", r"\bpragma\b")), re.IGNORECASE)

SQL = re.compile(r"\b(SELECT|UPDATE \w+ SET|INSERT INTO|DELETE FROM|IS NULL|IS NOT NULL|NOT IN|OLD\.\w+)\b")


def code() -> Iterator[Path]:
    """Every file that has to work on any database."""
    for file in sorted(PACKAGE.rglob("*.py")):
        if not file.relative_to(PACKAGE).as_posix().startswith(OWN):
            yield file


def words(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """All names and texts of a file but its docstrings, each with its line."""
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield line, node.value
        for field in ("id", "attr", "arg", "name", "module"):
            if isinstance(found := getattr(node, field, None), str):
                yield line, found


def is_for_people(text: str) -> bool:
    """Whether it is a sentence, which may name databases as people do."""
    return " " in text and not re.search(r"\bpg_|sqlite_", text)


def of_one_database(source: str) -> Iterator[tuple[int, str]]:
    """The words of a file that belong to one database: its name, its driver, its tables, its functions."""
    for line, word in words(ast.parse(source)):
        if OF_ONE_DATABASE.search(word) and not is_for_people(word):
            yield line, word


def test_no_code_outside_of_the_dialects_knows_a_database() -> None:
    found = []
    for file in code():
        name = file.relative_to(PACKAGE).as_posix()
        for line, word in of_one_database(file.read_text(encoding="utf-8")):
            if not word.startswith(tuple(WORDS.get(name, ()))):
                found.append(f"{name}:{line}: {word}")
    assert found == []


@pytest.mark.parametrize(
    "source",
    [
        'if self.clock.dialect.name == "postgresql": pass',
        "if dialect.is_sqlite: pass",
        'LIMITS = {"sqlite": 1}',
        "from sqlalchemy.dialects import postgresql",
        "import psycopg",
        'run("SELECT seq FROM sqlite_sequence")',
        "sa.func.pg_notify(channel)",
        "from fanfold.store.dialects.sqlite_parts.sqlite_module import sqlite_module",
        "Index(name, sqlite_where=condition)",
    ],
)
def test_a_test_for_a_database_is_found_in_any_form(source: str) -> None:
    assert list(of_one_database(source))


def test_no_sql_stands_outside_of_the_store() -> None:
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        name = file.relative_to(PACKAGE).as_posix()
        for line, word in words(ast.parse(file.read_text(encoding="utf-8"))):
            if SQL.search(word) and not name.startswith("store/"):
                found.append(f"{name}:{line}: {word}")
    assert found == []


def test_every_dialect_answers_by_its_name() -> None:
    assert [named(name).name for name in NAMES] == list(NAMES)


OPENING = """
import sys
from fanfold.engine.worker.loop import Worker
from fanfold.settings import Settings
from fanfold.store.store import Store

store = Store.open(Settings(database=sys.argv[1], data=sys.argv[2]))
with store.read() as tx:
    assert tx.counting.counts([1]) == {}
store.close()
print("\\n".join(sys.modules))
"""


def test_a_process_on_sqlite_does_not_load_another_database(sqlite_url: str, tmp_path: Path) -> None:
    opened = subprocess.run(
        [sys.executable, "-c", OPENING, sqlite_url, str(tmp_path)], capture_output=True, text=True, check=True
    )
    loaded = opened.stdout.split()
    assert "fanfold.store.dialects.sqlite" in loaded
    assert [name for name in loaded if "postgresql" in name or name.startswith("psycopg")] == []
