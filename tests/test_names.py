"""One word means one thing: no two files and no two classes of the package share a name by accident."""

import re
from collections import Counter
from pathlib import Path

import fanfold

ROOT = Path(fanfold.__file__).parent
CLASS = re.compile(r"^ *class (\w+)[(:\[]", re.MULTILINE)
TOPICS = ("model/text/catalogue", "server/web/chinese")
"""Texts by topic: a file is named after the noun that its sentences are about."""
NOUNS = {
    *(
        "accept",
        "actions",
        "answers",
        "batches",
        "budgets",
        "calls",
        "changes",
        "costs",
        "credits",
        "decide",
        "decisions",
    ),
    *("delete", "dispatch", "doctor", "estimates", "estimating", "events", "external", "files", "gate_answers"),
    *("images", "items", "limits", "metrics", "rate_limits", "retry", "schedule", "schedules"),
    *("shared_budgets", "submit", "subtask", "table", "tasks", "templates", "tick", "tokens", "unstopped", "wake"),
    *("webhooks", "worker", "workers", "claim", "__main__"),
}
"""Nouns and verbs of the glossary that several rooms have a file about: `cli/commands`, `server/api`, `engine`, `store/rows`."""
FILES: set[str] = set()
"""Files of different ideas that still share a name. Do not add to them."""
CLASSES: set[str] = set()
"""Classes of different ideas that still share a name. Do not add to them."""


def paths() -> list[Path]:
    """The modules that share one set of names: all but applications and texts by topic."""
    found = [path for path in sorted(ROOT.rglob("*.py")) if path.name != "__init__.py"]
    inside = [path.relative_to(ROOT).as_posix() for path in found]
    return [path for path, name in zip(found, inside, strict=True) if not name.startswith(("apps/", *TOPICS))]


def twice(names: list[str]) -> set[str]:
    return {name for name, times in Counter(names).items() if times > 1}


def test_two_files_share_a_name_only_if_they_are_about_one_noun() -> None:
    assert twice([path.stem for path in paths()]) - NOUNS == FILES


def test_no_two_classes_share_a_name() -> None:
    named = [name for path in paths() for name in CLASS.findall(path.read_text(encoding="utf-8"))]
    assert twice(named) == CLASSES
