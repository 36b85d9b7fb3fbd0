"""There is one description of a pending item."""

import ast
from collections.abc import Iterator
from pathlib import Path

from fanfold.store.items import pending

STORE = Path(pending.__file__).parents[1]


def written(tree: ast.Module) -> Iterator[ast.expr]:
    """What is written to columns named `state`, in any form of ``values``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            yield from (
                value
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant) and key.value == "state"
            )
        elif isinstance(node, ast.keyword) and node.arg == "state":
            yield node.value


def test_no_move_to_pending_writes_values_of_its_own() -> None:
    own = []
    for file in STORE.rglob("*.py"):
        for value in written(ast.parse(file.read_text(encoding="utf-8"))):
            names = {node.attr for node in ast.walk(value) if isinstance(node, ast.Attribute)}
            if "PENDING" in names and file != Path(pending.__file__):
                own.append(f"{file.name}:{value.lineno}")
    assert own == []


def test_an_item_that_starts_over_is_one_that_is_handed_back_and_more() -> None:
    assert pending.HANDED_BACK.items() <= pending.STARTED_OVER.items()
    assert set(pending.NEW_COLUMNS) >= {"state", "attempts", "failures", "crashes"}
