"""Guards of an upgrade beneath workers: in which order it locks tables, and when it lets go of them."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

MIGRATE = "fanfold/store/upgrade/migrate.py"
ORDER = "chaos/test_upgrade_locks.py::test_an_upgrade_never_holds_one_table_while_it_waits_for_another"
MUTANTS = (
    mutant(
        "an upgrade takes all its locks before it changes anything",
        Edit(MIGRATE, "            _lock_tables(connection)\n", ""),
        test=f"{ORDER}[items-item_data]",
    ),
    mutant(
        "an upgrade waits for no table while it holds another",
        Edit(MIGRATE, "IN ACCESS EXCLUSIVE MODE NOWAIT", "IN ACCESS EXCLUSIVE MODE"),
        test=f"{ORDER}[item_data-items]",
    ),
    mutant(
        "an upgrade lets go of what it has locked before it tries again",
        Edit(MIGRATE, "            with connection.begin_nested():\n", "            with contextlib.nullcontext():\n"),
        Edit(MIGRATE, "import logging\n", "import contextlib\nimport logging\n"),
        test=f"{ORDER}[item_data-items]",
    ),
)
