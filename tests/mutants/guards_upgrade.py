"""Guards of an upgrade while workers run: the order in which it locks tables, and when it releases them."""

from __future__ import annotations

from tests.mutants.mutant import Edit, mutant

MIGRATE, SERVER = "fanfold/store/upgrade/migrate.py", "fanfold/store/dialects/postgresql_parts/postgresql_server.py"
ORDER = "chaos/test_upgrade_locks.py::test_an_upgrade_never_holds_one_table_while_it_waits_for_another"
MUTANTS = (
    mutant(
        "an upgrade takes all its locks before it changes anything",
        Edit(MIGRATE, "            database.access.lock_tables(connection, items.name, LOCK_SECONDS)\n", ""),
        test=f"{ORDER}[items-item_data]",
    ),
    mutant(
        "an upgrade waits for no table while it holds another",
        Edit(SERVER, "IN ACCESS EXCLUSIVE MODE NOWAIT", "IN ACCESS EXCLUSIVE MODE"),
        test=f"{ORDER}[item_data-items]",
    ),
    mutant(
        "an upgrade releases its locks before it tries again",
        Edit(
            SERVER,
            "                with connection.begin_nested():\n",
            "                with contextlib.nullcontext():\n",
        ),
        Edit(SERVER, "import importlib\n", "import contextlib\nimport importlib\n"),
        test=f"{ORDER}[item_data-items]",
    ),
)
